// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/errors.hpp>
#include <elaphos/io/tensor.hpp>

#include "tensor_type.hpp"

#include "../format.hpp"

#include <cstring>

namespace elaphos::io::impl {

namespace {

template <class From, class To>
void convert(const Tensor& tensor, To* out) {
  const std::size_t count = tensor.bytes.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    From number;
    std::memcpy(&number, tensor.bytes.data() + i * sizeof(From), sizeof(From));
    out[i] = static_cast<To>(number);
  }
}

template <class To>
void convert_to(const Tensor& tensor, To* out) {
  if (tensor.dtype == "F32") {
    convert<float>(tensor, out);
  } else {
    convert<double>(tensor, out);
  }
}

}  // namespace

void copy_numbers(const Tensor& tensor, float* out) { convert_to(tensor, out); }
void copy_numbers(const Tensor& tensor, double* out) { convert_to(tensor, out); }

void refuse_gaps(const std::string& name) {
  throw InvalidArgument(elaphos::impl::format("View for tensor {}", in_quotes(name)), "one with gaps between its rows",
                        "contiguous entries");
}

}  // namespace elaphos::io::impl
