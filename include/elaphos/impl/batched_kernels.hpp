// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_BATCHED_KERNELS_HPP
#define ELAPHOS_IMPL_BATCHED_KERNELS_HPP

#include <elaphos/batched_recurrence.hpp>
#include <elaphos/impl/batch_tangents.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/segment_arguments.hpp>
#include <elaphos/impl/step_site.hpp>
#include <elaphos/impl/team_states.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// A segment under way: what a row of a batch stands for.
struct BatchRow {
  SegmentRange range;
  std::int64_t t;          ///< the step that the row evaluates next
  std::int64_t number;     ///< of all rows that the pass began with
  std::int32_t running;    ///< 0: at its end or merged; the row is evaluated in vain until the list is compacted
  std::int32_t from_node;  ///< 0: a sequence has begun since the node, on which the state depends no more
};

/// The rows of a batch, gathered.
template <class Scalar>
struct BatchRows {
  BatchRow* rows;   ///< (count)
  StepContext* at;  ///< (count)
  Scalar* state;    ///< (count, D)
  Scalar* next;     ///< (count, D)
  Scalar* input;    ///< (count, I)
  MergeTest<Scalar>* tests;       ///< of the rows that the pass began with
  BatchTangents<Scalar> tangents;
};

/// A team takes a row, a thread an entry.
template <class ExecutionSpace, class Kernel>
void for_each_row(const char* label, const ExecutionSpace& exec, std::int64_t count, int state_size,
                  const Kernel& kernel) {
  const int threads = threads_for_state<ExecutionSpace>(state_size);
  Kokkos::parallel_for(label, Kokkos::TeamPolicy<ExecutionSpace>(exec, static_cast<int>(count), threads), kernel);
}

/// One row for each active segment, at its beginning.
template <class Scalar>
struct StartRows {
  SegmentArguments<Scalar> arguments;
  BatchRow* rows;
  MergeTest<Scalar>* tests;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const SegmentRange range = segment_range(arguments, index);
    const bool begins = step_site(arguments.problem, range.sequence, range.begin).beginning != nullptr;
    rows[index] = {range, range.begin, index, 1, begins ? 0 : 1};
    tests[index] = MergeTest<Scalar>(arguments.records[range.flat], arguments.merge);
  }
};

/// The derivatives of their states with respect to themselves: an entry a thread.
template <class Scalar>
struct StartTangents {
  const BatchRow* rows;
  BatchTangents<Scalar> tangents;
  std::int64_t state_size;

  KOKKOS_FUNCTION void operator()(std::int64_t entry) const {
    tangents.products[entry] = rows[quotient(entry, state_size)].from_node != 0 ? Scalar(1) : Scalar(0);
    tangents.stretches[entry] = WorstStretch<Scalar>();
  }
};

/// One row for each step of the active segments, from `first` on. A last segment is shorter: its rows beyond its end
/// repeat its last step, which does not change a maximum.
template <class Scalar>
struct StartRowsOfSteps {
  SegmentArguments<Scalar> arguments;
  BatchRow* rows;
  std::int64_t first;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t number = first + index;
    const SegmentRange range = segment_range(arguments, number % arguments.active_count);
    const std::int64_t t = range.begin + number / arguments.active_count;
    rows[index] = {range, t < range.end ? t : range.end - 1, index, 1, 1};
  }
};

/// Fills states, inputs and contexts of rows from the solve's own arrays: D + I numbers read and written a row.
template <class ExecutionSpace, class Scalar>
struct GatherRows {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  SegmentArguments<Scalar> arguments;
  BatchRows<Scalar> batch;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Problem<Scalar>& problem = arguments.problem;
    const std::int64_t r = team.league_rank(), D = problem.state_size, I = problem.inputs.size;
    const BatchRow row = batch.rows[r];
    const std::int64_t entry = row.t * problem.batch + row.range.sequence;
    const bool at_node = arguments.pass != Pass::verify && row.t == row.range.begin;
    const StepSite<Scalar> site = step_site(problem, row.range.sequence, row.t);
    const Scalar* from = at_node && site.beginning == nullptr ? arguments.nodes + row.range.flat * D
                                                              : state_before(problem, site, row.range.sequence, row.t);
    team_copy(team, from, batch.state + r * D, D);
    team_copy_input(team, problem.inputs, entry, batch.input + r * I);
    Kokkos::single(Kokkos::PerTeam(team), [&]() { batch.at[r] = site.at; });
  }
};

/// Takes over a step: merge test, y, and the inputs and contexts of the step that follows. 2 D numbers read and D + I
/// written a row, I more read.
///
/// A row that is done repeats its last step, so that nothing is ever evaluated that the recurrence does not ask for.
template <class ExecutionSpace, class Scalar>
struct AdvanceRows {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  SegmentArguments<Scalar> arguments;
  BatchRows<Scalar> batch;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Problem<Scalar>& problem = arguments.problem;
    const std::int64_t r = team.league_rank(), D = problem.state_size, I = problem.inputs.size;
    const BatchRow row = batch.rows[r];
    const std::int64_t entry = row.t * problem.batch + row.range.sequence;
    const Scalar* state = batch.state + r * D;
    Scalar* next = batch.next + r * D;
    Scalar* y = problem.y + entry * D;
    // A step of which the state stays as it is was evaluated in vain.
    const bool held = step_site(problem, row.range.sequence, row.t).held;
    if (held) team_copy(team, state, next, D);

    MergeTest<Scalar> test = batch.tests[row.number];
    bool merged = false;
    if (row.running != 0) {
      if (arguments.pass == Pass::propagate && test.possible()) merged = test.merged(distance(team, test, next, y));
      if (!merged) team_copy(team, next, y, D);
      if (batch.tangents.carried() && row.from_node != 0 && !held) batch.tangents.advance(team, r, row.number, D);
    }
    // All have read the row and its record.
    team.team_barrier();
    if (row.running != 0 && !merged && row.t + 1 < row.range.end) {
      const StepSite<Scalar> site = step_site(problem, row.range.sequence, row.t + 1);
      if (site.beginning != nullptr) team_copy(team, site.beginning, next, D);
      team_copy_input(team, problem.inputs, entry + problem.batch, batch.input + r * I);
      if (site.beginning != nullptr && batch.tangents.carried()) batch.tangents.clear(team, row.number, D);
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        batch.rows[r].t = row.t + 1;
        if (site.beginning != nullptr) batch.rows[r].from_node = 0;
        batch.at[r] = site.at;
        batch.tests[row.number] = test;
      });
      return;
    }
    team_copy(team, state, next, D);
    if (row.running == 0) return;
    Scalar growth = infinite<Scalar>();
    if (batch.tangents.carried() && !merged) {
      growth = batch.tangents.store(team, row.number, D, arguments.sensitivities + row.range.flat * D);
    }
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      batch.rows[r].running = 0;
      record_run(arguments.records[row.range.flat], row.t + 1 - row.range.begin, merged, merged ? test.jump() : Scalar(0),
                 growth);
    });
  }

 private:
  KOKKOS_FUNCTION StateDifference<Scalar> distance(const Member& team, const MergeTest<Scalar>& test, const Scalar* now,
                                                   const Scalar* stored) const {
    const std::int64_t D = arguments.problem.state_size;
    if (test.exact_only()) return team_difference(team, now, stored, D);
    return team_difference(team, now, stored, D, arguments.absolute_tolerance, arguments.relative_tolerance);
  }
};

/// Compaction: the rows that are still running move up. Sums of integers commute, so Kokkos' own scan is right.
struct KeepRunningRows {
  using value_type = std::int64_t;
  const BatchRow* from;
  BatchRow* to;

  KOKKOS_FUNCTION void operator()(std::int64_t index, std::int64_t& position, bool final) const {
    const bool running = from[index].running != 0;
    if (final && running) to[position] = from[index];
    if (running) ++position;
  }
};

/// Before residuals are measured: none has been seen.
template <class Scalar>
struct ResetJumps {
  SegmentArguments<Scalar> arguments;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const { arguments.records[arguments.active[index]].jump = 0; }
};

/// The distance of a step from the stored state, joined into its segment's largest: 2 D numbers read a row. (A maximum:
/// atomics do not make it depend on order.)
template <class ExecutionSpace, class Scalar>
struct MeasureRows {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  SegmentArguments<Scalar> arguments;
  BatchRows<Scalar> batch;

  KOKKOS_FUNCTION void operator()(const Member& team) const {
    const Problem<Scalar>& problem = arguments.problem;
    const std::int64_t r = team.league_rank(), D = problem.state_size;
    const BatchRow row = batch.rows[r];
    const bool held = step_site(problem, row.range.sequence, row.t).held;
    const Scalar* next = (held ? batch.state : batch.next) + r * D;
    const Scalar* stored = problem.y + (row.t * problem.batch + row.range.sequence) * D;
    const Scalar residual = team_distance(team, next, stored, D);
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      if (residual > Scalar(0)) Kokkos::atomic_max(&arguments.records[row.range.flat].jump, residual);
    });
  }
};

}  // namespace elaphos::impl

#endif
