// Pinocchio in a compiled loop, as a C++ program would use it: templates instantiated here, for this machine.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/joint-configuration.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/multibody.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace pin = pinocchio;
using Vector = Eigen::VectorXd;
using Vector3 = Eigen::Vector3d;

// Only the joints that are used: a shorter list compiles in half the time and runs no slower.
template <typename S, int O>
struct Joints {
  using Scalar = S;
  static constexpr int Options = O;
  using JointModelMimic = pin::JointModelMimicTpl<S, O, Joints>;
  using JointModelComposite = pin::JointModelCompositeTpl<S, O, Joints>;
  using JointDataMimic = pin::JointDataMimicTpl<S, O, Joints>;
  using JointDataComposite = pin::JointDataCompositeTpl<S, O, Joints>;
  using JointModelVariant =
      boost::variant<pin::JointModelRevoluteTpl<S, O, 0>, pin::JointModelRevoluteTpl<S, O, 1>, pin::JointModelRevoluteTpl<S, O, 2>,
                     pin::JointModelRevoluteUnalignedTpl<S, O>, pin::JointModelPrismaticUnalignedTpl<S, O>, pin::JointModelSphericalTpl<S, O>,
                     pin::JointModelFreeFlyerTpl<S, O>, boost::recursive_wrapper<JointModelMimic>>;
  using JointDataVariant =
      boost::variant<pin::JointDataRevoluteTpl<S, O, 0>, pin::JointDataRevoluteTpl<S, O, 1>, pin::JointDataRevoluteTpl<S, O, 2>,
                     pin::JointDataRevoluteUnalignedTpl<S, O>, pin::JointDataPrismaticUnalignedTpl<S, O>, pin::JointDataSphericalTpl<S, O>,
                     pin::JointDataFreeFlyerTpl<S, O>, boost::recursive_wrapper<JointDataMimic>>;
};

using Model = pin::ModelTpl<double, 0, Joints>;
using Data = pin::DataTpl<double, 0, Joints>;
using AnyJoint = pin::JointModelTpl<double, 0, Joints>;

namespace {

enum Kind { TURN, SLIDE, BALL, FLOAT };
enum Task { INVERSE, MASS, FORWARD, STEP };

struct Peer {
  Model model;
  std::unique_ptr<Data> data;
};

// A turn about an axis of the frame has a joint of its own, which is faster than one about any axis.
AnyJoint joint_of(int kind, const Vector3& axis) {
  if (kind == BALL) return pin::JointModelSpherical();
  if (kind == FLOAT) return pin::JointModelFreeFlyer();
  if (kind == SLIDE) return pin::JointModelPrismaticUnaligned(axis);
  if (axis == Vector3::UnitX()) return pin::JointModelRX();
  if (axis == Vector3::UnitY()) return pin::JointModelRY();
  if (axis == Vector3::UnitZ()) return pin::JointModelRZ();
  return pin::JointModelRevoluteUnaligned(axis);
}

}  // namespace

extern "C" {

#define EXPORTED __attribute__((visibility("default")))

// Joints in depth-first order. parent: joint number, 0 the universe. place, body: 12 numbers, rotation by rows and translation.
EXPORTED void* pinocchio_new(int n, const int* parent, const int* kind, const double* axis, const double* place, const double* mass,
                             const double* center, const double* inertia, const double* body, const double* armature) {
  using Matrix = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  auto* peer = new Peer;
  for (int i = 0; i < n; ++i) {
    const pin::SE3 T(Eigen::Map<const Matrix>(place + 12 * i), Eigen::Map<const Vector3>(place + 12 * i + 9));
    const pin::SE3 B(Eigen::Map<const Matrix>(body + 12 * i), Eigen::Map<const Vector3>(body + 12 * i + 9));
    const auto j = peer->model.addJoint(parent[i], joint_of(kind[i], Eigen::Map<const Vector3>(axis + 3 * i)), T, "joint" + std::to_string(i));
    const Matrix I = Eigen::Map<const Matrix>(inertia + 9 * i);
    peer->model.appendBodyToJoint(j, pin::Inertia(mass[i], Eigen::Map<const Vector3>(center + 3 * i), I), B);
  }
  peer->model.armature = Eigen::Map<const Vector>(armature, peer->model.nv);
  peer->data = std::make_unique<Data>(peer->model);
  return peer;
}

EXPORTED void pinocchio_delete(void* handle) { delete static_cast<Peer*>(handle); }

// Seconds of n runs of a task from the state (q, v); x: accelerations (inverse) or torques. The last result goes to out.
EXPORTED double pinocchio_run(void* handle, int task, int world, long n, const double* q_, const double* v_, const double* x_, double dt,
                              double* out) {
  auto& model = static_cast<Peer*>(handle)->model;
  auto& data = *static_cast<Peer*>(handle)->data;
  const auto convention = world ? pin::Convention::WORLD : pin::Convention::LOCAL;
  Vector q = Eigen::Map<const Vector>(q_, model.nq), next = q;
  Vector v = Eigen::Map<const Vector>(v_, model.nv), move = v;
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
        move.noalias() = dt * v;
        pin::integrate(model, q, move, next);
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
