// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_MERGE_TEST_HPP
#define ELAPHOS_IMPL_MERGE_TEST_HPP

#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/segment_arguments.hpp>

namespace elaphos::impl {

/// How far a new state is from the stored one: whether all bits agree, and the largest difference over the tolerance.
template <class Scalar>
struct StateDifference {
  bool identical = true;
  Scalar scaled = 0;
  Scalar absolute = 0;

  KOKKOS_FORCEINLINE_FUNCTION void add(Scalar now, Scalar stored, Scalar absolute_tolerance,
                                       Scalar relative_tolerance) {
    if (same_bits(now, stored)) return;
    identical = false;
    const Scalar difference = Kokkos::abs(now - stored);
    const Scalar ratio = difference / (absolute_tolerance + relative_tolerance * Kokkos::abs(now));
    // A NaN is as far away as can be.
    scaled = ratio <= scaled ? scaled : (ratio == ratio ? ratio : infinite<Scalar>());
    absolute = difference <= absolute ? absolute : (difference == difference ? difference : infinite<Scalar>());
  }
};

/// Decides, step by step, whether a re-propagated segment has met its stored trajectory.
///
/// A bitwise meeting is always accepted. A meeting within tolerance needs a difference that, times the growth of the
/// segment's worst stretch, stays under a tenth of the tolerance, and that has shrunk over `steps_shrinking` steps: a
/// difference under the tolerance may still grow again (0.5 forty times, then 1.6 forty times).
template <class Scalar>
class MergeTest {
 public:
  static constexpr int steps_shrinking = 4;

  KOKKOS_FUNCTION MergeTest(const SegmentRecord<Scalar>& record, Merge merge)
      : m_possible(record.visited != 0 && record.must_run == 0),
        m_within_tolerance(merge == Merge::tolerance && record.exact_only == 0),
        m_growth(record.growth > Scalar(1) ? record.growth : Scalar(1)) {}

  KOKKOS_FUNCTION bool possible() const { return m_possible; }

  /// Whether only a bitwise meeting counts.
  KOKKOS_FUNCTION bool exact_only() const { return !m_within_tolerance; }

  /// Whether the segment may stop after this step; `jump()` is then what the merge leaves.
  KOKKOS_FUNCTION bool merged(const StateDifference<Scalar>& difference) {
    if (difference.identical) {
      m_jump = Scalar(0);
      return true;
    }
    if (!m_within_tolerance) return false;
    m_shrinking = difference.scaled < m_previous ? m_shrinking + 1 : 0;
    m_previous = difference.scaled;
    m_jump = difference.absolute;
    return m_shrinking >= steps_shrinking && difference.scaled * m_growth < Scalar(0.1);
  }

  KOKKOS_FUNCTION Scalar jump() const { return m_jump; }

 private:
  bool m_possible;
  bool m_within_tolerance;
  Scalar m_growth;
  Scalar m_previous = infinite<Scalar>();
  Scalar m_jump = Scalar(0);
  int m_shrinking = 0;
};

/// The largest product of successive growth factors over any stretch of steps seen so far.
template <class Scalar>
class WorstStretch {
 public:
  KOKKOS_FORCEINLINE_FUNCTION void add(Scalar factor) {
    m_running = (m_running > Scalar(1) ? m_running : Scalar(1)) * factor;
    // Written so that a NaN, for example 0/0 after an underflow, counts as unbounded growth.
    if (!(m_running <= m_worst)) m_worst = m_running == m_running ? m_running : infinite<Scalar>();
  }
  KOKKOS_FUNCTION Scalar worst() const { return m_worst; }

 private:
  Scalar m_running = Scalar(1);
  Scalar m_worst = Scalar(0);
};

/// Writes what a run leaves behind about its segment.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void record_run(SegmentRecord<Scalar>& record, std::int64_t steps_run, bool merged, Scalar jump,
                                       Scalar growth) {
  record.steps_run = steps_run;
  record.reached_end = merged ? 0 : 1;
  record.must_run = 0;
  record.visited = 1;
  if (merged) {
    // Jumps of earlier merges may lie behind this one: the record keeps the largest.
    if (jump > record.jump) record.jump = jump;
  } else {
    record.jump = Scalar(0);
    record.growth = growth;
  }
}

}  // namespace elaphos::impl

#endif
