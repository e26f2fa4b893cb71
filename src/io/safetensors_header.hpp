// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_SAFETENSORS_HEADER_HPP
#define ELAPHOS_SRC_IO_SAFETENSORS_HEADER_HPP

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace elaphos::io::impl {

/// What a safetensors header says of a tensor; bytes count from the end of the header.
struct HeaderEntry {
  std::string name;
  std::string dtype;
  std::vector<std::size_t> shape;
  std::size_t begin;
  std::size_t end;
};

/// The name that stands for text about the file.
inline constexpr std::string_view metadata_name = "__metadata__";

/// The entries in the header's order. Throws `std::runtime_error`, whose text says what is wrong, for whatever has not
/// the format's structure; whether numbers fit one another is not looked at.
std::vector<HeaderEntry> parse_header(std::string_view header);

/// The same entries as JSON. Throws `InvalidArgument` for a name that is not UTF-8.
std::string print_header(std::span<const HeaderEntry> entries);

/// Whether a text is UTF-8.
bool is_utf8(const std::string& text);

}  // namespace elaphos::io::impl

#endif
