// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "instantiate.hpp"

#define ELAPHOS_INSTANTIATE(Space) ELAPHOS_INSTANTIATE_LINEAR(Space, float)
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
