// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_PACK_HPP
#define ELAPHOS_IMPL_PACK_HPP

#include <elaphos/impl/unroll.hpp>

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

/// `count` neighbouring numbers, in packs where they lie so.
template <class Scalar, int count>
KOKKOS_FORCEINLINE_FUNCTION void read_numbers(const Scalar* from, Scalar (&to)[count]) {
  constexpr int pack = Pack<Scalar>::size;
  if constexpr (count % pack == 0 && pack > 1) {
    if (aligned_for_packs(from)) {
      ELAPHOS_UNROLL
      for (int e = 0; e < count; e += pack) {
        const Pack<Scalar> some = read_pack(from + e);
        ELAPHOS_UNROLL
        for (int v = 0; v < pack; ++v) to[e + v] = some.v[v];
      }
      return;
    }
  }
  ELAPHOS_UNROLL
  for (int e = 0; e < count; ++e) to[e] = from[e];
}

template <class Scalar, int count>
KOKKOS_FORCEINLINE_FUNCTION void write_numbers(Scalar* to, const Scalar (&from)[count]) {
  constexpr int pack = Pack<Scalar>::size;
  if constexpr (count % pack == 0 && pack > 1) {
    if (aligned_for_packs(to)) {
      ELAPHOS_UNROLL
      for (int e = 0; e < count; e += pack) {
        Pack<Scalar> some;
        ELAPHOS_UNROLL
        for (int v = 0; v < pack; ++v) some.v[v] = from[e + v];
        write_pack(to + e, some);
      }
      return;
    }
  }
  ELAPHOS_UNROLL
  for (int e = 0; e < count; ++e) to[e] = from[e];
}

}  // namespace elaphos::impl

#endif
