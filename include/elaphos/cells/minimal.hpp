// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_MINIMAL_HPP
#define ELAPHOS_CELLS_MINIMAL_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/elementary.hpp>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit; see `GatesBase`. The gates see x only.
struct MinGruGates : GatesBase {
  static constexpr const char* name = "MinGru";
  static constexpr int count = 2;
  static constexpr int states = 1;
  static constexpr bool recurrent = false;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[count], const Scalar (&)[count], const Scalar (&)[1],
                                        const Scalar (&own)[states], Scalar (&next)[states]) const {
    next[0] = multiply_add(sigmoid(input[0]), input[1] - own[0], own[0]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[count], const Scalar (&)[count], const Scalar (&)[1],
                                            const Scalar (&)[states], Scalar (&by_gate)[states][count],
                                            Scalar (&direct)[states][states]) const {
    by_gate[0][0] = by_gate[0][1] = Scalar(0);
    direct[0][0] = Scalar(1) - sigmoid(input[0]);
  }
};

/// The arithmetic of one hidden unit; see `GatesBase`. The gates see x only.
struct MinLstmGates : GatesBase {
  static constexpr const char* name = "MinLstm";
  static constexpr int count = 3;
  static constexpr int states = 1;
  static constexpr bool recurrent = false;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[count], const Scalar (&)[count], const Scalar (&)[1],
                                        const Scalar (&own)[states], Scalar (&next)[states]) const {
    const Scalar forget = forget_share(input);
    next[0] = multiply_add(forget, own[0] - input[2], input[2]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[count], const Scalar (&)[count], const Scalar (&)[1],
                                            const Scalar (&)[states], Scalar (&by_gate)[states][count],
                                            Scalar (&direct)[states][states]) const {
    by_gate[0][0] = by_gate[0][1] = by_gate[0][2] = Scalar(0);
    direct[0][0] = forget_share(input);
  }

 private:
  // f / (f + i). Where both gates are closed so tightly that they are 0, half of each.
  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION static Scalar forget_share(const Scalar (&input)[count]) {
    const Scalar in = sigmoid(input[0]), forget = sigmoid(input[1]), sum = in + forget;
    return sum == Scalar(0) ? Scalar(0.5) : forget / sum;
  }
};

}  // namespace impl

/// \brief minGRU, whose gate and candidate see the input only (Feng et al., 2024): z = sigmoid(W_z x + b_z),
/// h' = (1 - z) h + z (W_h x + b_h).
///
/// Weights, gates in the order z, h: `input_weights` (2 H, I), `input_bias` (2 H); no hidden ones. Throws
/// `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class MinGru : public impl::GatedLayer<impl::MinGruGates, Scalar, MemorySpace> {
 public:
  using impl::GatedLayer<impl::MinGruGates, Scalar, MemorySpace>::GatedLayer;
};

/// \brief minLSTM, with gates that see the input only and add to 1 (Feng et al., 2024): i = sigmoid(W_i x + b_i),
/// f = sigmoid(W_f x + b_f), h' = (f h + i (W_h x + b_h)) / (f + i).
///
/// Weights, gates in the order i, f, h: `input_weights` (3 H, I), `input_bias` (3 H); no hidden ones. Throws
/// `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class MinLstm : public impl::GatedLayer<impl::MinLstmGates, Scalar, MemorySpace> {
 public:
  using impl::GatedLayer<impl::MinLstmGates, Scalar, MemorySpace>::GatedLayer;
};

template <class Scalar, class MemorySpace>
MinGru(const LayerWeights<Scalar, MemorySpace>&) -> MinGru<Scalar, MemorySpace>;
template <class Scalar, class MemorySpace>
MinLstm(const LayerWeights<Scalar, MemorySpace>&) -> MinLstm<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
