// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_TENSORS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_TENSORS_HPP

#include "files.hpp"

#include <elaphos/io/state_dict.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace test {

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  std::string out(numbers.size() * sizeof(Number), '\0');
  if (!out.empty()) std::memcpy(out.data(), numbers.data(), out.size());
  return out;
}

/// A safetensors file, put together by hand.
inline std::string safetensors(std::string_view header, std::string_view data) {
  return bytes_of(std::vector<std::uint64_t>{header.size()}).append(header).append(data);
}

/// The entry of a tensor in the header of such a file.
inline std::string entry(const std::string& name, const std::string& dtype, const std::string& shape, std::size_t begin,
                         std::size_t end) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":[)" + shape + R"(],"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

/// A tensor of these numbers.
template <class Number>
elaphos::io::Tensor tensor_of(const std::string& name, const std::string& dtype, const std::vector<std::size_t>& shape,
                              const std::vector<Number>& numbers) {
  const std::string bytes = bytes_of(numbers);
  elaphos::io::Tensor tensor{name, dtype, shape, std::vector<std::byte>(bytes.size())};
  if (!bytes.empty()) std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
  return tensor;
}

/// The same tensors, bit by bit, in the same order.
inline bool same(const elaphos::io::StateDict& a, const elaphos::io::StateDict& b) {
  const auto equal = [](const elaphos::io::Tensor& p, const elaphos::io::Tensor& q) {
    return p.name == q.name && p.dtype == q.dtype && p.shape == q.shape && p.bytes == q.bytes;
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

/// Each tensor's bytes are as many as its shape says, counted here.
inline bool sizes_fit(const elaphos::io::StateDict& dict) {
  for (const elaphos::io::Tensor& tensor : dict) {
    std::size_t bytes = tensor.dtype.ends_with("64") ? 8 : tensor.dtype.ends_with("32") ? 4 : 0;
    if (bytes == 0) bytes = tensor.dtype.ends_with("16") ? 2 : 1;
    for (const std::size_t extent : tensor.shape) bytes *= extent;
    if (bytes != tensor.bytes.size()) return false;
  }
  return true;
}

}  // namespace test

#endif
