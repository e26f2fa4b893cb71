// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_GRU_HPP
#define ELAPHOS_CELLS_GRU_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit. `input` and `hidden` hold, per gate, the unit's entries of W_ih x + b_ih and of
/// W_hh h + b_hh; `h` is the unit's own state.
struct GruGates {
  static constexpr const char* name = "Gru";
  static constexpr int count = 3;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static Scalar next(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                                 Scalar h) {
    const Scalar reset = sigmoid(input[0] + hidden[0]);
    const Scalar update = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(multiply_add(reset, hidden[2], input[2]));
    return multiply_add(update, h - candidate, candidate);
  }

  /// d next / d hidden[g] in `by_gate`, and the derivative with respect to `h` where it enters directly.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                                   Scalar h, Scalar (&by_gate)[count], Scalar& direct) {
    const Scalar reset = sigmoid(input[0] + hidden[0]);
    const Scalar update = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(multiply_add(reset, hidden[2], input[2]));
    const Scalar to_candidate = (Scalar(1) - update) * (Scalar(1) - candidate * candidate);
    by_gate[0] = to_candidate * hidden[2] * reset * (Scalar(1) - reset);
    by_gate[1] = update * (Scalar(1) - update) * (h - candidate);
    by_gate[2] = to_candidate * reset;
    direct = update;
  }
};

}  // namespace impl

/// \brief Gated recurrent unit, with PyTorch's gate order (reset, update, new) and reset convention.
///
/// r = sigmoid(W_ir x + b_ir + W_hr h + b_hr), z = sigmoid(W_iz x + b_iz + W_hz h + b_hz),
/// n = tanh(W_in x + b_in + r (W_hn h + b_hn)), h' = (1 - z) n + z h (Cho et al., 2014).
/// Weights: (3 D, I), (3 D, D), (3 D), (3 D). Throws `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Gru : public impl::GatedLayer<impl::GruGates, Scalar, MemorySpace> {
 public:
  using impl::GatedLayer<impl::GruGates, Scalar, MemorySpace>::GatedLayer;
};

template <class Scalar, class MemorySpace>
Gru(const LayerWeights<Scalar, MemorySpace>&) -> Gru<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
