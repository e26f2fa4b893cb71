// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy_rows.hpp"

#define ELAPHOS_INSTANTIATE_FOR(Space, Number)                                                               \
  template void elaphos::impl::copy_rows<Space, Number>(const Space&, const elaphos::impl::RowCopy<Number>&, \
                                                        const elaphos::impl::DropoutMask<Number>&);
#define ELAPHOS_INSTANTIATE_FINAL(Space, Number)                              \
  template void elaphos::impl::copy_final_states<Space, Number>(const Space&, \
                                                                const elaphos::impl::FinalStateCopy<Number>&);
#define ELAPHOS_INSTANTIATE(Space)        \
  ELAPHOS_INSTANTIATE_FOR(Space, bool)    \
  ELAPHOS_INSTANTIATE_FOR(Space, float)   \
  ELAPHOS_INSTANTIATE_FOR(Space, double)  \
  ELAPHOS_INSTANTIATE_FINAL(Space, float) \
  ELAPHOS_INSTANTIATE_FINAL(Space, double)
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
