// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_DUAL_HPP
#define ELAPHOS_DUAL_HPP

#include <Kokkos_Core.hpp>

#include <concepts>

namespace elaphos {

/// \brief A number with its derivatives along `width` directions (forward mode; Wengert, Comm. ACM 1964).
///
/// All of Kokkos' real functions are overloaded but `tgamma`, `lgamma` and `nextafter`. Comparisons, and what is true or
/// false of a number, look at the value.
template <std::floating_point Scalar, int width>
struct Dual {
  Scalar value = 0;
  Scalar slope[width] = {};

  Dual() = default;
  /// \brief A constant.
  template <class Number>
    requires std::convertible_to<Number, Scalar>
  KOKKOS_FUNCTION Dual(const Number& of) : value(static_cast<Scalar>(of)) {}

  /// \brief f(*this), where f has the given value and derivative.
  KOKKOS_FUNCTION Dual chained(Scalar f, Scalar derivative) const {
    Dual out(f);
    for (int i = 0; i < width; ++i) out.slope[i] = derivative * slope[i];
    return out;
  }
  /// \brief f(a, b), where f has the given value and partial derivatives.
  KOKKOS_FUNCTION static Dual chained(const Dual& a, const Dual& b, Scalar f, Scalar by_a, Scalar by_b) {
    Dual out(f);
    for (int i = 0; i < width; ++i) out.slope[i] = by_a * a.slope[i] + by_b * b.slope[i];
    return out;
  }

  KOKKOS_FUNCTION Dual operator+() const { return *this; }
  KOKKOS_FUNCTION Dual operator-() const { return chained(-value, -1); }
  KOKKOS_FUNCTION friend Dual operator+(const Dual& a, const Dual& b) { return chained(a, b, a.value + b.value, 1, 1); }
  KOKKOS_FUNCTION friend Dual operator-(const Dual& a, const Dual& b) { return chained(a, b, a.value - b.value, 1, -1); }
  KOKKOS_FUNCTION friend Dual operator*(const Dual& a, const Dual& b) {
    return chained(a, b, a.value * b.value, b.value, a.value);
  }
  KOKKOS_FUNCTION friend Dual operator/(const Dual& a, const Dual& b) {
    const Scalar quotient = a.value / b.value;
    return chained(a, b, quotient, 1 / b.value, -quotient / b.value);
  }
  KOKKOS_FUNCTION Dual& operator+=(const Dual& other) { return *this = *this + other; }
  KOKKOS_FUNCTION Dual& operator-=(const Dual& other) { return *this = *this - other; }
  KOKKOS_FUNCTION Dual& operator*=(const Dual& other) { return *this = *this * other; }
  KOKKOS_FUNCTION Dual& operator/=(const Dual& other) { return *this = *this / other; }

  KOKKOS_FUNCTION friend bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
  KOKKOS_FUNCTION friend auto operator<=>(const Dual& a, const Dual& b) { return a.value <=> b.value; }
};

}  // namespace elaphos

#include <elaphos/impl/dual_math.hpp>

#endif
