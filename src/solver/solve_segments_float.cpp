// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "queued_solver.hpp"
#include "solve_windows.hpp"

#define ELAPHOS_INSTANTIATE(Space)                                                                               \
  template elaphos::SolveReport elaphos::impl::solve_segments<Space, float>(                                    \
      const Space&, const elaphos::impl::Propagator<Space, float>&, const elaphos::impl::Problem<float>&,      \
      const elaphos::SolveOptions&, elaphos::Workspace<Space>&, elaphos::WarmStart<Space, float>*);             \
  template void elaphos::impl::enqueue_segments<Space, float>(                                                  \
      const Space&, const elaphos::impl::Propagator<Space, float>&, const elaphos::impl::Problem<float>&,      \
      const elaphos::SolveOptions&, elaphos::Workspace<Space>&, elaphos::QueuedReport*);
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
