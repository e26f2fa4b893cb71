// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_HALF_PRECISION_HPP
#define ELAPHOS_SRC_IO_HALF_PRECISION_HPP

#include <elaphos/io/tensor.hpp>

#include <bit>
#include <cstdint>

namespace elaphos::io::impl {

/// The bits of the float that has the value of a bfloat16, its upper half.
inline std::uint32_t float_bits_of_bfloat16(std::uint16_t bits) { return std::uint32_t{bits} << 16; }

/// The bits of the float that has the value of a float16 (IEEE 754 binary16: 5 bits of exponent, 10 of fraction). Every
/// float16 is a float; a NaN keeps its payload.
inline std::uint32_t float_bits_of_float16(std::uint16_t bits) {
  const std::uint32_t sign = (std::uint32_t{bits} & 0x8000u) << 16;
  const std::uint32_t exponent = (std::uint32_t{bits} >> 10) & 0x1fu;
  const std::uint32_t fraction = std::uint32_t{bits} & 0x3ffu;
  if (exponent == 0x1fu) return sign | 0x7f800000u | fraction << 13;
  if (exponent != 0) return sign | (exponent + 127 - 15) << 23 | fraction << 13;
  // Zero or subnormal: fraction * 2^-24, a normal float.
  return sign | std::bit_cast<std::uint32_t>(static_cast<float>(fraction) * 0x1p-24f);
}

/// A tensor of F16 or BF16 becomes one of F32, without rounding; others stay what they are.
void widen_half_precision(Tensor& tensor);

}  // namespace elaphos::io::impl

#endif
