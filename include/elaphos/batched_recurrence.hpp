// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_BATCHED_RECURRENCE_HPP
#define ELAPHOS_BATCHED_RECURRENCE_HPP

#include <elaphos/recurrence.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>

namespace elaphos {

/// \brief The rows that one call of a batched recurrence's `step` advances, each by one step and each for itself.
///
/// Row r is step at(r).t of sequence at(r).b: it reads y(r, :) and x(r, :) and writes the whole of next(r, :). Rows
/// come from any steps, in any order, and the same one may come twice. All Views are contiguous, do not overlap, and
/// are valid for kernels enqueued during the call.
template <class ExecutionSpace, class Scalar>
struct StepBatch {
  template <class Data>
  using Unmanaged =
      Kokkos::View<Data, Kokkos::LayoutRight, typename ExecutionSpace::memory_space, Kokkos::MemoryUnmanaged>;

  std::int64_t count;                ///< rows, >= 1
  Unmanaged<const StepContext*> at;  ///< (count)
  Unmanaged<const Scalar**> y;       ///< (count, D), the states to start from
  Unmanaged<const Scalar**> x;       ///< (count, I), the inputs
  Unmanaged<Scalar**> next;          ///< (count, D), to be written; what it holds before is of no meaning

  using Diagonal = Unmanaged<Scalar**>;  ///< (count, D), to be written like `next`
};

namespace impl {

/// What tells a batched recurrence from one that runs in a thread: its sizes are functions.
template <class R>
concept HasRunTimeSizes = std::floating_point<typename R::scalar_type> && requires(const R& recurrence) {
  { recurrence.state_size() } -> std::convertible_to<int>;
  { recurrence.input_size() } -> std::convertible_to<int>;
};

}  // namespace impl

/// \brief What a recurrence must offer whose step is a set of kernels, launched from the host for many rows at once.
///
/// - `scalar_type`: float or double; `state_size()` (D >= 1) and `input_size()` (I >= 0), which do not change during a
/// solve;
/// - `step(exec, batch)`, const: enqueues on `exec`, and nowhere else, what writes next(r, :) for every row of a
///   `StepBatch`. It need not wait. It has no side effects, and the bits of next(r, :) depend on nothing but y(r, :),
///   x(r, :) and at(r): not on the other rows, their number or the row's place (`check_recurrence` looks);
/// - optional `rows_at_a_time()` (>= 1): rows that keep the device busy. The planner makes about so many segments; without
///   it `exec.concurrency()`;
/// - optional `step_with_diagonal(exec, batch, diagonal)`: what `step` does, to the last bit, and diagonal(r, i) =
///   d next(r, i) / d y(r, i) in a `StepBatch::Diagonal`. With it the quasi methods and merges within a tolerance are possible.
template <class R, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
concept BatchedRecurrence = impl::HasRunTimeSizes<R> &&
    requires(const R& recurrence, const ExecutionSpace& exec,
             const StepBatch<ExecutionSpace, typename R::scalar_type>& batch) {
  recurrence.step(exec, batch);
};

/// \brief A batched recurrence that also knows the diagonal of its Jacobian.
template <class R, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
concept BatchedRecurrenceWithDiagonal = BatchedRecurrence<R, ExecutionSpace> &&
    requires(const R& recurrence, const ExecutionSpace& exec,
             const StepBatch<ExecutionSpace, typename R::scalar_type>& batch,
             const typename StepBatch<ExecutionSpace, typename R::scalar_type>::Diagonal& diagonal) {
  recurrence.step_with_diagonal(exec, batch, diagonal);
};

}  // namespace elaphos

#endif
