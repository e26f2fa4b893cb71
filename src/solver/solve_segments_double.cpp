// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queued_solver.hpp"
#include "solve_windows.hpp"

#define ELAPHOS_INSTANTIATE(Space)                                                                               \
  template elaphos::SolveReport elaphos::impl::solve_segments<Space, double>(                                    \
      const Space&, const elaphos::impl::Propagator<Space, double>&, const elaphos::impl::Problem<double>&,      \
      const elaphos::SolveOptions&, elaphos::Workspace<Space>&, elaphos::WarmStart<Space, double>*);             \
  template void elaphos::impl::enqueue_segments<Space, double>(                                                  \
      const Space&, const elaphos::impl::Propagator<Space, double>&, const elaphos::impl::Problem<double>&,      \
      const elaphos::SolveOptions&, elaphos::Workspace<Space>&, elaphos::QueuedReport*);
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
