// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy_rows.hpp"

#define ELAPHOS_INSTANTIATE(Space)                                                                           \
  template void elaphos::impl::copy_rows<Space, float>(const Space&, const elaphos::impl::RowCopy<float>&,   \
                                                       const elaphos::impl::DropoutMask<float>&);            \
  template void elaphos::impl::copy_rows<Space, double>(const Space&, const elaphos::impl::RowCopy<double>&, \
                                                        const elaphos::impl::DropoutMask<double>&);
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
