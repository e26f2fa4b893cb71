// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_ENQUEUE_SOLVE_HPP
#define ELAPHOS_ENQUEUE_SOLVE_HPP

#include <elaphos/impl/enqueue_segments.hpp>
#include <elaphos/queued_report.hpp>
#include <elaphos/solve.hpp>

#include <type_traits>

namespace elaphos {

/// \brief `solve` without waiting: everything is launched on `exec`, in order, and the call returns.
///
/// Kernels decide what the host would. So all `options.max_iterations` passes are launched, needed or not: ask for as few
/// as the recurrence takes (a `solve` tells), 3 or 4 where it forgets; what they leave is run step by step, or reported.
/// The plan is made before, and kept: no probing, no stalls, no change of method.
///
/// \param report     a rank-0 View of a `QueuedReport` that `exec` can reach; read it after a fence of `exec`
/// \param workspace  must live, with the Views and the recurrence's own data, until `exec` has run it all. The call waits
///                   where the workspace has to grow; a second one of the same size does not
/// \throws InvalidArgument as `solve` does, and for what takes a host that waits: batched steps, damped methods, windows,
///         an observer, `measure_time`, `estimate_growth`, `sensitivity_limit`, exceptions at the limit
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView, class ReportView>
void enqueue_solve(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0, const InputView& x,
                   const OutputView& y, const ReportView& report, const SolveOptions& options,
                   Workspace<ExecutionSpace>& workspace) {
  using Traits = impl::TraitsOf<R>;
  static_assert(!BatchedRecurrence<R, ExecutionSpace>,
                "Elaphos: the host calls the steps of a batched recurrence, and waits in between; use solve");
  static_assert(Kokkos::is_view_v<ReportView> && ReportView::rank == 0 &&
                    std::is_same_v<typename ReportView::value_type, QueuedReport>,
                "Elaphos: report is a Kokkos::View<elaphos::QueuedReport, ...> of rank 0");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename ReportView::memory_space>::accessible,
                "Elaphos: the execution space cannot reach the report; put it into the space's memory");
  impl::check_options(options);
  const auto problem = impl::problem_of<ExecutionSpace>(recurrence, y0, x, y, options);
  const auto propagator = Traits::propagator(exec, recurrence, workspace);
  impl::enqueue_segments<ExecutionSpace, typename Traits::scalar_type>(exec, propagator, problem, options, workspace,
                                                                       report.data());
}

}  // namespace elaphos

#endif
