// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_LSTM_HPP
#define ELAPHOS_CELLS_LSTM_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit; see `GruGates` for the arguments. A unit's states are h and c.
struct LstmGates {
  static constexpr const char* name = "Lstm";
  static constexpr int count = 4;
  static constexpr int states = 2;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void next(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                               const Scalar (&own)[states], Scalar (&next)[states]) {
    const Scalar in = sigmoid(input[0] + hidden[0]);
    const Scalar forget = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(input[2] + hidden[2]);
    const Scalar out = sigmoid(input[3] + hidden[3]);
    next[1] = multiply_add(forget, own[1], in * candidate);
    next[0] = out * hyperbolic_tangent(next[1]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static void partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                                   const Scalar (&own)[states], Scalar (&by_gate)[states][count],
                                                   Scalar (&direct)[states][states]) {
    const Scalar in = sigmoid(input[0] + hidden[0]);
    const Scalar forget = sigmoid(input[1] + hidden[1]);
    const Scalar candidate = hyperbolic_tangent(input[2] + hidden[2]);
    const Scalar out = sigmoid(input[3] + hidden[3]);
    const Scalar squashed = hyperbolic_tangent(multiply_add(forget, own[1], in * candidate));
    const Scalar by_cell = out * (Scalar(1) - squashed * squashed);  // d h' / d c'
    by_gate[1][0] = in * (Scalar(1) - in) * candidate;
    by_gate[1][1] = forget * (Scalar(1) - forget) * own[1];
    by_gate[1][2] = in * (Scalar(1) - candidate * candidate);
    by_gate[1][3] = Scalar(0);
    by_gate[0][0] = by_cell * by_gate[1][0];
    by_gate[0][1] = by_cell * by_gate[1][1];
    by_gate[0][2] = by_cell * by_gate[1][2];
    by_gate[0][3] = out * (Scalar(1) - out) * squashed;
    direct[0][0] = Scalar(0);
    direct[0][1] = by_cell * forget;
    direct[1][0] = Scalar(0);
    direct[1][1] = forget;
  }
};

}  // namespace impl

/// \brief Long short-term memory with PyTorch's gate order (input, forget, cell, output).
///
/// i = sigmoid(W_ii x + b_ii + W_hi h + b_hi), f = sigmoid(W_if x + b_if + W_hf h + b_hf),
/// g = tanh(W_ig x + b_ig + W_hg h + b_hg), o = sigmoid(W_io x + b_io + W_ho h + b_ho),
/// c' = f c + i g, h' = o tanh(c') (Hochreiter and Schmidhuber, 1997; Gers et al., 2000).
/// A state is h, then c: 2 H numbers, in y0, in y, and in blocks of (h, c) a unit for `Method::block_quasi_newton`.
/// Weights: (4 H, I), (4 H, H), (4 H), (4 H). Throws `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Lstm : public impl::GatedLayer<impl::LstmGates, Scalar, MemorySpace> {
 public:
  using impl::GatedLayer<impl::LstmGates, Scalar, MemorySpace>::GatedLayer;
};

template <class Scalar, class MemorySpace>
Lstm(const LayerWeights<Scalar, MemorySpace>&) -> Lstm<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
