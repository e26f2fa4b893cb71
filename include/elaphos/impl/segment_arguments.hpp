// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_SEGMENT_ARGUMENTS_HPP
#define ELAPHOS_IMPL_SEGMENT_ARGUMENTS_HPP

#include <elaphos/impl/problem.hpp>
#include <elaphos/impl/quotient.hpp>
#include <elaphos/plan.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// What a pass over segments is for.
enum class Pass {
  propagate,  ///< from each active node to the segment's end or to a merge
  complete,   ///< from each active node to the end of the sequence: the sequential loop
  verify      ///< from each stored state one step: measures the residual and writes no state
};

/// What a pass leaves about one segment of one sequence.
template <class Scalar>
struct SegmentRecord {
  std::int64_t steps_run;  ///< steps that the last pass evaluated; 0 when it was not active
  Scalar jump;             ///< what tolerance merges left behind: largest difference at a merge
  Scalar growth;           ///< growth of the worst stretch inside the segment; infinite when no tangent was carried
  std::int32_t visited;    ///< 0 until the segment was propagated once: there is no trajectory to merge with
  std::int32_t must_run;   ///< 1: run to the end, whatever it meets
  std::int32_t exact_only; ///< 1: only a bitwise merge may stop it, since it starts from an exact node
  std::int32_t reached_end;///< 1 when the last run was not stopped by a merge
};

/// Everything that a kernel over segments reads and writes. Segment n of sequence b has the flat number n * B + b.
template <class Scalar>
struct SegmentArguments {
  Problem<Scalar> problem;
  std::int64_t segments;
  std::int64_t steps_per_segment;
  const std::int64_t* active;  ///< flat numbers of the segments to advance
  std::int64_t active_count;   ///< what a kernel is launched for
  const std::int64_t* active_on_device;  ///< how many of those there are, where the host does not know; else null
  const Scalar* nodes;     ///< (N, B, D)
  Scalar* sensitivities;   ///< diagonal: (N, B, D); block: (N, B, D/K, K, K); dense: (N, B, D, D); row-major
  SegmentRecord<Scalar>* records;  ///< (N, B)
  Sensitivity sensitivity;
  Merge merge;
  Scalar absolute_tolerance;
  Scalar relative_tolerance;
  Pass pass;

  /// Whether there is an entry `index` to advance.
  KOKKOS_FORCEINLINE_FUNCTION bool has(std::int64_t index) const {
    return active_on_device == nullptr || index < *active_on_device;
  }
};

/// The stretch of one sequence that one active entry stands for.
struct SegmentRange {
  std::int64_t flat;
  std::int64_t sequence;
  std::int64_t begin;
  std::int64_t end;
};

template <class Scalar>
KOKKOS_INLINE_FUNCTION SegmentRange segment_range(const SegmentArguments<Scalar>& arguments, std::int64_t index) {
  const std::int64_t flat = arguments.active[index];
  const std::int64_t segment = quotient(flat, arguments.problem.batch);
  const std::int64_t begin = segment * arguments.steps_per_segment;
  std::int64_t end = begin + arguments.steps_per_segment;
  if (arguments.pass == Pass::complete || end > arguments.problem.steps) end = arguments.problem.steps;
  return {flat, flat - segment * arguments.problem.batch, begin, end};
}

}  // namespace elaphos::impl

#endif
