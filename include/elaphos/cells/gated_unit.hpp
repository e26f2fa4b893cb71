// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_GATED_UNIT_HPP
#define ELAPHOS_CELLS_GATED_UNIT_HPP

#include <elaphos/impl/scalar.hpp>

#include <Kokkos_Core.hpp>

namespace elaphos::impl {

/// What most cells' gates have in common, and what each states of itself:
///
/// - `name`; `count`, its gates; `states`, the numbers of a unit, of which the first is its entry of h;
/// - `late`: so many of the last gates multiply their recurrent weights not with h but with `between`, a number that
///   each unit makes of its other gates; 0 or 1;
/// - `unit_weights`: numbers that each unit has to itself (peepholes);
/// - `recurrent`: whether there are recurrent weights at all;
/// - `next(input, hidden, weights, own, next)`: a unit's step. `input` and `hidden` hold, per gate, the unit's entries
///   of W_ih x + b_ih and of W_hh h + b_hh (of W_hh `between` + b_hh for late ones); `weights` are its own; `own` its
///   states;
/// - `partials(input, hidden, weights, own, by_gate, direct)`: d next[s] / d hidden[g] in `by_gate[s][g]`, and in
///   `direct[s][r]` d next[s] / d own[r], where that enters directly;
/// - with late gates also `between(input, hidden, own)`, and `between_partials(input, hidden, own, by_gate, direct)`.
///
/// Every product that feeds a sum is a `multiply_add`, so that all kernels make the same bits.
struct GatesBase {
  static constexpr int late = 0;
  static constexpr int unit_weights = 0;
  static constexpr bool recurrent = true;

  /// So many gates in front that a variant of the cell does without.
  int absent_gates() const { return 0; }
};

/// One unit's step: its gates, and what may be asked of any cell, that its states are blended with those before.
template <class Gates, class Scalar>
struct GatedUnit {
  static constexpr int gates = Gates::count, states = Gates::states;
  static_assert(states <= 2 && Gates::late <= 1);
  // No array has no entries.
  static constexpr int weights = Gates::unit_weights > 0 ? Gates::unit_weights : 1;

  Gates of{};
  Scalar keep = 0;  ///< the new state is keep * the one before + scale * the cell's
  Scalar scale = 1;
  bool blended = false;

  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[gates], const Scalar (&hidden)[gates],
                                        const Scalar (&own_weights)[weights], const Scalar (&own)[states],
                                        Scalar (&next)[states]) const {
    of.next(input, hidden, own_weights, own, next);
    if (!blended) return;
    // Written out: compilers make vector code of a loop over units only when it holds no other loop.
    next[0] = multiply_add(keep, own[0], scale * next[0]);
    if constexpr (states == 2) next[1] = multiply_add(keep, own[1], scale * next[1]);
  }

  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[gates], const Scalar (&hidden)[gates],
                                            const Scalar (&own_weights)[weights], const Scalar (&own)[states],
                                            Scalar (&by_gate)[states][gates], Scalar (&direct)[states][states]) const {
    of.partials(input, hidden, own_weights, own, by_gate, direct);
    if (!blended) return;
    for (int s = 0; s < states; ++s) {
      for (int g = 0; g < gates; ++g) by_gate[s][g] *= scale;
      for (int r = 0; r < states; ++r) direct[s][r] = scale * direct[s][r] + (r == s ? keep : Scalar(0));
    }
  }
};

}  // namespace elaphos::impl

#endif
