// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_BATCHED_PROPAGATOR_HPP
#define ELAPHOS_IMPL_BATCHED_PROPAGATOR_HPP

#include <elaphos/batched_recurrence.hpp>
#include <elaphos/errors.hpp>
#include <elaphos/impl/batched_kernels.hpp>
#include <elaphos/impl/propagator.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace elaphos::impl {

/// Throws `InvalidArgument` for sizes that no recurrence has.
template <HasRunTimeSizes R>
void check_sizes(const R& recurrence) {
  const auto check = [](const char* name, std::int64_t value, std::int64_t least) {
    if (value < least) throw InvalidArgument(name, std::to_string(value), "at least " + std::to_string(least));
  };
  check("state_size()", recurrence.state_size(), 1);
  check("input_size()", recurrence.input_size(), 0);
  if constexpr (requires { recurrence.rows_at_a_time(); }) check("rows_at_a_time()", recurrence.rows_at_a_time(), 1);
}

/// Room for the rows of a batch, in the workspace: 2 D + I numbers each, and where they stand. Rows that carry tangents
/// take 4 D more.
template <class ExecutionSpace, class Scalar>
BatchRows<Scalar> reserve_rows(const ExecutionSpace& exec, const Problem<Scalar>& problem, std::int64_t count,
                               Workspace<ExecutionSpace>& workspace) {
  const std::size_t rows = static_cast<std::size_t>(count),
                    states = rows * static_cast<std::size_t>(problem.state_size);
  const std::size_t inputs = rows * static_cast<std::size_t>(problem.inputs.size);
  Scalar* numbers = workspace.template reserve<Scalar>(exec, Buffer::batch_numbers, 2 * states + inputs);
  // Twice: compaction goes from one half to the other.
  return {workspace.template reserve<BatchRow>(exec, Buffer::batch_rows, 2 * rows),
          workspace.template reserve<StepContext>(exec, Buffer::batch_contexts, rows),
          numbers,
          numbers + states,
          numbers + 2 * states,
          workspace.template reserve<MergeTest<Scalar>>(exec, Buffer::batch_merges, rows),
          {}};
}

template <class ExecutionSpace, class Scalar>
BatchTangents<Scalar> reserve_tangents(const ExecutionSpace& exec, std::int64_t count, int state_size,
                                       Workspace<ExecutionSpace>& workspace) {
  const std::size_t states = static_cast<std::size_t>(count) * static_cast<std::size_t>(state_size);
  Scalar* numbers = workspace.template reserve<Scalar>(exec, Buffer::batch_tangents, 2 * states);
  return {numbers, numbers + states,
          workspace.template reserve<WorstStretch<Scalar>>(exec, Buffer::batch_stretches, states)};
}

/// Calls the user's step for the first `count` rows; with its diagonal, where tangents are carried.
template <class ExecutionSpace, class R, class Scalar>
void evaluate_rows(const ExecutionSpace& exec, const R& recurrence, const Problem<Scalar>& problem,
                   const BatchRows<Scalar>& batch, std::int64_t count) {
  const std::size_t rows = static_cast<std::size_t>(count), D = static_cast<std::size_t>(problem.state_size);
  const std::size_t I = static_cast<std::size_t>(problem.inputs.size);
  using Batch = StepBatch<ExecutionSpace, Scalar>;
  const Batch arguments{count, decltype(Batch::at)(batch.at, rows), decltype(Batch::y)(batch.state, rows, D),
                        decltype(Batch::x)(batch.input, rows, I), decltype(Batch::next)(batch.next, rows, D)};
  if constexpr (BatchedRecurrenceWithDiagonal<R, ExecutionSpace>) {
    if (batch.tangents.carried()) {
      return recurrence.step_with_diagonal(exec, arguments, typename Batch::Diagonal(batch.tangents.diagonals, rows, D));
    }
  }
  recurrence.step(exec, arguments);
}

/// Propagator of a batched recurrence. The host walks the steps of a pass; at each, one call of the user's step
/// advances all segments that are under way, and one kernel takes the result over.
template <class ExecutionSpace, class R>
class BatchedPropagator final : public Propagator<ExecutionSpace, typename R::scalar_type> {
 public:
  using Scalar = typename R::scalar_type;
  static_assert(BatchedRecurrence<R, ExecutionSpace>,
                "Elaphos: this recurrence's step cannot be called as step(exec, batch) with this execution space's "
                "StepBatch: it must be const, and its arguments are const references");

  /// Both must outlive the propagator.
  BatchedPropagator(const R& recurrence, Workspace<ExecutionSpace>& workspace)
      : m_recurrence(recurrence), m_workspace(workspace) {
    check_sizes(recurrence);
  }

  bool has_jacobian() const override { return false; }
  bool has_jacobian_diagonal() const override { return BatchedRecurrenceWithDiagonal<R, ExecutionSpace>; }

  std::int64_t parallel_workers(const ExecutionSpace& exec) const override {
    if constexpr (requires { m_recurrence.rows_at_a_time(); }) {
      return m_recurrence.rows_at_a_time();
    } else {
      return exec.concurrency();
    }
  }

  void check_sensitivity(Sensitivity) const override {}
  bool steps_by_host() const override { return true; }

  void run(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const override {
    if (arguments.active_count == 0) return;
    if (arguments.pass == Pass::verify) return verify(exec, arguments);
    advance(exec, arguments);
  }

 private:
  using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  // To learn how many rows are left, the host has to wait for the device. In between, rows that are done are evaluated
  // in vain: at most so many steps, less one.
  static constexpr std::int64_t steps_between_looks = 16;
  // A verifying sweep has T B rows: so many bytes of them at a time, or as many rows as there are segments.
  static constexpr std::int64_t verified_bytes = std::int64_t(64) << 20;

  void advance(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int D = problem.state_size;
    const std::int64_t longest =
        arguments.pass == Pass::complete ? problem.steps : std::min(arguments.steps_per_segment, problem.steps);
    std::int64_t count = arguments.active_count;
    BatchRows<Scalar> batch = reserve_rows(exec, problem, count, m_workspace);
    BatchRow* spare = batch.rows + count;

    Kokkos::parallel_for("Elaphos::start_rows", Range(exec, 0, count),
                         StartRows<Scalar>{arguments, batch.rows, batch.tests});
    if (arguments.sensitivity == Sensitivity::diagonal && arguments.pass == Pass::propagate) {
      batch.tangents = reserve_tangents<ExecutionSpace, Scalar>(exec, count, D, m_workspace);
      Kokkos::parallel_for("Elaphos::start_tangents", Range(exec, 0, count * D),
                           StartTangents<Scalar>{batch.rows, batch.tangents, D});
    }
    for_each_row("Elaphos::gather_rows", exec, count, D, GatherRows<ExecutionSpace, Scalar>{arguments, batch});
    for (std::int64_t step = 1;; ++step) {
      evaluate_rows(exec, m_recurrence, problem, batch, count);
      for_each_row("Elaphos::advance_rows", exec, count, D, AdvanceRows<ExecutionSpace, Scalar>{arguments, batch});
      if (step == longest) return;
      std::swap(batch.state, batch.next);
      if (step % steps_between_looks != 0) continue;

      std::int64_t running = 0;
      Kokkos::parallel_scan("Elaphos::keep_running_rows", Range(exec, 0, count), KeepRunningRows{batch.rows, spare},
                            running);
      if (running == 0) return;
      if (running == count) continue;
      count = running;
      std::swap(batch.rows, spare);
      for_each_row("Elaphos::gather_rows", exec, count, D, GatherRows<ExecutionSpace, Scalar>{arguments, batch});
    }
  }

  void verify(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int D = problem.state_size;
    const std::int64_t row_bytes =
        static_cast<std::int64_t>(sizeof(Scalar)) * (2 * std::int64_t(D) + problem.inputs.size);
    const std::int64_t all = arguments.active_count * arguments.steps_per_segment;
    const std::int64_t at_once = std::min(all, std::max(arguments.active_count, verified_bytes / row_bytes));
    const BatchRows<Scalar> batch = reserve_rows(exec, problem, at_once, m_workspace);
    Kokkos::parallel_for("Elaphos::reset_jumps", Range(exec, 0, arguments.active_count), ResetJumps<Scalar>{arguments});
    for (std::int64_t first = 0; first < all; first += at_once) {
      const std::int64_t count = std::min(at_once, all - first);
      Kokkos::parallel_for("Elaphos::start_rows", Range(exec, 0, count),
                           StartRowsOfSteps<Scalar>{arguments, batch.rows, first});
      for_each_row("Elaphos::gather_rows", exec, count, D, GatherRows<ExecutionSpace, Scalar>{arguments, batch});
      evaluate_rows(exec, m_recurrence, problem, batch, count);
      for_each_row("Elaphos::measure_rows", exec, count, D, MeasureRows<ExecutionSpace, Scalar>{arguments, batch});
    }
  }

  const R& m_recurrence;
  Workspace<ExecutionSpace>& m_workspace;
};

}  // namespace elaphos::impl

#endif
