// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_LSTM_HPP
#define ELAPHOS_CELLS_LSTM_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>
#include <elaphos/views.hpp>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit; see `GatesBase`. A unit's states are h and c.
struct LstmGates : GatesBase {
  static constexpr const char* name = "Lstm";
  static constexpr int count = 4;
  static constexpr int states = 2;
  // Peepholes: from c to the input and the forget gate, from c' to the output gate.
  static constexpr int unit_weights = 3;

  bool coupled = false;  ///< the input gate is 1 - forget gate
  bool peepholes = false;

  int absent_gates() const { return coupled ? 1 : 0; }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                        const Scalar (&peephole)[unit_weights], const Scalar (&own)[states],
                                        Scalar (&next)[states]) const {
    Scalar in, forget, candidate;
    gates(input, hidden, peephole, own[1], in, forget, candidate);
    next[1] = multiply_add(forget, own[1], in * candidate);
    next[0] = sigmoid(gate(3, input, hidden, peephole[2], next[1])) * hyperbolic_tangent(next[1]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                            const Scalar (&peephole)[unit_weights], const Scalar (&own)[states],
                                            Scalar (&by_gate)[states][count], Scalar (&direct)[states][states]) const {
    Scalar in, forget, candidate;
    gates(input, hidden, peephole, own[1], in, forget, candidate);
    const Scalar cell = multiply_add(forget, own[1], in * candidate);
    const Scalar out = sigmoid(gate(3, input, hidden, peephole[2], cell));
    const Scalar squashed = hyperbolic_tangent(cell);
    const Scalar by_forget = forget * (Scalar(1) - forget);
    by_gate[1][0] = coupled ? Scalar(0) : in * (Scalar(1) - in) * candidate;
    by_gate[1][1] = by_forget * (coupled ? own[1] - candidate : own[1]);
    by_gate[1][2] = in * (Scalar(1) - candidate * candidate);
    by_gate[1][3] = Scalar(0);
    by_gate[0][3] = out * (Scalar(1) - out) * squashed;
    Scalar by_cell = out * (Scalar(1) - squashed * squashed);  // d h' / d c'
    direct[1][1] = forget;
    by_cell += chosen(peepholes, by_gate[0][3] * peephole[2], Scalar(0));
    direct[1][1] += chosen(peepholes, by_gate[1][0] * peephole[0] + by_gate[1][1] * peephole[1], Scalar(0));
    by_gate[0][0] = by_cell * by_gate[1][0];
    by_gate[0][1] = by_cell * by_gate[1][1];
    by_gate[0][2] = by_cell * by_gate[1][2];
    direct[0][0] = Scalar(0);
    direct[0][1] = by_cell * direct[1][1];
    direct[1][0] = Scalar(0);
  }

 private:
  // Options are chosen by bits, too: a branch in a loop over units would keep hosts' compilers from vector code.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar gate(int g, const Scalar (&input)[count], const Scalar (&hidden)[count],
                                          Scalar peephole, Scalar cell) const {
    const Scalar sum = input[g] + hidden[g];
    return chosen(peepholes, multiply_add(peephole, cell, sum), sum);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void gates(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                         const Scalar (&peephole)[unit_weights], Scalar cell, Scalar& in,
                                         Scalar& forget, Scalar& candidate) const {
    forget = sigmoid(gate(1, input, hidden, peephole[1], cell));
    in = chosen(coupled, Scalar(1) - forget, sigmoid(gate(0, input, hidden, peephole[0], cell)));
    candidate = hyperbolic_tangent(input[2] + hidden[2]);
  }
};

}  // namespace impl

/// \brief Variants of an `Lstm`.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
struct LstmOptions {
  /// The input gate is 1 - f: weights of three gates (f, g, o) (Greff et al., 2017).
  bool coupled = false;
  /// (3, H): what the input, the forget and the output gate see of a unit's own cell, p_i c, p_f c, p_o c' (Gers and
  /// Schmidhuber, 2000); empty for none. Without an input gate its row is not read.
  MatrixView<const Scalar, MemorySpace> peepholes{};
};

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
  explicit Lstm(const LayerWeights<Scalar, MemorySpace>& weights, const LstmOptions<Scalar, MemorySpace>& options = {})
      : impl::GatedLayer<impl::LstmGates, Scalar, MemorySpace>(weights,
                                                               {{}, options.coupled, options.peepholes.size() > 0}) {
    if (options.peepholes.size() > 0) this->set_unit_weights("peepholes", options.peepholes);
  }
};

template <class Scalar, class MemorySpace>
Lstm(const LayerWeights<Scalar, MemorySpace>&) -> Lstm<Scalar, MemorySpace>;
template <class Scalar, class MemorySpace>
Lstm(const LayerWeights<Scalar, MemorySpace>&, const LstmOptions<Scalar, MemorySpace>&) -> Lstm<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
