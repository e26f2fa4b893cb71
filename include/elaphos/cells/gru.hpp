// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_GRU_HPP
#define ELAPHOS_CELLS_GRU_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit; see `GatesBase`.
struct GruGates : GatesBase {
  static constexpr const char* name = "Gru";
  static constexpr int count = 3;
  static constexpr int states = 1;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                        const Scalar (&)[1], const Scalar (&own)[states],
                                        Scalar (&next)[states]) const {
    const Scalar reset = sigmoid(input[0] + hidden[0]);
    const Scalar update = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(multiply_add(reset, hidden[2], input[2]));
    // The candidate comes last: nothing but one multiply-add waits for it.
    next[0] = multiply_add(Scalar(1) - update, candidate, update * own[0]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                            const Scalar (&)[1], const Scalar (&own)[states],
                                            Scalar (&by_gate)[states][count], Scalar (&direct)[states][states]) const {
    const Scalar reset = sigmoid(input[0] + hidden[0]);
    const Scalar update = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(multiply_add(reset, hidden[2], input[2]));
    const Scalar to_candidate = (Scalar(1) - update) * (Scalar(1) - candidate * candidate);
    by_gate[0][0] = to_candidate * hidden[2] * reset * (Scalar(1) - reset);
    by_gate[0][1] = update * (Scalar(1) - update) * (own[0] - candidate);
    by_gate[0][2] = to_candidate * reset;
    direct[0][0] = update;
  }
};

}  // namespace impl

/// \brief Gated recurrent unit, with PyTorch's gate order (reset, update, new) and reset convention.
///
/// r = sigmoid(W_ir x + b_ir + W_hr h + b_hr), z = sigmoid(W_iz x + b_iz + W_hz h + b_hz),
/// n = tanh(W_in x + b_in + r (W_hn h + b_hn)), h' = (1 - z) n + z h (Cho et al., 2014).
/// Weights: (3 H, I), (3 H, H), (3 H), (3 H). Throws `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Gru : public impl::GatedLayer<impl::GruGates, Scalar, MemorySpace> {
 public:
  using impl::GatedLayer<impl::GruGates, Scalar, MemorySpace>::GatedLayer;
};

template <class Scalar, class MemorySpace>
Gru(const LayerWeights<Scalar, MemorySpace>&) -> Gru<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
