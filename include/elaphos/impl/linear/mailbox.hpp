// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_MAILBOX_HPP
#define ELAPHOS_IMPL_LINEAR_MAILBOX_HPP

#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstring>

namespace elaphos::impl {

/// Numbers that teams leave for each other. Each 32 bits travel in a word of 64 with the mark that they are there, so
/// that a number and its arrival are one message, and no fence is waited for.
template <class Scalar>
struct Mailbox {
  using Word = unsigned long long;
  static_assert(sizeof(Scalar) % sizeof(std::uint32_t) == 0);
  static constexpr int words = sizeof(Scalar) / sizeof(std::uint32_t);
  static constexpr Word arrived = Word(1) << 32;
  Word* data;

  // Volatile accesses go past the caches that are not shared, and to 64 bits at once. (Kokkos::atomic_load would be a
  // compare-and-swap, and hundreds of threads that wait would block each other: 20 times slower on an H200.)
  KOKKOS_FORCEINLINE_FUNCTION void put(std::int64_t place, const Scalar& value) const {
    const Letter letter = of(value);
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) *const_cast<volatile Word*>(data + place * words + i) = letter.word[i];
  }

  /// A number on its way. Looking and checking are apart, so that a thread has several looks on their way at once.
  struct Letter {
    Word word[words];
  };
  KOKKOS_FORCEINLINE_FUNCTION Letter look(std::int64_t place) const {
    Letter letter;
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) letter.word[i] = *const_cast<const volatile Word*>(data + place * words + i);
    return letter;
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_there(const Letter& letter) {
    bool all = true;
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) all = all && (letter.word[i] & arrived) != 0;
    return all;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Letter of(const Scalar& value) {
    Letter letter;
    std::uint32_t from[words];
    std::memcpy(from, &value, sizeof(Scalar));
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) letter.word[i] = arrived | from[i];
    return letter;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar value(const Letter& letter) {
    std::uint32_t to[words];
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) to[i] = static_cast<std::uint32_t>(letter.word[i]);
    Scalar out;
    std::memcpy(&out, to, sizeof(Scalar));
    return out;
  }
};

/// Empties mailboxes.
struct ClearMailboxes {
  unsigned long long* words;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { words[i] = 0; }
};

}  // namespace elaphos::impl

#endif
