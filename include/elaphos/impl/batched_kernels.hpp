// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_BATCHED_KERNELS_HPP
#define ELAPHOS_IMPL_BATCHED_KERNELS_HPP

#include <elaphos/batched_recurrence.hpp>
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
  std::int64_t t;        ///< the step that the row evaluates next
  std::int32_t running;  ///< 0: at its end or merged; the row is evaluated in vain until the list is compacted
};

/// The rows of a batch, gathered.
template <class Scalar>
struct BatchRows {
  BatchRow* rows;   ///< (count)
  StepContext* at;  ///< (count)
  Scalar* state;    ///< (count, D)
  Scalar* next;     ///< (count, D)
  Scalar* input;    ///< (count, I)
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

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const SegmentRange range = segment_range(arguments, index);
    rows[index] = {range, range.begin, 1};
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
    rows[index] = {range, t < range.end ? t : range.end - 1, 1};
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
/// Merges are exact: there is no Jacobian, and the plan knows it.
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
    if (step_site(problem, row.range.sequence, row.t).held) team_copy(team, state, next, D);

    bool merged = false;
    if (row.running != 0) {
      MergeTest<Scalar> test(arguments.records[row.range.flat], Merge::exact);
      if (arguments.pass == Pass::propagate && test.possible()) merged = test.merged(team_difference(team, next, y, D));
      if (!merged) team_copy(team, next, y, D);
    }
    // All have read the row and its record.
    team.team_barrier();
    if (row.running != 0 && !merged && row.t + 1 < row.range.end) {
      const StepSite<Scalar> site = step_site(problem, row.range.sequence, row.t + 1);
      if (site.beginning != nullptr) team_copy(team, site.beginning, next, D);
      team_copy_input(team, problem.inputs, entry + problem.batch, batch.input + r * I);
      Kokkos::single(Kokkos::PerTeam(team), [&]() {
        batch.rows[r].t = row.t + 1;
        batch.at[r] = site.at;
      });
      return;
    }
    team_copy(team, state, next, D);
    if (row.running == 0) return;
    Kokkos::single(Kokkos::PerTeam(team), [&]() {
      batch.rows[r].running = 0;
      record_run(arguments.records[row.range.flat], row.t + 1 - row.range.begin, merged, Scalar(0), infinite<Scalar>());
    });
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
