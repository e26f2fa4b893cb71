// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_ELEMENTARY_HPP
#define ELAPHOS_IMPL_ELEMENTARY_HPP

#include <elaphos/impl/scalar.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Constants of the host's exponential: x = k ln 2 + r with |r| <= ln 2 / 2, and exp(r) - 1 = r + r^2 q(r).
template <class Scalar>
struct ExponentialConstants;

template <>
struct ExponentialConstants<float> {
  using Bits = std::uint32_t;
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  static constexpr float bound = 87.0f;                  // exp(+-bound) is finite and normal
  static constexpr float round_shift = 12582912.0f;      // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float ln2_high = 0.693145751953125f;  // few bits, so that k * ln2_high is exact
  static constexpr float ln2_low = 1.42860682030941723212e-6f;
  static constexpr int terms = 6;
  // 1/2!, 1/3!, ...: at |r| <= 0.347 the first term left out is under 2e-9.
  static constexpr float q[terms] = {0.5f, 1.0f / 6, 1.0f / 24, 1.0f / 120, 1.0f / 720, 1.0f / 5040};
};

template <>
struct ExponentialConstants<double> {
  using Bits = std::uint64_t;
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr double bound = 708.0;
  static constexpr double round_shift = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 6.93147180369123816490e-01;
  static constexpr double ln2_low = 1.90821492927058770002e-10;
  static constexpr int terms = 12;
  // At |r| <= 0.347 the first term left out is under 5e-18.
  static constexpr double q[terms] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                      1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                      1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
};

/// The polynomial's terms from `first` on, over r^first. A recursion: compilers vectorise no loop that holds another.
template <class Scalar, int first>
KOKKOS_FORCEINLINE_FUNCTION Scalar horner(Scalar r) {
  using Constants = ExponentialConstants<Scalar>;
  constexpr Scalar coefficient = Constants::q[first];
  if constexpr (first + 1 == Constants::terms) {
    return coefficient;
  } else {
    return multiply_add(horner<Scalar, first + 1>(r), r, coefficient);
  }
}

/// x within +-bound; NaN stays NaN. One comparison: compilers turn two in a row into branches, which no loop with them
/// survives as vector code.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar bounded(Scalar x, Scalar bound) {
  const Scalar size = Kokkos::abs(x);
  return Kokkos::copysign(size > bound ? bound : size, x);
}

/// x = k ln 2 + r: gives exp(r) - 1 and 2^k. Arguments are bounded to where 2^k is a normal number; NaN stays NaN.
///
/// Branch-free, so that compilers turn a loop over it into vector code; every product that feeds a sum is a
/// `multiply_add`, so that the bits are those of the same call anywhere else.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar reduced_exponential_minus_one(Scalar x, Scalar& power_of_two) {
  using Constants = ExponentialConstants<Scalar>;
  using Bits = typename Constants::Bits;
  x = bounded(x, Constants::bound);
  const Scalar shifted = multiply_add(x, Scalar(1.44269504088896340736), Constants::round_shift);
  const Scalar k = shifted - Constants::round_shift;
  Scalar r = multiply_add(-k, Constants::ln2_high, x);
  r = multiply_add(-k, Constants::ln2_low, r);
  const Scalar q = horner<Scalar, 0>(r);
  // The integer k stands in the low bits of `shifted`.
  const Bits exponent = Kokkos::bit_cast<Bits>(shifted) + static_cast<Bits>(Constants::bias);
  power_of_two = Kokkos::bit_cast<Scalar>(static_cast<Bits>(exponent << Constants::mantissa_bits));
  return multiply_add(r * r, q, r);
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

/// 1 / (1 + exp(-x)).
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar sigmoid(Scalar x) {
  KOKKOS_IF_ON_DEVICE((return device_sigmoid(x);))
  KOKKOS_IF_ON_HOST((Scalar power; const Scalar fraction = reduced_exponential_minus_one(-x, power);
                     return Scalar(1) / (Scalar(1) + multiply_add(power, fraction, power));))
}

/// Hyperbolic tangent, accurate also near 0: t / (t + 2) with t = exp(2 x) - 1.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar hyperbolic_tangent(Scalar x) {
  KOKKOS_IF_ON_DEVICE((return device_tanh(x);))
  // Beyond 20 the result is 1 in double, too.
  KOKKOS_IF_ON_HOST((const Scalar near = bounded(x, Scalar(20)); Scalar power;
                     const Scalar fraction = reduced_exponential_minus_one(near + near, power);
                     const Scalar t = multiply_add(power, fraction, power - Scalar(1)); return t / (t + Scalar(2));))
}

}  // namespace elaphos::impl

#endif
