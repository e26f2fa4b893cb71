// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_TEXT_HPP
#define ELAPHOS_SRC_IO_TEXT_HPP

#include <elaphos/io/tensor.hpp>

#include <filesystem>
#include <span>
#include <vector>

namespace elaphos::io::impl {

/// See `elaphos::io::read_text`.
std::vector<Tensor> read_text_file(const std::filesystem::path& path);

/// See `elaphos::io::write_text`.
void write_text_file(const std::filesystem::path& path, std::span<const Tensor> tensors);

}  // namespace elaphos::io::impl

#endif
