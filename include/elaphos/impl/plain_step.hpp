// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_PLAIN_STEP_HPP
#define ELAPHOS_IMPL_PLAIN_STEP_HPP

#include <elaphos/recurrence.hpp>

// Never inlined and never cloned: every pass of every kernel must run the same machine code for a step. Inlined beside
// a tangent, a compiler may fuse other products than it fuses alone, and the last bit changes.
#if defined(__clang__) || defined(__NVCC__)
#define ELAPHOS_IMPL_ONE_COPY __attribute__((noinline))
#elif defined(__GNUC__)
#define ELAPHOS_IMPL_ONE_COPY __attribute__((noipa))
#else
#define ELAPHOS_IMPL_ONE_COPY
#endif

namespace elaphos::impl {

/// The one compiled plain step of a recurrence: all next states come from here.
template <Recurrence R>
ELAPHOS_IMPL_ONE_COPY KOKKOS_FUNCTION void plain_step(const R& recurrence, StepContext at,
                                                      const typename R::scalar_type* y,
                                                      const typename R::scalar_type* x,
                                                      const typename R::scalar_type* p,
                                                      typename R::scalar_type* next) {
  recurrence.step(at, y, x, p, next);
}

}  // namespace elaphos::impl

#endif
