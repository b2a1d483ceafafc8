// Pinocchio model from flat arrays. Templates are instantiated here, with the compiler flags of this machine.
#pragma once

#include <pinocchio/multibody.hpp>

#include <string>

namespace pin = pinocchio;
using Vector = Eigen::VectorXd;
using Vector3 = Eigen::Vector3d;

// Joint collection with only the joint types in use: compiles in half the time, runs no slower.
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
using JointModel = pin::JointModelTpl<double, 0, Joints>;

namespace {

enum Kind { REVOLUTE, PRISMATIC, SPHERICAL, FREE };  // as in brachiate.model.joints

// Revolute joints about a coordinate axis have joint types of their own, faster than those about an arbitrary axis.
JointModel make_joint(int kind, const Vector3& axis) {
  if (kind == SPHERICAL) return pin::JointModelSpherical();
  if (kind == FREE) return pin::JointModelFreeFlyer();
  if (kind == PRISMATIC) return pin::JointModelPrismaticUnaligned(axis);
  if (axis == Vector3::UnitX()) return pin::JointModelRX();
  if (axis == Vector3::UnitY()) return pin::JointModelRY();
  if (axis == Vector3::UnitZ()) return pin::JointModelRZ();
  return pin::JointModelRevoluteUnaligned(axis);
}

// Joints in depth-first order. parent: joint index, 0 is the universe. placement: joint in its parent; body: body in its joint;
// both 12 numbers, rotation matrix by rows and translation [m].
Model make_model(int n, const int* parent, const int* kind, const double* axis, const double* placement, const double* mass,
               const double* center, const double* inertia, const double* body, const double* armature) {
  using Matrix = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
  Model model;
  for (int i = 0; i < n; ++i) {
    const pin::SE3 T(Eigen::Map<const Matrix>(placement + 12 * i), Eigen::Map<const Vector3>(placement + 12 * i + 9));
    const pin::SE3 B(Eigen::Map<const Matrix>(body + 12 * i), Eigen::Map<const Vector3>(body + 12 * i + 9));
    const auto j = model.addJoint(parent[i], make_joint(kind[i], Eigen::Map<const Vector3>(axis + 3 * i)), T, "joint" + std::to_string(i));
    const Matrix I = Eigen::Map<const Matrix>(inertia + 9 * i);
    model.appendBodyToJoint(j, pin::Inertia(mass[i], Eigen::Map<const Vector3>(center + 3 * i), I), B);
  }
  model.armature = Eigen::Map<const Vector>(armature, model.nv);
  return model;
}

}  // namespace

#define EXPORTED __attribute__((visibility("default")))
