// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_TEAM_DIFFERENCE_HPP
#define ELAPHOS_SRC_CELLS_TEAM_DIFFERENCE_HPP

#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/warp.hpp>
#include <elaphos/plan.hpp>

#include <Kokkos_Core.hpp>

namespace elaphos::impl {

/// How far a team's new state is from the stored one: each unit offers its part, and behind a barrier all have the
/// whole. Arrays and flags in scratch are used in turn, so that one barrier a step is enough; where the units' `Lanes`
/// are of one warp (`InWarp`), its instructions do.
template <class Scalar, int Width, int Lanes, bool InWarp>
class TeamDifference {
 public:
  static constexpr int scaled = 0;            // (2, Width): differences over the tolerance
  static constexpr int absolute = 2 * Width;  // (2, Width)
  static constexpr int scalars = 4 * Width;
  static constexpr int flags = 3;  // one is written, one is read, one is cleared
  static_assert(Width >= flags, "each flag is cleared by a lane of its own");

  /// The flags are clear behind the barrier that follows.
  KOKKOS_FUNCTION TeamDifference(Scalar* numbers, int* differs, int unit, Merge merge)
      : m_numbers(numbers), m_differs(differs), m_unit(unit), m_merge(merge) {
    if (unit < flags) differs[unit] = 0;
  }

  KOKKOS_FORCEINLINE_FUNCTION void offer(const StateDifference<Scalar>& own) {
    if constexpr (InWarp) {
      m_own = own;
      return;
    }
    if (!own.identical) m_differs[m_flag] = 1;
    if (m_merge != Merge::tolerance) return;
    m_numbers[scaled + m_half * Width + m_unit] = own.scaled;
    m_numbers[absolute + m_half * Width + m_unit] = own.absolute;
  }

  /// Before the barrier, by all.
  KOKKOS_FORCEINLINE_FUNCTION void clear_next() const {
    if (m_unit == 0) m_differs[(m_flag + 1) % flags] = 0;
  }

  /// Behind the barrier: of `units` units.
  KOKKOS_FORCEINLINE_FUNCTION StateDifference<Scalar> agreed(int units) const {
    StateDifference<Scalar> all;
    if constexpr (InWarp) {
      all.identical = !any_in_lanes<Lanes>(!m_own.identical);
      if (all.identical || m_merge == Merge::exact) return all;
      all.scaled = largest_in_lanes<Lanes>(m_own.scaled);
      all.absolute = largest_in_lanes<Lanes>(m_own.absolute);
      return all;
    }
    all.identical = m_differs[m_flag] == 0;
    if (all.identical || m_merge == Merge::exact) return all;
    for (int i = 0; i < units; ++i) {
      const Scalar of_scaled = m_numbers[scaled + m_half * Width + i];
      const Scalar of_absolute = m_numbers[absolute + m_half * Width + i];
      if (of_scaled > all.scaled) all.scaled = of_scaled;
      if (of_absolute > all.absolute) all.absolute = of_absolute;
    }
    return all;
  }

  KOKKOS_FORCEINLINE_FUNCTION void next_step() {
    m_half = 1 - m_half;
    m_flag = (m_flag + 1) % flags;
  }

 private:
  Scalar* m_numbers;
  int* m_differs;
  int m_unit;
  Merge m_merge;
  int m_half = 0, m_flag = 0;
  StateDifference<Scalar> m_own;  // of the last step; of padded units none
};

}  // namespace elaphos::impl

#endif
