// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_NOTICE_BOARD_HPP
#define ELAPHOS_IMPL_LINEAR_NOTICE_BOARD_HPP

#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstring>

namespace elaphos::impl {

/// Groups of `count` numbers that teams leave for each other, in words of 64 bits that are zero at first and then hold
/// the numbers' bits, inverted. So zero says that nothing is there yet: of numbers only a NaN would look so, for which
/// another NaN does. Half as long as a `Mailbox`'s letters, which counts where a message is a whole map.
template <class Scalar, int count>
struct NoticeBoard {
  using Word = unsigned long long;
  static_assert(sizeof(Word) % sizeof(Scalar) == 0);
  static constexpr int in_a_word = int(sizeof(Word) / sizeof(Scalar));
  static constexpr int words = (count + in_a_word - 1) / in_a_word;
  Word* data;
  std::int64_t places;  // the same word of all places lies side by side

  struct Notice {
    Word word[words];
  };

  // Volatile accesses go past the caches that are not shared, and to 64 bits at once.
  KOKKOS_FORCEINLINE_FUNCTION void put(std::int64_t place, const Scalar (&numbers)[count]) const {
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) {
      Scalar of_word[in_a_word];
      ELAPHOS_UNROLL
      for (int v = 0; v < in_a_word; ++v) of_word[v] = numbers[i * in_a_word + v < count ? i * in_a_word + v : 0];
      Word word;
      std::memcpy(&word, of_word, sizeof(Word));
      *const_cast<volatile Word*>(data + i * places + place) = word == ~Word(0) ? Word(1) : ~word;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Notice look(std::int64_t place) const {
    Notice notice;
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) notice.word[i] = *const_cast<const volatile Word*>(data + i * places + place);
    return notice;
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_there(const Notice& notice) {
    bool all = true;
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) all = all && notice.word[i] != 0;
    return all;
  }

  KOKKOS_FORCEINLINE_FUNCTION static void get(const Notice& notice, Scalar (&numbers)[count]) {
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) {
      Scalar of_word[in_a_word];
      const Word word = ~notice.word[i];
      std::memcpy(of_word, &word, sizeof(Word));
      ELAPHOS_UNROLL
      for (int v = 0; v < in_a_word; ++v) {
        if (i * in_a_word + v < count) numbers[i * in_a_word + v] = of_word[v];
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
