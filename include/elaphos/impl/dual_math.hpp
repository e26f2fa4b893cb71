// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_DUAL_MATH_HPP
#define ELAPHOS_IMPL_DUAL_MATH_HPP

#include <elaphos/dual.hpp>

// Kokkos' real functions of dual numbers. In Kokkos' namespace, as those of Kokkos::complex are: a step that is to run on
// devices calls Kokkos::tanh, and a qualified name is not looked up in the namespace of its arguments.

namespace Kokkos {

// Kokkos::NAME(a), whose derivative is DERIVATIVE of the value x and the function's own value f.
#define ELAPHOS_DUAL_FUNCTION(NAME, DERIVATIVE)                                              \
  template <class Scalar, int width>                                                         \
  KOKKOS_FUNCTION elaphos::Dual<Scalar, width> NAME(const elaphos::Dual<Scalar, width>& a) { \
    [[maybe_unused]] const Scalar x = a.value, f = Kokkos::NAME(x);                          \
    return a.chained(f, DERIVATIVE);                                                         \
  }

ELAPHOS_DUAL_FUNCTION(abs, x < 0 ? Scalar(-1) : Scalar(1))
ELAPHOS_DUAL_FUNCTION(fabs, x < 0 ? Scalar(-1) : Scalar(1))
ELAPHOS_DUAL_FUNCTION(sqrt, Scalar(0.5) / f)
ELAPHOS_DUAL_FUNCTION(cbrt, 1 / (3 * f * f))
ELAPHOS_DUAL_FUNCTION(exp, f)
ELAPHOS_DUAL_FUNCTION(exp2, f* numbers::ln2_v<Scalar>)
ELAPHOS_DUAL_FUNCTION(expm1, f + 1)
ELAPHOS_DUAL_FUNCTION(log, 1 / x)
ELAPHOS_DUAL_FUNCTION(log2, 1 / (x * numbers::ln2_v<Scalar>))
ELAPHOS_DUAL_FUNCTION(log10, 1 / (x * numbers::ln10_v<Scalar>))
ELAPHOS_DUAL_FUNCTION(log1p, 1 / (1 + x))
ELAPHOS_DUAL_FUNCTION(sin, Kokkos::cos(x))
ELAPHOS_DUAL_FUNCTION(cos, -Kokkos::sin(x))
ELAPHOS_DUAL_FUNCTION(tan, 1 + f * f)
ELAPHOS_DUAL_FUNCTION(asin, 1 / Kokkos::sqrt((1 - x) * (1 + x)))
ELAPHOS_DUAL_FUNCTION(acos, -1 / Kokkos::sqrt((1 - x) * (1 + x)))
ELAPHOS_DUAL_FUNCTION(atan, 1 / (1 + x * x))
ELAPHOS_DUAL_FUNCTION(sinh, Kokkos::cosh(x))
ELAPHOS_DUAL_FUNCTION(cosh, Kokkos::sinh(x))
ELAPHOS_DUAL_FUNCTION(tanh, (1 - f) * (1 + f))
ELAPHOS_DUAL_FUNCTION(asinh, 1 / Kokkos::hypot(x, Scalar(1)))
ELAPHOS_DUAL_FUNCTION(acosh, 1 / Kokkos::sqrt((x - 1) * (x + 1)))
ELAPHOS_DUAL_FUNCTION(atanh, 1 / ((1 - x) * (1 + x)))
// 2 / sqrt(pi) exp(-x^2)
ELAPHOS_DUAL_FUNCTION(erf, 2 * numbers::inv_sqrtpi_v<Scalar> * Kokkos::exp(-x * x))
ELAPHOS_DUAL_FUNCTION(erfc, -2 * numbers::inv_sqrtpi_v<Scalar> * Kokkos::exp(-x * x))
// Steps: flat but at their jumps.
ELAPHOS_DUAL_FUNCTION(ceil, 0)
ELAPHOS_DUAL_FUNCTION(floor, 0)
ELAPHOS_DUAL_FUNCTION(trunc, 0)
ELAPHOS_DUAL_FUNCTION(round, 0)
#undef ELAPHOS_DUAL_FUNCTION

// Kokkos::NAME(a) of the value alone.
#define ELAPHOS_DUAL_PREDICATE(NAME)                                                  \
  template <class Scalar, int width>                                                  \
  KOKKOS_FUNCTION bool NAME(const elaphos::Dual<Scalar, width>& a) {                  \
    return Kokkos::NAME(a.value);                                                     \
  }
ELAPHOS_DUAL_PREDICATE(isfinite)
ELAPHOS_DUAL_PREDICATE(isinf)
ELAPHOS_DUAL_PREDICATE(isnan)
ELAPHOS_DUAL_PREDICATE(signbit)
#undef ELAPHOS_DUAL_PREDICATE

// Kokkos::NAME(a, b), of two duals or of one and a constant, by `value`, `by_a` and `by_b` of the values x and y.
#define ELAPHOS_DUAL_FUNCTION_OF_TWO(NAME, BODY)                                                                 \
  template <class Scalar, int width>                                                                             \
  KOKKOS_FUNCTION elaphos::Dual<Scalar, width> NAME(const elaphos::Dual<Scalar, width>& a,                       \
                                                    const elaphos::Dual<Scalar, width>& b) {                     \
    const Scalar x = a.value, y = b.value;                                                                       \
    Scalar value = 0, by_a = 0, by_b = 0;                                                                        \
    BODY return elaphos::Dual<Scalar, width>::chained(a, b, value, by_a, by_b);                                  \
  }                                                                                                              \
  template <class Scalar, int width>                                                                             \
  KOKKOS_FUNCTION elaphos::Dual<Scalar, width> NAME(const elaphos::Dual<Scalar, width>& a,                       \
                                                    const std::type_identity_t<Scalar>& b) {                     \
    return Kokkos::NAME(a, elaphos::Dual<Scalar, width>(b));                                                     \
  }                                                                                                              \
  template <class Scalar, int width>                                                                             \
  KOKKOS_FUNCTION elaphos::Dual<Scalar, width> NAME(const std::type_identity_t<Scalar>& a,                       \
                                                    const elaphos::Dual<Scalar, width>& b) {                     \
    return Kokkos::NAME(elaphos::Dual<Scalar, width>(a), b);                                                     \
  }

// The derivative along a constant exponent needs no logarithm, and exists at 0 and below.
ELAPHOS_DUAL_FUNCTION_OF_TWO(pow, {
  value = Kokkos::pow(x, y);
  by_a = y == Scalar(0) ? Scalar(0) : y * Kokkos::pow(x, y - 1);
  bool constant = true;
  for (int i = 0; i < width; ++i) constant = constant && b.slope[i] == Scalar(0);
  by_b = constant ? Scalar(0) : value * Kokkos::log(x);
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(atan2, {
  value = Kokkos::atan2(x, y);
  const Scalar squares = x * x + y * y;
  by_a = y / squares;
  by_b = -x / squares;
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(hypot, {
  value = Kokkos::hypot(x, y);
  by_a = x / value;
  by_b = y / value;
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(fmod, {
  value = Kokkos::fmod(x, y);
  by_a = 1;
  by_b = -Kokkos::trunc(x / y);
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(remainder, {
  value = Kokkos::remainder(x, y);
  by_a = 1;
  by_b = -Kokkos::round((x - value) / y);
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(copysign, {
  value = Kokkos::copysign(x, y);
  by_a = Kokkos::signbit(x) == Kokkos::signbit(y) ? Scalar(1) : Scalar(-1);
})
// At a tie the first argument's branch; of a number and NaN the number, as Kokkos does.
ELAPHOS_DUAL_FUNCTION_OF_TWO(fmax, {
  const bool first = x >= y || y != y;
  value = first ? x : y;
  (first ? by_a : by_b) = 1;
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(fmin, {
  const bool first = x <= y || y != y;
  value = first ? x : y;
  (first ? by_a : by_b) = 1;
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(max, {
  const bool first = !(x < y);
  value = first ? x : y;
  (first ? by_a : by_b) = 1;
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(min, {
  const bool first = !(y < x);
  value = first ? x : y;
  (first ? by_a : by_b) = 1;
})
ELAPHOS_DUAL_FUNCTION_OF_TWO(fdim, {
  const bool positive = x > y;
  value = positive ? x - y : Scalar(0);
  by_a = positive ? Scalar(1) : Scalar(0);
  by_b = -by_a;
})
#undef ELAPHOS_DUAL_FUNCTION_OF_TWO

template <class Scalar, int width>
KOKKOS_FUNCTION elaphos::Dual<Scalar, width> fma(const elaphos::Dual<Scalar, width>& a,
                                                 const elaphos::Dual<Scalar, width>& b,
                                                 const elaphos::Dual<Scalar, width>& c) {
  return a * b + c;
}

}  // namespace Kokkos

namespace elaphos {

// For unqualified calls, which look here.
using Kokkos::abs;
using Kokkos::acos;
using Kokkos::acosh;
using Kokkos::asin;
using Kokkos::asinh;
using Kokkos::atan;
using Kokkos::atan2;
using Kokkos::atanh;
using Kokkos::cbrt;
using Kokkos::cos;
using Kokkos::cosh;
using Kokkos::exp;
using Kokkos::hypot;
using Kokkos::log;
using Kokkos::pow;
using Kokkos::sin;
using Kokkos::sinh;
using Kokkos::sqrt;
using Kokkos::tan;
using Kokkos::tanh;

}  // namespace elaphos

#endif
