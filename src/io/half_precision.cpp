// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "half_precision.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace elaphos::io::impl {

void widen_half_precision(Tensor& tensor) {
  const bool half = tensor.dtype == "F16";
  if (!half && tensor.dtype != "BF16") return;
  const std::size_t count = tensor.bytes.size() / 2;
  std::vector<std::byte> floats(count * 4);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t from;
    std::memcpy(&from, tensor.bytes.data() + i * 2, 2);
    const std::uint32_t to = half ? float_bits_of_float16(from) : float_bits_of_bfloat16(from);
    std::memcpy(floats.data() + i * 4, &to, 4);
  }
  tensor.dtype = "F32";
  tensor.bytes = std::move(floats);
}

}  // namespace elaphos::io::impl
