// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gated_propagator.hpp"

#include <elaphos/cells/minimal.hpp>

#define ELAPHOS_INSTANTIATE(Space) \
  template class elaphos::impl::GatedPropagator<Space, elaphos::impl::MinGruGates, float>;
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
#undef ELAPHOS_INSTANTIATE

#define ELAPHOS_INSTANTIATE(Space) template class elaphos::impl::GatedPropagator<Space, elaphos::impl::MinLstmGates, float>;
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
