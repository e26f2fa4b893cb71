// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_ELEMENTARY_HPP
#define ELAPHOS_IMPL_ELEMENTARY_HPP

#include <elaphos/impl/scalar.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Constants of the host's functions, by scalar. The polynomials are minimax ones (Remez, relative error of the
/// function), with less error than a quarter of a unit of the last place:
/// - exp(r) - 1 = r + r^2 q(r) for |r| <= ln 2 / 2, where x = k ln 2 + r;
/// - tanh(x) = x + x^3 h(x^2) for |x| <= 0.3.
template <class Scalar>
struct ElementaryConstants;

template <>
struct ElementaryConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr float bound = 88.0f;  // exp(bound) is finite, and 1 / exp(bound) less than any normal number
  static constexpr float round_shift = 12582912.0f;      // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float ln2_high = 0.693145751953125f;  // few bits, so that k * ln2_high is exact
  static constexpr float ln2_low = 1.42860682030941723212e-6f;
  struct Exponential {
    static constexpr int terms = 5;
    static constexpr float term[terms] = {0.5f, 0.16666530313f, 0.041666155241f, 0.0083682396387f, 0.0013976270115f};
  };
  struct Tangent {
    static constexpr int terms = 3;
    static constexpr float term[terms] = {-0.33333057624f, 0.13314669655f, -0.050349480279f};
  };
};

template <>
struct ElementaryConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr double bound = 709.0;
  static constexpr double round_shift = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 6.93147180369123816490e-01;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  struct Exponential {
    static constexpr int terms = 11;
    static constexpr double term[terms] = {0.5,
                                           0.16666666666666678139,
                                           0.041666666666666715835,
                                           0.0083333333333201843074,
                                           0.0013888888888841902315,
                                           0.00019841269890200057242,
                                           0.000024801587441535307005,
                                           2.7557239763314496397e-6,
                                           2.7557148712519244236e-7,
                                           2.5110687737555864352e-8,
                                           2.0960557652873864406e-9};
  };
  struct Tangent {
    static constexpr int terms = 8;
    static constexpr double term[terms] = {-0.33333333333333256787,  0.13333333333305835288,  -0.053968253934473605331,
                                           0.021869486527420299161,  -0.0088631693385569680777, 0.003590853125426267806,
                                           -0.0014414999804142443616, 0.00050198800152045376742};
  };
};

/// The polynomial's terms from `first` on, over r^first: by pairs, whose chain of multiply-adds is half as long as
/// Horner's. A recursion: compilers vectorise no loop that holds another.
template <class Polynomial, int first = 0, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar polynomial(Scalar r, Scalar square) {
  constexpr Scalar even = Polynomial::term[first];
  if constexpr (first + 1 == Polynomial::terms) {
    return even;
  } else {
    constexpr Scalar odd = Polynomial::term[first + 1];
    const Scalar pair = multiply_add(odd, r, even);
    if constexpr (first + 2 == Polynomial::terms) {
      return pair;
    } else {
      return multiply_add(polynomial<Polynomial, first + 2>(r, square), square, pair);
    }
  }
}

/// One of two numbers by `take`. By bits: a condition would let the compiler make either of them wait for it.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar chosen(bool take, Scalar number, Scalar otherwise) {
  using Bits = typename ElementaryConstants<Scalar>::Bits;
  const Bits mask = take ? ~Bits(0) : Bits(0);
  return Kokkos::bit_cast<Scalar>((Kokkos::bit_cast<Bits>(number) & mask) |
                                  (Kokkos::bit_cast<Bits>(otherwise) & ~mask));
}

/// A number that is not negative, with the sign of another.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar with_sign_of(Scalar other, Scalar number) {
  using Bits = typename ElementaryConstants<Scalar>::Bits;
  constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  return Kokkos::bit_cast<Scalar>(Kokkos::bit_cast<Bits>(number) | (Kokkos::bit_cast<Bits>(other) & sign));
}

/// exp(scale x) - 1 and 2^k, where scale x = k ln 2 + r: gives exp(r) - 1 and 2^k. `scale` is a power of two, or its
/// negative, so that nothing is rounded for it.
///
/// For |scale x| within the bound or NaN; beyond it both may be anything. Callers put in what they know at the end, so
/// that nothing waits for a comparison at the start. Branch-free, so that compilers turn a loop over it into vector
/// code; every product that feeds a sum is a `multiply_add`, so that the bits are those of the same call anywhere else.
template <int scale, class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar reduced_exponential_minus_one(Scalar x, Scalar& power_of_two) {
  using Constants = ElementaryConstants<Scalar>;
  using Bits = typename Constants::Bits;
  const Scalar shifted = multiply_add(x, Scalar(scale * 1.44269504088896340736), Constants::round_shift);
  const Scalar k = shifted - Constants::round_shift;
  const Scalar part = multiply_add(k, -Constants::ln2_high, scale * x);
  const Scalar r = multiply_add(k, -Constants::ln2_low, part), square = r * r;
  // r + r^2 q(r), of which the first two terms need not wait for the others.
  using Terms = typename Constants::Exponential;
  const Scalar first = multiply_add(square, multiply_add(Terms::term[1], r, Terms::term[0]), r);
  const Scalar fraction = multiply_add(square * square, polynomial<Terms, 2>(r, square), first);
  // The integer k stands in the low bits of `shifted`.
  const Bits exponent = Kokkos::bit_cast<Bits>(shifted) + static_cast<Bits>(Constants::bias);
  power_of_two = Kokkos::bit_cast<Scalar>(static_cast<Bits>(exponent << Constants::mantissa_bits));
  return fraction;
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar host_sigmoid(Scalar x) {
  Scalar power;
  const Scalar fraction = reduced_exponential_minus_one<-1>(x, power);
  // 1 + 2^k + 2^k f: the product is exact, and so is what the first sum has lost. One rounding less than 1 + exp(-x).
  const Scalar sum = Scalar(1) + power, lost = Scalar(1) - (sum - power);
  const Scalar value = Scalar(1) / (sum + multiply_add(power, fraction, lost));
  const Scalar end = x > Scalar(0) ? Scalar(1) : Scalar(0);
  return chosen(Kokkos::abs(x) > ElementaryConstants<Scalar>::bound, end, value);
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar host_tanh(Scalar x) {
  using Tangent = typename ElementaryConstants<Scalar>::Tangent;
  const Scalar size = Kokkos::abs(x);
  // t / (t + 2) with t = exp(2 |x|) - 1. (A multiply-add of its own for t + 2 would not wait for t, but errors of the two
  // would be independent: 2.8 units.)
  Scalar power;
  const Scalar fraction = reduced_exponential_minus_one<2>(size, power);
  const Scalar t = multiply_add(power, fraction, power - Scalar(1));
  // Beyond 20 it is 1 in double, too.
  const Scalar far = chosen(size > Scalar(20), Scalar(1), t / (t + Scalar(2)));
  // Near 0 that is three roundings in a row.
  const Scalar square = size * size;
  const Scalar small = multiply_add(x * square, polynomial<Tangent>(square, square * square), x);
  return chosen(size < Scalar(0.3), small, with_sign_of(x, far));
}

/// In float on CUDA a step's time is that of its instructions: this takes four, the library's exponential and a
/// division some thirty. The exponential is good to 2^-22 + |x| 2^-24, the reciprocal to an ulp: an absolute error of
/// 1e-7.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar device_sigmoid(Scalar x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<Scalar, float>) {
    float power, reciprocal;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x * -1.44269504f));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(1.0f + power));
    return reciprocal;
  }
#endif
  return Scalar(1) / (Scalar(1) + Kokkos::exp(-x));
}

/// In float on CUDA 2 sigmoid(2 x) - 1, and where that cancels Taylor's terms to x^9, good to 5e-8 of the result.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar device_tanh(Scalar x) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<Scalar, float>) {
    const float square = x * x;
    float series = multiply_add(square, 62.0f / 2835, -17.0f / 315);
    series = multiply_add(series, square, 2.0f / 15);
    series = multiply_add(series, square, -1.0f / 3);
    series = multiply_add(series * square, x, x);
    const float far = multiply_add(2.0f, device_sigmoid(x + x), -1.0f);
    return square < 0.09f ? series : far;
  }
#endif
  return Kokkos::tanh(x);
}

/// 1 / (1 + exp(-x)), within 2 units of the last place on hosts; where that is less than any normal number, some other
/// such number.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar sigmoid(Scalar x) {
  KOKKOS_IF_ON_DEVICE((return device_sigmoid(x);))
  KOKKOS_IF_ON_HOST((return host_sigmoid(x);))
}

/// Hyperbolic tangent, within 2 units of the last place on hosts.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar hyperbolic_tangent(Scalar x) {
  KOKKOS_IF_ON_DEVICE((return device_tanh(x);))
  KOKKOS_IF_ON_HOST((return host_tanh(x);))
}

}  // namespace elaphos::impl

#endif
