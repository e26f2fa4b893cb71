// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CHECK_RECURRENCE_HPP
#define ELAPHOS_CHECK_RECURRENCE_HPP

#include <elaphos/impl/lane_batch.hpp>
#include <elaphos/impl/row_checker.hpp>
#include <elaphos/solve.hpp>

#include <cstdint>
#include <string>

namespace elaphos {

/// \brief Looks whether the bits of a step depend on anything but its state, input, t and b.
///
/// Evaluates random steps alone, then again, then in batches of other sizes and orders, and compares bits. What it
/// finds is an error in the recurrence: exact answers and the iteration's end rest on this promise. That it finds
/// nothing proves nothing. It waits for the execution space, and allocates.
///
/// \param recurrence  a `BatchedRecurrence`, a `TeamRecurrence`, a `Recurrence`, or `bind_parameters(recurrence, p)`
/// \param y0          initial states (B, D)
/// \param x           inputs (T, B, I); empty for a recurrence without inputs
/// \param y           (T, B, D), a trajectory such as a solve has left: the states to step from. It is not written
/// \param samples     how many steps are drawn, at least 1; takes memory for so many rows
/// \throws InvalidArgument for shapes, sizes or `samples` that make no sense
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
RecurrenceCheck check_recurrence(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0,
                                 const InputView& x, const OutputView& y, int samples = 256, std::uint64_t seed = 1) {
  const auto problem = impl::problem_of<ExecutionSpace>(recurrence, y0, x, y, SolveOptions{});
  if (samples < 1) throw InvalidArgument("samples", std::to_string(samples), "at least 1");
  const auto& batched = impl::as_batched(recurrence);
  impl::check_sizes(batched);
  return impl::RowChecker(exec, batched, problem, samples, seed).run();
}

}  // namespace elaphos

#endif
