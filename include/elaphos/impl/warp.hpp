// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_WARP_HPP
#define ELAPHOS_IMPL_WARP_HPP

#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>

// Threads of a CUDA warp exchange registers and wait for each other without a barrier of the team: neighbours of 32
// ranks in a team without vector lanes. Kokkos has no portable word for it; elsewhere the team's barrier serves.
#if defined(__CUDA_ARCH__)
#define ELAPHOS_HAS_WARPS 1
#else
#define ELAPHOS_HAS_WARPS 0
#endif

namespace elaphos::impl {

inline constexpr int warp_size = 32;

/// The same, known on both sides: whether teams of this kind have warps.
template <class Member>
inline constexpr bool member_has_warps =
#if defined(KOKKOS_ENABLE_CUDA)
    std::is_same_v<Member, typename Kokkos::TeamPolicy<Kokkos::Cuda>::member_type>;
#else
    false;
#endif

/// Makes what a warp's threads have written to scratch memory visible to each other.
template <class Member>
KOKKOS_FORCEINLINE_FUNCTION void sync_warp([[maybe_unused]] const Member& member) {
#if ELAPHOS_HAS_WARPS
  __syncwarp();
#else
  member.team_barrier();
#endif
}

/// The same for some whole warps of a team, `threads` in all, which have the barrier `id` to themselves; 0 is the team's.
template <int id, int threads, class Member>
KOKKOS_FORCEINLINE_FUNCTION void sync_warps([[maybe_unused]] const Member& member) {
  static_assert(id > 0 && threads % warp_size == 0);
#if ELAPHOS_HAS_WARPS
  asm volatile("bar.sync %0, %1;" ::"n"(id), "n"(threads) : "memory");
#else
  member.team_barrier();
#endif
}

/// Begins to copy a value of 4, 8 or 16 bytes from memory to scratch memory, past the registers where a device can; it is
/// there after `wait_for_copies`, for this thread.
template <class Value>
KOKKOS_FORCEINLINE_FUNCTION void copy_to_scratch(Value* to, const Value* from) {
  static_assert(sizeof(Value) == 4 || sizeof(Value) == 8 || sizeof(Value) == 16);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  const auto place = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(place), "l"(from), "n"(sizeof(Value)) : "memory");
#else
  *to = *from;
#endif
}

KOKKOS_FORCEINLINE_FUNCTION void wait_for_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Whether any of a warp's first `lanes` threads, which call it together, says so; where there are no warps, this one.
template <int lanes>
KOKKOS_FORCEINLINE_FUNCTION bool any_in_lanes(bool own) {
#if ELAPHOS_HAS_WARPS
  return __any_sync(0xffffffffu >> (warp_size - lanes), own) != 0;
#else
  return own;
#endif
}

/// The largest of their numbers, none of which is negative or NaN; `lanes` is a power of two.
template <int lanes, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar largest_in_lanes(Scalar own) {
#if ELAPHOS_HAS_WARPS
  constexpr unsigned threads = 0xffffffffu >> (warp_size - lanes);
#if __CUDA_ARCH__ >= 800
  if constexpr (std::is_same_v<Scalar, float>) {
    return __uint_as_float(__reduce_max_sync(threads, __float_as_uint(own)));  // ordered as their bits are
  }
#endif
  ELAPHOS_UNROLL
  for (int distance = 1; distance < lanes; distance *= 2) {
    const Scalar other = __shfl_xor_sync(threads, own, distance);
    if (other > own) own = other;
  }
#endif
  return own;
}

#if ELAPHOS_HAS_WARPS
/// A value of another thread, word by word.
template <class Value, class Shuffle>
__device__ inline Value shuffle_words(const Value& value, const Shuffle& shuffle) {
  static_assert(sizeof(Value) % sizeof(std::uint32_t) == 0);
  constexpr int words = sizeof(Value) / sizeof(std::uint32_t);
  std::uint32_t word[words];
  std::memcpy(word, &value, sizeof(Value));
  ELAPHOS_UNROLL
  for (int i = 0; i < words; ++i) word[i] = shuffle(word[i]);
  Value out;
  std::memcpy(&out, word, sizeof(Value));
  return out;
}

/// Whether any of the warp's threads says so.
__device__ inline bool any_in_warp(bool own) { return __any_sync(0xffffffffu, own) != 0; }

/// The value of the thread `distance` ranks before; its own where there is none in the warp.
template <class Value>
__device__ inline Value shuffle_up(const Value& value, int distance) {
  return shuffle_words(value, [=](std::uint32_t word) { return __shfl_up_sync(0xffffffffu, word, unsigned(distance)); });
}

/// The value of the warp's last thread, for all.
template <class Value>
__device__ inline Value shuffle_from_last(const Value& value) {
  return shuffle_words(value, [](std::uint32_t word) { return __shfl_sync(0xffffffffu, word, warp_size - 1); });
}

/// The value of the thread `distance` ranks behind; its own where there is none in the warp.
template <class Value>
__device__ inline Value shuffle_down(const Value& value, int distance) {
  return shuffle_words(value,
                       [=](std::uint32_t word) { return __shfl_down_sync(0xffffffffu, word, unsigned(distance)); });
}
#endif

}  // namespace elaphos::impl

#endif
