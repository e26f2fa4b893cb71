// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_PACK_HPP
#define ELAPHOS_IMPL_PACK_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

/// As many neighbouring numbers as a GPU's thread moves in one instruction: 16 bytes.
template <class Scalar>
struct alignas(16) Pack {
  static constexpr int size = sizeof(Scalar) < 16 ? int(16 / sizeof(Scalar)) : 1;
  Scalar v[size];
};

/// The pack at `from`, which must be aligned like one.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Pack<Scalar> read_pack(const Scalar* from) {
  return *reinterpret_cast<const Pack<Scalar>*>(from);
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION void write_pack(Scalar* to, const Pack<Scalar>& pack) {
  *reinterpret_cast<Pack<Scalar>*>(to) = pack;
}

KOKKOS_INLINE_FUNCTION bool aligned_for_packs(const void* data) { return reinterpret_cast<std::uintptr_t>(data) % 16 == 0; }

}  // namespace elaphos::impl

#endif
