// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solve_windows.hpp"

#define ELAPHOS_INSTANTIATE(Space)                                                                                 \
  template elaphos::SolveReport elaphos::impl::solve_segments<Space, double>(                                      \
      const Space&, const elaphos::impl::Propagator<Space, double>&, const elaphos::impl::Problem<double>&,        \
      const elaphos::SolveOptions&, elaphos::Workspace<Space>&, elaphos::WarmStart<Space, double>*);
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
