// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gated_propagator.hpp"

#include <elaphos/cells/lem.hpp>

#define ELAPHOS_INSTANTIATE(Space) \
  template class elaphos::impl::GatedPropagator<Space, elaphos::impl::LemGates, double>;
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
