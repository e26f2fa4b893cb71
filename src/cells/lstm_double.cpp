// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "gated_propagator.hpp"

#include <elaphos/cells/lstm.hpp>

// One file a cell and scalar: these kernels take most of the library's compile time.
#define ELAPHOS_INSTANTIATE(Space) template class elaphos::impl::GatedPropagator<Space, elaphos::impl::LstmGates, double>;
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
