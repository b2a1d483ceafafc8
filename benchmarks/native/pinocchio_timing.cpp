// Timing of Pinocchio's tree dynamics and free steps in a compiled loop.
#include "pinocchio_model.hpp"

#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <chrono>
#include <memory>
#include <utility>

namespace {

enum Task { INVERSE, MASS, FORWARD, STEP };

struct Instance {
  Model model;
  std::unique_ptr<Data> data;
};

}  // namespace

extern "C" {

// Arguments as for make_model.
EXPORTED void* pinocchio_new(int n, const int* parent, const int* kind, const double* axis, const double* placement, const double* mass,
                             const double* center, const double* inertia, const double* body, const double* armature) {
  auto* instance = new Instance{make_model(n, parent, kind, axis, placement, mass, center, inertia, body, armature), nullptr};
  instance->data = std::make_unique<Data>(instance->model);
  return instance;
}

EXPORTED void pinocchio_delete(void* handle) { delete static_cast<Instance*>(handle); }

// Time of n runs of a task from the state (q, v) [s]. x: accelerations (inverse dynamics) or torques. out: result of the last run.
EXPORTED double pinocchio_run(void* handle, int task, int world_convention, long n, const double* q_, const double* v_, const double* x_,
                              double dt, double* out) {
  auto& model = static_cast<Instance*>(handle)->model;
  auto& data = *static_cast<Instance*>(handle)->data;
  const auto convention = world_convention ? pin::Convention::WORLD : pin::Convention::LOCAL;
  Vector q = Eigen::Map<const Vector>(q_, model.nq), next = q;
  Vector v = Eigen::Map<const Vector>(v_, model.nv), displacement = v;
  const Vector x = Eigen::Map<const Vector>(x_, model.nv);
  const auto start = std::chrono::steady_clock::now();
  switch (task) {
    case INVERSE:
      for (long i = 0; i < n; ++i) pin::rnea(model, data, q, v, x);
      break;
    case MASS:
      for (long i = 0; i < n; ++i) pin::crba(model, data, q, convention);
      break;
    case FORWARD:
      for (long i = 0; i < n; ++i) pin::aba(model, data, q, v, x, convention);
      break;
    default:
      for (long i = 0; i < n; ++i) {
        v.noalias() += dt * pin::aba(model, data, q, v, x, convention);
        displacement.noalias() = dt * v;
        pin::integrate(model, q, displacement, next);
        std::swap(q, next);
      }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (task == INVERSE) Eigen::Map<Vector>(out, model.nv) = data.tau;
  if (task == FORWARD) Eigen::Map<Vector>(out, model.nv) = data.ddq;
  if (task == MASS) Eigen::Map<Eigen::MatrixXd>(out, model.nv, model.nv) = data.M;
  if (task == STEP) Eigen::Map<Vector>(out, model.nq) = q, Eigen::Map<Vector>(out + model.nq, model.nv) = v;
  return seconds;
}
}
