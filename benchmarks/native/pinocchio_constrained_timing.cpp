// Timing of Pinocchio's constrained dynamics (closed kinematic loops) with semi-implicit Euler, in a compiled loop.
#include "pinocchio_model.hpp"

#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace {

struct Instance {
  Model model;
  std::vector<pin::RigidConstraintModel> loops;
  std::vector<pin::RigidConstraintData> loop_data;
  std::unique_ptr<Data> data;
  pin::ProximalSettings settings;
  bool use_lcaba;
};

const Vector& accelerations(Instance& p, const Vector& q, const Vector& v, const Vector& tau) {
  if (p.use_lcaba) return pin::lcaba(p.model, *p.data, q, v, tau, p.loops, p.loop_data, p.settings);
  return pin::constraintDynamics(p.model, *p.data, q, v, tau, p.loops, p.loop_data, p.settings);
}

}  // namespace

extern "C" {

// Tree arguments as for make_model. A loop constraint keeps a point of one joint at a point of another; kp, kd: Baumgarte gains.
// use_lcaba: loop-constrained ABA, else constraintDynamics.
EXPORTED void* pinocchio_constrained_new(int n, const int* parent, const int* kind, const double* axis, const double* placement,
                                         const double* mass, const double* center, const double* inertia, const double* body,
                                         const double* armature, int loops, const int* joints, const double* points, double kp, double kd,
                                         double accuracy, double mu, int iterations, int use_lcaba) {
  auto* instance = new Instance{make_model(n, parent, kind, axis, placement, mass, center, inertia, body, armature), {}, {}, nullptr,
                                pin::ProximalSettings(accuracy, mu, iterations), use_lcaba != 0};
  const auto frame = [points](int i) { return pin::SE3(Eigen::Matrix3d::Identity(), Eigen::Map<const Vector3>(points + 3 * i)); };
  for (int i = 0; i < loops; ++i) {
    instance->loops.emplace_back(pin::CONTACT_3D, instance->model, joints[2 * i], frame(2 * i), joints[2 * i + 1], frame(2 * i + 1),
                                 pin::LOCAL_WORLD_ALIGNED);
    instance->loops.back().m_baumgarte_parameters = {kp, kd};
    instance->loop_data.emplace_back(instance->loops.back());
  }
  instance->data = std::make_unique<Data>(instance->model);
  if (use_lcaba)
    pin::computeJointMinimalOrdering(instance->model, *instance->data, instance->loops);
  else
    pin::initConstraintDynamics(instance->model, *instance->data, instance->loops, instance->loop_data);
  return instance;
}

EXPORTED void pinocchio_constrained_delete(void* handle) { delete static_cast<Instance*>(handle); }

// Time of n steps [s]. (q, v) is advanced in place; a_: accelerations of the last step.
EXPORTED double pinocchio_constrained_run(void* handle, long n, double* q_, double* v_, double dt, double* a_) {
  auto& instance = *static_cast<Instance*>(handle);
  const auto& model = instance.model;
  Vector q = Eigen::Map<const Vector>(q_, model.nq), next = q;
  Vector v = Eigen::Map<const Vector>(v_, model.nv), displacement = v;
  const Vector tau = Vector::Zero(model.nv);
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < n; ++i) {
    v.noalias() += dt * accelerations(instance, q, v, tau);
    displacement.noalias() = dt * v;
    pin::integrate(model, q, displacement, next);
    std::swap(q, next);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Eigen::Map<Vector>(q_, model.nq) = q;
  Eigen::Map<Vector>(v_, model.nv) = v;
  Eigen::Map<Vector>(a_, model.nv) = instance.data->ddq;
  return seconds;
}
}
