// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_TIME_DIVISION_HPP
#define ELAPHOS_IMPL_TIME_DIVISION_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Where the time axis of a solve holds more than one sequence, as kernels see it. Steps are those of the whole solve,
/// also in a window of it.
template <class Scalar>
struct TimeDivision {
  const std::int64_t* offsets = nullptr;  ///< (sequences + 1), where packed ones begin; else null
  std::int64_t sequences = 0;
  const bool* mask = nullptr;         ///< (T, B): false where the state stays as it is; null: nowhere
  const bool* resets = nullptr;       ///< (T, B): true where a step starts from y0; null: nowhere
  const Scalar* beginnings = nullptr;  ///< y0, (B, D), or (sequences, D) where packed

  KOKKOS_FORCEINLINE_FUNCTION bool divided() const {
    return offsets != nullptr || mask != nullptr || resets != nullptr;
  }
};

/// The last packed sequence that begins at `step` or before; those before it that begin there, too, are empty.
KOKKOS_INLINE_FUNCTION std::int64_t packed_sequence_at(const std::int64_t* offsets, std::int64_t sequences,
                                                       std::int64_t step) {
  std::int64_t first = 0, last = sequences - 1;
  while (first < last) {
    const std::int64_t middle = (first + last + 1) / 2;
    if (offsets[middle] <= step) {
      first = middle;
    } else {
      last = middle - 1;
    }
  }
  return first;
}

}  // namespace elaphos::impl

#endif
