// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_VECTOR_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_VECTOR_HPP

#include <Kokkos_Core.hpp>

#include <cstring>
#include <type_traits>

// GCC's and clang's vector types, which other compilers lack and nvcc's front end does not know.
#if defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__) && !defined(SYCL_LANGUAGE_VERSION)
#define ELAPHOS_HAS_HOST_VECTORS 1
#else
#define ELAPHOS_HAS_HOST_VECTORS 0
#endif

namespace elaphos::impl {

#if ELAPHOS_HAS_HOST_VECTORS
template <class Scalar>
inline constexpr bool has_host_vectors = std::is_same_v<Scalar, float> || std::is_same_v<Scalar, double>;

/// As many numbers as a 256 bits' register holds, side by side; where registers are shorter it takes two.
template <class Scalar>
struct HostVector {
  static constexpr int lanes = int(32 / sizeof(Scalar));
  typedef Scalar Type __attribute__((vector_size(32)));
  Type v;

  void read(const Scalar* from) { std::memcpy(&v, from, sizeof v); }
  void write(Scalar* to) const { std::memcpy(to, &v, sizeof v); }
};

/// Lane c of row r and lane r of row c change places, in orders that leave halves of a register alone but for the last.
inline void transpose(HostVector<float> (&row)[8]) {
  HostVector<float> a[8], b[8];
  for (int r = 0; r < 8; r += 2) {
    a[r].v = __builtin_shufflevector(row[r].v, row[r + 1].v, 0, 8, 1, 9, 4, 12, 5, 13);
    a[r + 1].v = __builtin_shufflevector(row[r].v, row[r + 1].v, 2, 10, 3, 11, 6, 14, 7, 15);
  }
  for (int r = 0; r < 8; r += 4) {
    for (int i = 0; i < 2; ++i) {
      b[r + 2 * i].v = __builtin_shufflevector(a[r + i].v, a[r + i + 2].v, 0, 1, 8, 9, 4, 5, 12, 13);
      b[r + 2 * i + 1].v = __builtin_shufflevector(a[r + i].v, a[r + i + 2].v, 2, 3, 10, 11, 6, 7, 14, 15);
    }
  }
  for (int r = 0; r < 4; ++r) {
    row[r].v = __builtin_shufflevector(b[r].v, b[r + 4].v, 0, 1, 2, 3, 8, 9, 10, 11);
    row[r + 4].v = __builtin_shufflevector(b[r].v, b[r + 4].v, 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
inline void transpose(HostVector<double> (&row)[4]) {
  HostVector<double> a[4];
  for (int r = 0; r < 4; r += 2) {
    a[r].v = __builtin_shufflevector(row[r].v, row[r + 1].v, 0, 4, 2, 6);
    a[r + 1].v = __builtin_shufflevector(row[r].v, row[r + 1].v, 1, 5, 3, 7);
  }
  for (int r = 0; r < 2; ++r) {
    row[r].v = __builtin_shufflevector(a[r].v, a[r + 2].v, 0, 1, 4, 5);
    row[r + 2].v = __builtin_shufflevector(a[r].v, a[r + 2].v, 2, 3, 6, 7);
  }
}
#else
template <class Scalar>
inline constexpr bool has_host_vectors = false;
#endif

/// Asks for a line of memory that will be read soon, where the compiler has a word for it.
inline void read_soon([[maybe_unused]] const void* line) {
#if ELAPHOS_HAS_HOST_VECTORS
  __builtin_prefetch(line, 0, 2);
#endif
}

}  // namespace elaphos::impl

#endif
