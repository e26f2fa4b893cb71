// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_SCALAR_HPP
#define ELAPHOS_IMPL_SCALAR_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Whether two numbers have the same bits: +0 differs from -0, and a NaN equals itself. This, not ==, is what makes a
/// merge sound: a step is a function of bits.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool same_bits(Scalar a, Scalar b) {
  using Bits = std::conditional_t<sizeof(Scalar) == 8, std::uint64_t, std::uint32_t>;
  return Kokkos::bit_cast<Bits>(a) == Kokkos::bit_cast<Bits>(b);
}

/// A product in which an exact zero wins over infinities: products of Jacobians may overflow where no state does.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar zero_safe_product(Scalar a, Scalar b) {
  return (a == Scalar(0) || b == Scalar(0)) ? Scalar(0) : a * b;
}

template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar infinite() {
  return Kokkos::Experimental::infinity_v<Scalar>;
}

/// a * b + c, rounded once where the machine has a fused instruction and twice where it has none. Written out so that the
/// bits of a step do not depend on which products a compiler chooses to fuse at the place where it inlines the step.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION Scalar multiply_add(Scalar a, Scalar b, Scalar c) {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__) || defined(__SYCL_DEVICE_ONLY__)
  return Kokkos::fma(a, b, c);
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  if constexpr (sizeof(Scalar) == 8) {
    return __builtin_fma(a, b, c);
  } else {
    return __builtin_fmaf(a, b, c);
  }
#else
  return a * b + c;
#endif
}

}  // namespace elaphos::impl

#endif
