// Replaces Pinocchio's header by a tensor without storage: second-order derivatives are not computed here.
// Otherwise pinocchio::Data of 1000 joints allocates four tensors of 1000 x 1000 x 1000 numbers, 32 GB.
#pragma once

namespace pinocchio {

template <typename Scalar_, int NumIndices_, int Options_ = 0, typename IndexType = Eigen::Index>
struct Tensor {
  template <typename... Sizes>
  explicit Tensor(Sizes...) {}
  void setZero() {}
  bool operator()(int) const { return true; }
};

}  // namespace pinocchio
