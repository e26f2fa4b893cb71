// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_TEAM_TANGENT_HPP
#define ELAPHOS_SRC_CELLS_TEAM_TANGENT_HPP

#include "team_difference.hpp"
#include "team_input.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

/// Team scratch of `GatedTeamKernel`, laid out by hand: what all lanes of a segment share.
template <class Gates, class Scalar, int Width, Sensitivity Carried,
          class Input = TeamInput<Gates, Scalar, Width, 1, false>>
struct GatedTeamScratch {
  static constexpr int states = Gates::states;
  static constexpr int late = Gates::late, early = Gates::count - late;
  // A row of the Jacobian: the columns of h, and of the unit's other states those that are not 0. By way of a late gate
  // a unit depends on the other states of all. Odd against bank conflicts.
  static constexpr bool full_rows = late > 0 && states > 1;
  static constexpr int jacobian_row = (full_rows ? states * Width : Width + states - 1) | 1;
  static constexpr int input = 0;
  // (2, Width): current and next h, in turn; where packs may begin.
  static constexpr int state = (input + Input::scalars + 3) / 4 * 4;
  static constexpr int difference = state + 2 * Width;
  static constexpr int between =
      difference + TeamDifference<Scalar, Width, Width, false>::scalars;               // (Width): what late gates multiply
  static constexpr int between_gates = between + late * Width;           // (early, Width): its derivatives by gate
  static constexpr int jacobian = between_gates + late * early * Width;  // (states, Width, jacobian_row)
  static constexpr int jacobian_scalars = Carried == Sensitivity::dense ? Width * jacobian_row : 0;
  static constexpr int between_jacobian = jacobian + states * jacobian_scalars;  // (Width, jacobian_row)
  static constexpr int scalars = between_jacobian + late * jacobian_scalars;
  static constexpr std::size_t bytes = sizeof(Scalar) * scalars + sizeof(int) * 4;
};

/// What one lane of a team carries of the derivative of the current state with respect to the segment's node.
///
/// `diagonal`: its unit's numbers; `block`: its unit's matrix; `dense`: the columns of its unit's states, each of all
/// states. All in registers.
template <class Gates, class Scalar, int Width, Sensitivity Carried>
class TeamTangent {
  static constexpr int states = Gates::states;
  using Layout = GatedTeamScratch<Gates, Scalar, Width, Carried>;

 public:
  /// `unit`: whose columns of a dense product.
  KOKKOS_FUNCTION explicit TeamTangent(int unit = 0) {
    for (int q = 0; q < states; ++q) {
      ELAPHOS_UNROLL
      for (int i = 0; i < length; ++i) {
        const int one = Carried == Sensitivity::dense ? q * Width + unit : Carried == Sensitivity::block ? q : i;
        column[q][i] = i == one ? Scalar(1) : Scalar(0);
      }
    }
  }

  /// From here on the state depends on the node no more.
  KOKKOS_FUNCTION void clear() {
    for (int q = 0; q < states; ++q) {
      ELAPHOS_UNROLL
      for (int i = 0; i < length; ++i) column[q][i] = Scalar(0);
    }
  }

  /// The unit's own derivatives, d next[s] / d own[r], from the left.
  KOKKOS_FORCEINLINE_FUNCTION void multiply_own(const Scalar (&own)[states][states], bool growth_wanted) {
    if constexpr (Carried == Sensitivity::diagonal) {
      for (int s = 0; s < states; ++s) {
        column[s][0] *= own[s][s];
        if (growth_wanted) stretch[s].add(Kokkos::abs(own[s][s]));
      }
    } else if constexpr (Carried == Sensitivity::block) {
      Scalar largest_before = 0, largest_after = 0;
      for (int q = 0; q < states; ++q) {
        Scalar product[states];
        for (int s = 0; s < states; ++s) {
          Scalar sum = 0;
          for (int r = 0; r < states; ++r) sum += own[s][r] * column[q][r];
          product[s] = sum;
        }
        replace(q, product, largest_before, largest_after);
      }
      if (growth_wanted) stretch[0].add(largest_after / largest_before);
    }
  }

  /// The team's Jacobian, in scratch as `GatedTeamScratch` says, from the left.
  KOKKOS_FUNCTION void multiply_dense(const Scalar* jacobian, bool growth_wanted) {
    Scalar largest_before = 0, largest_after = 0;
    ELAPHOS_UNROLL
    for (int q = 0; q < states; ++q) {
      Scalar product[length];
      ELAPHOS_UNROLL
      for (int i = 0; i < length; ++i) {
        const Scalar* row = jacobian + i * Layout::jacobian_row;
        Scalar sum = 0;
        ELAPHOS_UNROLL
        for (int k = 0; k < Width; ++k) sum += row[k] * column[q][k];
        ELAPHOS_UNROLL
        for (int r = 1; r < states; ++r) {
          if constexpr (Layout::full_rows) {
            ELAPHOS_UNROLL
            for (int k = 0; k < Width; ++k) sum += row[r * Width + k] * column[q][r * Width + k];
          } else {
            sum += row[Width + r - 1] * column[q][r * Width + i % Width];
          }
        }
        product[i] = sum;
      }
      replace(q, product, largest_before, largest_after);
    }
    if (growth_wanted) stretch[0].add(largest_after / largest_before);
  }

  KOKKOS_FUNCTION bool finite() const {
    bool all = true;
    for (int q = 0; q < states; ++q) {
      ELAPHOS_UNROLL
      for (int i = 0; i < length; ++i) all = all && Kokkos::isfinite(column[q][i]);
    }
    return all;
  }

  KOKKOS_FUNCTION Scalar worst() const {
    Scalar out = 0;
    for (int i = 0; i < stretches; ++i) {
      if (stretch[i].worst() > out) out = stretch[i].worst();
    }
    return out;
  }

  /// Writes the lane's part of a segment's sensitivity; zeros, where the whole is not finite.
  KOKKOS_FUNCTION void store(Scalar* sensitivities, std::int64_t flat, int H, int unit, bool finite) const {
    const int D = states * H;
    for (int q = 0; q < states; ++q) {
      if constexpr (Carried == Sensitivity::diagonal) {
        sensitivities[flat * D + q * H + unit] = finite ? column[q][0] : Scalar(0);
      } else if constexpr (Carried == Sensitivity::block) {
        for (int s = 0; s < states; ++s) {
          sensitivities[((flat * H + unit) * states + s) * states + q] = finite ? column[q][s] : Scalar(0);
        }
      } else {
        ELAPHOS_UNROLL
        for (int i = 0; i < length; ++i) {
          const int j = i % Width, s = i / Width;
          if (j < H) sensitivities[(flat * D + s * H + j) * D + q * H + unit] = finite ? column[q][i] : Scalar(0);
        }
      }
    }
  }

 private:
  static constexpr int length = Carried == Sensitivity::dense   ? states * Width
                                : Carried == Sensitivity::block ? states
                                                                : 1;
  static constexpr int stretches = Carried == Sensitivity::diagonal ? states : 1;
  Scalar column[states][length];  // of the product, one a state of the unit
  WorstStretch<Scalar> stretch[stretches];

  KOKKOS_FORCEINLINE_FUNCTION void replace(int q, const Scalar (&product)[length], Scalar& largest_before,
                                           Scalar& largest_after) {
    ELAPHOS_UNROLL
    for (int i = 0; i < length; ++i) {
      const Scalar before = Kokkos::abs(column[q][i]), after = Kokkos::abs(product[i]);
      if (before > largest_before) largest_before = before;
      if (!(after <= largest_after)) largest_after = after;
      column[q][i] = product[i];
    }
  }
};

}  // namespace elaphos::impl

#endif
