// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_STEP_SITE_HPP
#define ELAPHOS_IMPL_STEP_SITE_HPP

#include <elaphos/impl/problem.hpp>
#include <elaphos/recurrence.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// How a step is to be made.
template <class Scalar>
struct StepSite {
  StepContext at;           ///< what the recurrence is told
  const Scalar* beginning;  ///< the state to start from, where a sequence begins here; else null
  bool held;                ///< the state stays as it is
};

/// Walks the steps of one sequence upwards, and says how each is to be made.
///
/// Without a division of time that costs a comparison a step; with packed sequences their offsets are bisected once,
/// and read where one ends.
template <class Scalar>
class StepCursor {
 public:
  KOKKOS_FORCEINLINE_FUNCTION StepCursor(const Problem<Scalar>& problem, std::int64_t sequence, std::int64_t t)
      : m_problem(problem), m_sequence(sequence), m_divided(problem.division.divided()) {
    const TimeDivision<Scalar>& division = problem.division;
    if (division.offsets != nullptr) {
      enter(packed_sequence_at(division.offsets, division.sequences, problem.first_step + t));
    }
  }

  /// Of step t of the problem, which is not before the one asked for last.
  KOKKOS_FORCEINLINE_FUNCTION StepSite<Scalar> site(std::int64_t t) {
    const std::int64_t step = m_problem.first_step + t;
    if (m_divided) return divided_site(step);
    return {{step, m_sequence}, nullptr, false};
  }

 private:
  KOKKOS_FUNCTION StepSite<Scalar> divided_site(std::int64_t step) {
    const TimeDivision<Scalar>& division = m_problem.division;
    if (division.offsets != nullptr) {
      while (step >= m_end) enter(m_sequence + 1);
      return {{step - m_begin, m_sequence}, step == m_begin ? beginning() : nullptr, false};
    }
    const std::int64_t entry = step * m_problem.batch + m_sequence;
    const bool resets = division.resets != nullptr && division.resets[entry];
    return {{step, m_sequence}, resets ? beginning() : nullptr, division.mask != nullptr && !division.mask[entry]};
  }

  KOKKOS_FUNCTION const Scalar* beginning() const {
    return m_problem.division.beginnings + m_sequence * m_problem.state_size;
  }

  KOKKOS_FUNCTION void enter(std::int64_t sequence) {
    m_sequence = sequence;
    m_begin = m_problem.division.offsets[sequence];
    m_end = m_problem.division.offsets[sequence + 1];
  }

  const Problem<Scalar>& m_problem;
  std::int64_t m_sequence;
  bool m_divided;
  std::int64_t m_begin = 0, m_end = 0;  // steps of a packed sequence
};

/// The same for a single step.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION StepSite<Scalar> step_site(const Problem<Scalar>& problem, std::int64_t sequence,
                                                       std::int64_t t) {
  return StepCursor<Scalar>(problem, sequence, t).site(t);
}

/// What a step starts from: D numbers, as they are stored.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION const Scalar* state_before(const Problem<Scalar>& problem, const StepSite<Scalar>& site,
                                                       std::int64_t sequence, std::int64_t t) {
  return site.beginning != nullptr ? site.beginning : problem.state_before(t, sequence);
}

}  // namespace elaphos::impl

#endif
