// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_LANE_VECTOR_HPP
#define ELAPHOS_SRC_CELLS_LANE_VECTOR_HPP

#include <elaphos/impl/scalar.hpp>

#if defined(__FMA__) && defined(__GNUC__) && !defined(__CUDACC__) && !defined(__HIPCC__)
#include <immintrin.h>
#define ELAPHOS_HAS_LANE_VECTORS 1
#else
#define ELAPHOS_HAS_LANE_VECTORS 0
#endif

namespace elaphos::impl {

/// Numbers that the processor's longest vectors hold.
#if defined(__AVX512F__)
template <class Scalar>
inline constexpr int longest_vector = int(64 / sizeof(Scalar));
#else
template <class Scalar>
inline constexpr int longest_vector = int(32 / sizeof(Scalar));
#endif

/// `count` neighbouring numbers: a register, where the compiler has a type for it and the processor fused
/// multiply-adds, so that sums stay there; else an array, for the compiler to make vector code of.
template <class Scalar, int count = longest_vector<Scalar>>
struct LaneVector {
  Scalar v[count];

  LaneVector() = default;
  explicit LaneVector(Scalar number) {
    for (int lane = 0; lane < count; ++lane) v[lane] = number;
  }
  void read(const Scalar* from) {
    for (int lane = 0; lane < count; ++lane) v[lane] = from[lane];
  }
  void write(Scalar* to) const {
    for (int lane = 0; lane < count; ++lane) to[lane] = v[lane];
  }
  /// Adds a * b as `multiply_add` does.
  void add_product(const LaneVector& a, const LaneVector& b) {
    for (int lane = 0; lane < count; ++lane) v[lane] = multiply_add(a.v[lane], b.v[lane], v[lane]);
  }
};

#if ELAPHOS_HAS_LANE_VECTORS
// Intrinsics, as a product and a sum of vectors may or may not be fused.
#define ELAPHOS_LANE_VECTOR(Scalar, count, Register, prefix, suffix)                                         \
  template <>                                                                                                \
  struct LaneVector<Scalar, count> {                                                                         \
    Register v;                                                                                              \
                                                                                                             \
    LaneVector() = default;                                                                                  \
    explicit LaneVector(Scalar number) : v(prefix##_set1_##suffix(number)) {}                                \
    void read(const Scalar* from) { v = prefix##_loadu_##suffix(from); }                                     \
    void write(Scalar* to) const { prefix##_storeu_##suffix(to, v); }                                        \
    void add_product(const LaneVector& a, const LaneVector& b) { v = prefix##_fmadd_##suffix(a.v, b.v, v); } \
  };
ELAPHOS_LANE_VECTOR(float, 4, __m128, _mm, ps)
ELAPHOS_LANE_VECTOR(float, 8, __m256, _mm256, ps)
ELAPHOS_LANE_VECTOR(double, 2, __m128d, _mm, pd)
ELAPHOS_LANE_VECTOR(double, 4, __m256d, _mm256, pd)
#if defined(__AVX512F__)
ELAPHOS_LANE_VECTOR(float, 16, __m512, _mm512, ps)
ELAPHOS_LANE_VECTOR(double, 8, __m512d, _mm512, pd)
#endif
#undef ELAPHOS_LANE_VECTOR
#endif

}  // namespace elaphos::impl

#endif
