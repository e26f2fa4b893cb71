// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_GRU_RESET_BEFORE_HPP
#define ELAPHOS_CELLS_GRU_RESET_BEFORE_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit; see `GatesBase`. The candidate's product is late: it sees r h.
struct GruResetBeforeGates : GatesBase {
  static constexpr const char* name = "GruResetBefore";
  static constexpr int count = 3;
  static constexpr int states = 1;
  static constexpr int late = 1;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar between(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                             const Scalar (&own)[states]) const {
    return sigmoid(input[0] + hidden[0]) * own[0];
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void between_partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                                    const Scalar (&own)[states], Scalar (&by_gate)[count],
                                                    Scalar (&direct)[states]) const {
    const Scalar reset = sigmoid(input[0] + hidden[0]);
    by_gate[0] = reset * (Scalar(1) - reset) * own[0];
    by_gate[1] = by_gate[2] = Scalar(0);
    direct[0] = reset;
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                        const Scalar (&)[1], const Scalar (&own)[states],
                                        Scalar (&next)[states]) const {
    const Scalar update = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(input[2] + hidden[2]);
    next[0] = multiply_add(Scalar(1) - update, candidate, update * own[0]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                            const Scalar (&)[1], const Scalar (&own)[states],
                                            Scalar (&by_gate)[states][count], Scalar (&direct)[states][states]) const {
    const Scalar update = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(input[2] + hidden[2]);
    by_gate[0][0] = Scalar(0);
    by_gate[0][1] = update * (Scalar(1) - update) * (own[0] - candidate);
    by_gate[0][2] = (Scalar(1) - update) * (Scalar(1) - candidate * candidate);
    direct[0][0] = update;
  }
};

}  // namespace impl

/// \brief Gated recurrent unit as first published, which resets the state before its product (Cho et al., 2014; Keras'
/// `reset_after=False`). PyTorch's and cuDNN's is `Gru`.
///
/// r = sigmoid(W_ir x + b_ir + W_hr h + b_hr), z = sigmoid(W_iz x + b_iz + W_hz h + b_hz),
/// n = tanh(W_in x + b_in + W_hn (r h) + b_hn), h' = (1 - z) n + z h.
/// Weights, gates in the order r, z, n: (3 H, I), (3 H, H), (3 H), (3 H). Throws `InvalidArgument` when the shapes do
/// not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class GruResetBefore : public impl::GatedLayer<impl::GruResetBeforeGates, Scalar, MemorySpace> {
 public:
  using impl::GatedLayer<impl::GruResetBeforeGates, Scalar, MemorySpace>::GatedLayer;
};

template <class Scalar, class MemorySpace>
GruResetBefore(const LayerWeights<Scalar, MemorySpace>&) -> GruResetBefore<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
