// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_LITTLE_WORK_HPP
#define ELAPHOS_SRC_SOLVER_LITTLE_WORK_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

// Between two passes a handful of kernels goes over the nodes. On a host there may be 64 of those, and the calling
// thread is done with them before another one has been told: a launch takes some four microseconds.

/// Whether the calling thread does so many entries itself: only where launches are waited for anyway.
template <class ExecutionSpace>
bool is_little_work([[maybe_unused]] std::int64_t entries) {
#if defined(KOKKOS_ENABLE_OPENMP)
  if constexpr (std::is_same_v<ExecutionSpace, Kokkos::OpenMP>) return entries <= 128;
#endif
  return false;
}

template <class Kernel>
void do_each(std::int64_t entries, const Kernel& kernel) {
  for (std::int64_t index = 0; index < entries; ++index) kernel(index);
}

/// What a kernel reduces its entries to.
template <class Value, class Kernel>
Value reduce_each(std::int64_t entries, const Kernel& kernel) {
  Value result{};
  if constexpr (requires { kernel.init(result); }) kernel.init(result);
  for (std::int64_t index = 0; index < entries; ++index) kernel(index, result);
  return result;
}

}  // namespace elaphos::impl

#endif
