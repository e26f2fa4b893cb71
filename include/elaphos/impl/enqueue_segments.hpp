// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_ENQUEUE_SEGMENTS_HPP
#define ELAPHOS_IMPL_ENQUEUE_SEGMENTS_HPP

#include <elaphos/impl/solve_segments.hpp>
#include <elaphos/queued_report.hpp>

namespace elaphos::impl {

/// Throws `InvalidArgument` for options that take a host that waits.
void check_queueable(const SolveOptions& options, bool steps_by_host);

/// The segmented Newton iteration without waiting. Compiled in the library, as `solve_segments` is.
template <class ExecutionSpace, class Scalar>
void enqueue_segments(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                      const Problem<Scalar>& problem, const SolveOptions& options,
                      Workspace<ExecutionSpace>& workspace, QueuedReport* report);

}  // namespace elaphos::impl

#endif
