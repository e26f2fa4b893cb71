// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_ELMAN_HPP
#define ELAPHOS_CELLS_ELMAN_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>

namespace elaphos {

/// \brief What an `Elman` cell does to its sums. `relu` has no derivative at 0; 0 is taken.
enum class Activation { tanh, relu };

namespace impl {

/// The arithmetic of one hidden unit; see `GatesBase`.
struct ElmanGates : GatesBase {
  static constexpr const char* name = "Elman";
  static constexpr int count = 1;
  static constexpr int states = 1;

  Activation activation = Activation::tanh;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[1], const Scalar (&hidden)[1], const Scalar (&)[1],
                                        const Scalar (&)[1], Scalar (&next)[1]) const {
    next[0] = activated(input[0] + hidden[0]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[1], const Scalar (&hidden)[1], const Scalar (&)[1],
                                            const Scalar (&)[1], Scalar (&by_gate)[1][1],
                                            Scalar (&direct)[1][1]) const {
    const Scalar y = activated(input[0] + hidden[0]);
    const Scalar of_relu = y > Scalar(0) ? Scalar(1) : y;  // 0, or NaN
    by_gate[0][0] = activation == Activation::tanh ? Scalar(1) - y * y : of_relu;
    direct[0][0] = Scalar(0);
  }

 private:
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar activated(Scalar sum) const {
    if (activation == Activation::tanh) return hyperbolic_tangent(sum);
    return sum < Scalar(0) ? Scalar(0) : sum;  // NaN stays
  }
};

}  // namespace impl

/// \brief Elman cell, PyTorch's `nn.RNN`: h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman, 1990), or relu in its place.
///
/// Weights: (H, I), (H, H), (H), (H). Throws `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Elman : public impl::GatedLayer<impl::ElmanGates, Scalar, MemorySpace> {
 public:
  explicit Elman(const LayerWeights<Scalar, MemorySpace>& weights, Activation activation = Activation::tanh)
      : impl::GatedLayer<impl::ElmanGates, Scalar, MemorySpace>(weights, {{}, activation}) {}
};

template <class Scalar, class MemorySpace>
Elman(const LayerWeights<Scalar, MemorySpace>&, Activation = Activation::tanh) -> Elman<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
