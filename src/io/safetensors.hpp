// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_SAFETENSORS_HPP
#define ELAPHOS_SRC_IO_SAFETENSORS_HPP

#include <elaphos/io/tensor.hpp>

#include <filesystem>
#include <span>
#include <vector>

namespace elaphos::io::impl {

/// See `elaphos::io::read_safetensors`. The order is the header's.
std::vector<Tensor> read_safetensors_file(const std::filesystem::path& path);

/// See `elaphos::io::write_safetensors`.
void write_safetensors_file(const std::filesystem::path& path, std::span<const Tensor> tensors);

}  // namespace elaphos::io::impl

#endif
