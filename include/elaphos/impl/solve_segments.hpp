// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_SOLVE_SEGMENTS_HPP
#define ELAPHOS_IMPL_SOLVE_SEGMENTS_HPP

#include <elaphos/impl/architecture.hpp>
#include <elaphos/impl/propagator.hpp>
#include <elaphos/options.hpp>
#include <elaphos/report.hpp>
#include <elaphos/warm_start.hpp>
#include <elaphos/workspace.hpp>

namespace elaphos::impl {

/// Throws `InvalidArgument` for options that no solve can follow.
void check_options(const SolveOptions& options);

/// The segmented Newton iteration; `warm_start` may be null. Compiled in the library for float and double on every enabled execution space.
template <class ExecutionSpace, class Scalar>
PlanRequest request_of(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                       std::int64_t steps, std::int64_t batch, int state_size) {
  const Lockstep lockstep = propagator.lockstep();
  return {steps,
          batch,
          state_size,
          propagator.parallel_workers(exec),
          propagator.has_jacobian(),
          propagator.has_jacobian_times(),
          propagator.jacobian_blocks().size > 0,
          architecture_of(exec),
          propagator.jacobian_cost(),
          lockstep.segments,
          lockstep.gain,
          propagator.has_jacobian_diagonal()};
}

template <class ExecutionSpace, class Scalar>
SolveReport solve_segments(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                           const Problem<Scalar>& problem, const SolveOptions& options,
                           Workspace<ExecutionSpace>& workspace, WarmStart<ExecutionSpace, Scalar>* warm_start);

}  // namespace elaphos::impl

#endif
