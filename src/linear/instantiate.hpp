// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_LINEAR_INSTANTIATE_HPP
#define ELAPHOS_SRC_LINEAR_INSTANTIATE_HPP

#include "../execution_spaces.hpp"

#include <elaphos/impl/linear/linear_gradient.hpp>
#include <elaphos/impl/linear/linear_solver.hpp>

#define ELAPHOS_INSTANTIATE_LINEAR(Space, Scalar)                                                                 \
  template void elaphos::impl::solve_linear<Space, Scalar>(                                                       \
      const Space&, const elaphos::impl::LinearProblem<Scalar>&, const elaphos::LinearOptions&,                   \
      elaphos::Workspace<Space>&);                                                                                \
  template void elaphos::impl::compose_linear<Space, Scalar>(const Space&,                                        \
                                                             const elaphos::impl::LinearProblem<Scalar>&, Scalar*, \
                                                             Scalar*, elaphos::Workspace<Space>&);                \
  template void elaphos::impl::linear_gradients<Space, Scalar>(                                                   \
      const Space&, const elaphos::impl::LinearProblem<Scalar>&, const Scalar*,                                   \
      const elaphos::impl::LinearGradients<Scalar>&, elaphos::Workspace<Space>&);

#endif
