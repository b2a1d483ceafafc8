// Pinocchio's steps of mechanisms with closed loops, in a compiled loop.
#include "pinocchio_model.hpp"

#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/loop-constrained-aba.hpp>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace {

struct Peer {
  Model model;
  std::vector<pin::RigidConstraintModel> loops;
  std::vector<pin::RigidConstraintData> loop_data;
  std::unique_ptr<Data> data;
  pin::ProximalSettings settings;
  bool link_by_link;
};

const Vector& accelerations(Peer& p, const Vector& q, const Vector& v, const Vector& tau) {
  if (p.link_by_link) return pin::lcaba(p.model, *p.data, q, v, tau, p.loops, p.loop_data, p.settings);
  return pin::constraintDynamics(p.model, *p.data, q, v, tau, p.loops, p.loop_data, p.settings);
}

}  // namespace

extern "C" {

// The model: see model_of. Loops keep a point of one joint at a point of another; kp, kd: Baumgarte's gains.
// link_by_link: by lcaba, else by constraintDynamics.
EXPORTED void* pinocchio_constrained_new(int n, const int* parent, const int* kind, const double* axis, const double* place,
                                         const double* mass, const double* center, const double* inertia, const double* body,
                                         const double* armature, int loops, const int* joints, const double* points, double kp, double kd,
                                         double accuracy, double mu, int iterations, int link_by_link) {
  auto* peer = new Peer{model_of(n, parent, kind, axis, place, mass, center, inertia, body, armature), {}, {}, nullptr,
                        pin::ProximalSettings(accuracy, mu, iterations), link_by_link != 0};
  const auto at = [points](int i) { return pin::SE3(Eigen::Matrix3d::Identity(), Eigen::Map<const Vector3>(points + 3 * i)); };
  for (int i = 0; i < loops; ++i) {
    peer->loops.emplace_back(pin::CONTACT_3D, peer->model, joints[2 * i], at(2 * i), joints[2 * i + 1], at(2 * i + 1),
                             pin::LOCAL_WORLD_ALIGNED);
    peer->loops.back().m_baumgarte_parameters = {kp, kd};
    peer->loop_data.emplace_back(peer->loops.back());
  }
  peer->data = std::make_unique<Data>(peer->model);
  if (link_by_link)
    pin::computeJointMinimalOrdering(peer->model, *peer->data, peer->loops);
  else
    pin::initConstraintDynamics(peer->model, *peer->data, peer->loops, peer->loop_data);
  return peer;
}

EXPORTED void pinocchio_constrained_delete(void* handle) { delete static_cast<Peer*>(handle); }

// Seconds of n steps from the state (q, v), which goes on in place; the last accelerations go to a.
EXPORTED double pinocchio_constrained_run(void* handle, long n, double* q_, double* v_, double dt, double* a_) {
  auto& peer = *static_cast<Peer*>(handle);
  const auto& model = peer.model;
  Vector q = Eigen::Map<const Vector>(q_, model.nq), next = q;
  Vector v = Eigen::Map<const Vector>(v_, model.nv), move = v;
  const Vector tau = Vector::Zero(model.nv);
  const auto start = std::chrono::steady_clock::now();
  for (long i = 0; i < n; ++i) {
    v.noalias() += dt * accelerations(peer, q, v, tau);
    move.noalias() = dt * v;
    pin::integrate(model, q, move, next);
    std::swap(q, next);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  Eigen::Map<Vector>(q_, model.nq) = q;
  Eigen::Map<Vector>(v_, model.nv) = v;
  Eigen::Map<Vector>(a_, model.nv) = peer.data->ddq;
  return seconds;
}
}
