// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_AFFINE_MAP_HPP
#define ELAPHOS_IMPL_LINEAR_AFFINE_MAP_HPP

#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Complex.hpp>
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace elaphos::impl {

/// a * b + c; fused for real numbers where the machine does so.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar multiply_add_any(const Scalar& a, const Scalar& b, const Scalar& c) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return multiply_add(a, b, c);
  } else {
    return a * b + c;
  }
}

template <class Scalar>
inline constexpr bool is_complex = false;
template <class Real>
inline constexpr bool is_complex<Kokkos::complex<Real>> = true;

/// What stands for an infinite product: of complex numbers one part is infinite and the other NaN, which counts as
/// lost.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar overflowed() {
  if constexpr (is_complex<Scalar>) {
    constexpr auto infinity = Kokkos::Experimental::infinity_v<typename Scalar::value_type>;
    return Scalar(infinity, infinity);
  } else {
    return Kokkos::Experimental::infinity_v<Scalar>;
  }
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool is_nan(const Scalar& a) {
  if constexpr (std::is_floating_point_v<Scalar>) {
    return !(a == a);
  } else if constexpr (is_complex<Scalar>) {
    return !(a.real() == a.real()) || !(a.imag() == a.imag());
  } else {
    return false;  // exact numbers, as in tests
  }
}

/// Numbers that can be NaN; not so exact ones, as in tests.
template <class Scalar>
inline constexpr bool can_be_nan = std::is_floating_point_v<Scalar> || is_complex<Scalar>;

/// A coefficient times a state or an earlier coefficient, where a zero wins over an infinity: products of coefficients
/// may overflow where no state does (2^128 in float), and 0 * Inf would then spoil states that are exactly 0. Not over
/// NaN, except in packed sequences (`over_nan`), where a sequence's first step has zeros for coefficients and nothing
/// may get past it.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar overflow_safe_product(const Scalar& coefficient, const Scalar& other,
                                                         bool over_nan) {
  const Scalar product = coefficient * other;
  if constexpr (can_be_nan<Scalar>) {
    if (!is_nan(product)) return product;
    if (over_nan && coefficient == Scalar(0)) return Scalar(0);
    if (is_nan(coefficient) || is_nan(other)) return product;
    return coefficient == Scalar(0) || other == Scalar(0) ? Scalar(0) : overflowed<Scalar>();
  } else {
    return product;
  }
}

/// y -> A y + b on states of `size` numbers. Composition does not commute.
template <class Scalar, int size>
struct AffineMap {
  Scalar A[size][size];
  Scalar b[size];

  KOKKOS_FORCEINLINE_FUNCTION void set_identity() {
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) A[r][c] = Scalar(r == c ? 1 : 0);
      b[r] = Scalar(0);
    }
  }

  /// A from its numbers row by row, and to them.
  KOKKOS_FORCEINLINE_FUNCTION void set_matrix(const Scalar (&numbers)[size * size]) {
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) A[r][c] = numbers[r * size + c];
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void get_matrix(Scalar (&numbers)[size * size]) const {
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) numbers[r * size + c] = A[r][c];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION bool has_nan() const {
    if constexpr (!can_be_nan<Scalar>) return false;
    bool found = false;
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) found = found || is_nan(A[r][c]);
      found = found || is_nan(b[r]);
    }
    return found;
  }

  /// state <- A state + b as the loop does it: infinities and NaN are what they are.
  KOKKOS_FORCEINLINE_FUNCTION void step(Scalar (&state)[size]) const {
    Scalar next[size];
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      next[r] = b[r];
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) next[r] = multiply_add_any(A[r][c], state[c], next[r]);
    }
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) state[r] = next[r];
  }

  /// The same for a composed map, whose A may have overflowed; `over_nan` as in overflow_safe_product.
  KOKKOS_FORCEINLINE_FUNCTION void leap(Scalar (&state)[size], bool over_nan) const {
    if constexpr (!can_be_nan<Scalar>) return step(state);
    Scalar next[size];
    bool suspect = false;
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      next[r] = b[r];
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) next[r] = multiply_add_any(A[r][c], state[c], next[r]);
      suspect = suspect || is_nan(next[r]);
    }
    if (suspect) {
      ELAPHOS_UNROLL
      for (int r = 0; r < size; ++r) {
        next[r] = b[r];
        ELAPHOS_UNROLL
        for (int c = 0; c < size; ++c) next[r] = next[r] + overflow_safe_product(A[r][c], state[c], over_nan);
      }
    }
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) state[r] = next[r];
  }
};

/// The map that applies `earlier`, then `later`: size^3 + size^2 multiply-adds. NaN where a zero meets an infinity.
template <class Scalar, int size>
KOKKOS_FORCEINLINE_FUNCTION AffineMap<Scalar, size> compose_plainly(const AffineMap<Scalar, size>& earlier,
                                                                    const AffineMap<Scalar, size>& later) {
  AffineMap<Scalar, size> out;
  ELAPHOS_UNROLL
  for (int r = 0; r < size; ++r) {
    ELAPHOS_UNROLL
    for (int c = 0; c < size; ++c) {
      Scalar sum = later.A[r][0] * earlier.A[0][c];
      ELAPHOS_UNROLL
      for (int k = 1; k < size; ++k) sum = multiply_add_any(later.A[r][k], earlier.A[k][c], sum);
      out.A[r][c] = sum;
    }
    out.b[r] = later.b[r];
    ELAPHOS_UNROLL
    for (int k = 0; k < size; ++k) out.b[r] = multiply_add_any(later.A[r][k], earlier.b[k], out.b[r]);
  }
  return out;
}

/// The same where a zero wins over an infinity; `over_nan` as in overflow_safe_product.
template <class Scalar, int size>
KOKKOS_FORCEINLINE_FUNCTION AffineMap<Scalar, size> compose(const AffineMap<Scalar, size>& earlier,
                                                            const AffineMap<Scalar, size>& later, bool over_nan) {
  AffineMap<Scalar, size> out = compose_plainly(earlier, later);
  if constexpr (!can_be_nan<Scalar>) return out;
  if (!out.has_nan()) return out;
  // Rare: a zero met an infinity, or there is a NaN, which stays. It may cost time, but not the kernels' instruction
  // cache, of which it took nine tenths when unrolled: loops over copies, which then lie in memory by themselves.
  const AffineMap<Scalar, size> first = earlier, second = later;
  AffineMap<Scalar, size> with_care;
  ELAPHOS_UNROLL_BY(1)
  for (int r = 0; r < size; ++r) {
    ELAPHOS_UNROLL_BY(1)
    for (int c = 0; c <= size; ++c) {
      Scalar sum = c < size ? Scalar(0) : second.b[r];
      ELAPHOS_UNROLL_BY(1)
      for (int k = 0; k < size; ++k) {
        sum = sum + overflow_safe_product(second.A[r][k], c < size ? first.A[k][c] : first.b[k], over_nan);
      }
      if (c < size) {
        with_care.A[r][c] = sum;
      } else {
        with_care.b[r] = sum;
      }
    }
  }
  return with_care;
}

/// Two ways to compose, for code that composes plainly first, and again with care where a NaN has come out: a NaN stays
/// in whatever is composed of it, so one look at the end is enough.
struct Plainly {
  template <class Map>
  KOKKOS_FORCEINLINE_FUNCTION Map operator()(const Map& earlier, const Map& later) const {
    return compose_plainly(earlier, later);
  }
};
struct WithCare {
  bool over_nan;
  template <class Map>
  KOKKOS_FORCEINLINE_FUNCTION Map operator()(const Map& earlier, const Map& later) const {
    return compose(earlier, later, over_nan);
  }
};

}  // namespace elaphos::impl

#endif
