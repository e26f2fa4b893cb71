// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_INPUT_BLOCKS_HPP
#define ELAPHOS_IMPL_INPUT_BLOCKS_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The inputs of all steps, as kernels see them: one or several arrays (T, B, I_k), whose rows stand one behind the
/// other in a step's input. An entry is t B + b.
template <class Scalar>
struct InputBlocks {
  static constexpr int most = 8;

  const Scalar* data[most];
  int sizes[most];  ///< I_k
  int count;        ///< >= 1; a recurrence without input has one block of size 0
  int size;         ///< their sum I

  KOKKOS_FORCEINLINE_FUNCTION const Scalar* row(int block, std::int64_t entry) const {
    return data[block] + entry * sizes[block];
  }

  /// The whole input of an entry: where it stands, or, if that is in several places, gathered into `room` (I numbers).
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* gathered(std::int64_t entry, Scalar* room) const {
    if (count == 1) return row(0, entry);
    for_each(entry, [&](int i, const Scalar& number) { room[i] = number; });
    return room;
  }

  /// body(i, x_i) for all numbers of an entry.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(std::int64_t entry, const Body& body) const {
    int first = 0;
    for (int block = 0; block < count; ++block) {
      const Scalar* from = row(block, entry);
      for (int i = 0; i < sizes[block]; ++i) body(first + i, from[i]);
      first += sizes[block];
    }
  }

  /// The same inputs from `entries` entries later on.
  InputBlocks from(std::int64_t entries) const {
    InputBlocks later = *this;
    for (int block = 0; block < count; ++block) {
      if (data[block] != nullptr) later.data[block] += entries * sizes[block];
    }
    return later;
  }
};

}  // namespace elaphos::impl

#endif
