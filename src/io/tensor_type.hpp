// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_TENSOR_TYPE_HPP
#define ELAPHOS_SRC_IO_TENSOR_TYPE_HPP

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace elaphos::io::impl {

/// Bits of an entry; 0 for a type that the safetensors format does not have.
std::size_t bits_of(std::string_view dtype);

/// Number of entries; nothing where it does not fit in 64 bits.
std::optional<std::size_t> entry_count(std::span<const std::size_t> shape);

/// Bytes of a tensor; nothing where they do not fit in 64 bits or are not whole.
std::optional<std::size_t> byte_count(std::string_view dtype, std::span<const std::size_t> shape);

/// "(3, 4)"
std::string to_string(std::span<const std::size_t> shape);

/// Text from a file, in quotes, made fit for a message: short and without control characters.
std::string in_quotes(std::string_view text);

}  // namespace elaphos::io::impl

#endif
