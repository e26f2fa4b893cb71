// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_PHILOX_HPP
#define ELAPHOS_IMPL_LAYERS_PHILOX_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

struct PhiloxWords {
  std::uint32_t v[4];
};

struct PhiloxKey {
  std::uint32_t v[2];
};

/// Philox 4x32 with ten rounds: four random words that are a function of a counter and a key alone (Salmon et al., SC
/// 2011), so that nobody keeps a generator's state. 20 products of 32 by 32 bits.
KOKKOS_INLINE_FUNCTION PhiloxWords philox_4x32_10(PhiloxWords counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t even = std::uint64_t(0xD2511F53u) * counter.v[0];
    const std::uint64_t odd = std::uint64_t(0xCD9E8D57u) * counter.v[2];
    counter = {{static_cast<std::uint32_t>(odd >> 32) ^ counter.v[1] ^ key.v[0], static_cast<std::uint32_t>(odd),
                static_cast<std::uint32_t>(even >> 32) ^ counter.v[3] ^ key.v[1], static_cast<std::uint32_t>(even)}};
    key = {{key.v[0] + 0x9E3779B9u, key.v[1] + 0xBB67AE85u}};
  }
  return counter;
}

}  // namespace elaphos::impl

#endif
