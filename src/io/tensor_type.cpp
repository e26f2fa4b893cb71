// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tensor_type.hpp"

#include "../format.hpp"

#include <limits>

namespace elaphos::io::impl {

namespace {

struct Type {
  std::string_view name;
  std::size_t bits;
};

constexpr Type types[] = {
    {"F64", 64},    {"F32", 32},    {"F16", 16},    {"BF16", 16},   {"I64", 64},        {"I32", 32},
    {"I16", 16},    {"I8", 8},      {"U64", 64},    {"U32", 32},    {"U16", 16},        {"U8", 8},
    {"BOOL", 8},    {"C64", 64},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E5M2FNUZ", 8}, {"F8_E4M3FNUZ", 8},
    {"F8_E8M0", 8}, {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
};

std::optional<std::size_t> product(std::size_t a, std::size_t b) {
  if (b != 0 && a > std::numeric_limits<std::size_t>::max() / b) return std::nullopt;
  return a * b;
}

}  // namespace

std::size_t bits_of(std::string_view dtype) {
  for (const Type& type : types) {
    if (type.name == dtype) return type.bits;
  }
  return 0;
}

std::optional<std::size_t> entry_count(std::span<const std::size_t> shape) {
  std::optional<std::size_t> count = 1;
  for (const std::size_t extent : shape) {
    count = product(*count, extent);
    if (!count) break;
  }
  return count;
}

std::optional<std::size_t> byte_count(std::string_view dtype, std::span<const std::size_t> shape) {
  const auto count = entry_count(shape);
  const auto bits = count ? product(*count, bits_of(dtype)) : std::nullopt;
  if (!bits || *bits % 8 != 0) return std::nullopt;
  return *bits / 8;
}

std::string to_string(std::span<const std::size_t> shape) {
  std::string text = "(";
  for (std::size_t r = 0; r < shape.size(); ++r) text += elaphos::impl::format("{}{}", r == 0 ? "" : ", ", shape[r]);
  return text + ")";
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 120;
  std::string out = "'";
  for (const char c : text.substr(0, longest)) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    out += control ? '?' : c;
  }
  return out + (text.size() > longest ? "...'" : "'");
}

}  // namespace elaphos::io::impl
