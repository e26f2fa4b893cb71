// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_DIVIDE_UP_HPP
#define ELAPHOS_IMPL_DIVIDE_UP_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// a / b, rounded up, for a >= 0 and b > 0.
KOKKOS_INLINE_FUNCTION constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace elaphos::impl

#endif
