// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_ELMAN_HPP
#define ELAPHOS_CELLS_ELMAN_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit; see `GruGates` for the arguments.
struct ElmanGates {
  static constexpr const char* name = "Elman";
  static constexpr int count = 1;
  static constexpr int states = 1;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void next(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                               const Scalar (&)[states], Scalar (&next)[states]) {
    next[0] = hyperbolic_tangent(input[0] + hidden[0]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                                   const Scalar (&)[states], Scalar (&by_gate)[states][count],
                                                   Scalar (&direct)[states][states]) {
    const Scalar y = hyperbolic_tangent(input[0] + hidden[0]);
    by_gate[0][0] = Scalar(1) - y * y;
    direct[0][0] = Scalar(0);
  }
};

}  // namespace impl

/// \brief Elman cell, PyTorch's `nn.RNN`: h' = tanh(W_ih x + b_ih + W_hh h + b_hh) (Elman, 1990).
///
/// Weights: (H, I), (H, H), (H), (H). Throws `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Elman : public impl::GatedLayer<impl::ElmanGates, Scalar, MemorySpace> {
 public:
  using impl::GatedLayer<impl::ElmanGates, Scalar, MemorySpace>::GatedLayer;
};

template <class Scalar, class MemorySpace>
Elman(const LayerWeights<Scalar, MemorySpace>&) -> Elman<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
