// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_QUOTIENT_HPP
#define ELAPHOS_IMPL_QUOTIENT_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// a / b of a >= 0, b > 0. Devices divide numbers of 32 bits several times as fast as those of 64, and nearly all fit.
KOKKOS_FORCEINLINE_FUNCTION std::int64_t quotient(std::int64_t a, std::int64_t b) {
  if (((a | b) >> 32) == 0)
    return static_cast<std::int64_t>(static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b));
  return a / b;
}

}  // namespace elaphos::impl

#endif
