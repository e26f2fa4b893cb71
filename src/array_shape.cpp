// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "format.hpp"

#include <elaphos/errors.hpp>
#include <elaphos/impl/array_shape.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

namespace elaphos::impl {

std::string extents_of(const ArrayShape& shape) {
  std::string text = "(";
  for (int r = 0; r < shape.rank; ++r) text += format("{}{}", r == 0 ? "" : ", ", shape.extents[r]);
  return text + ")";
}

bool has_extents(const ArrayShape& shape, std::initializer_list<std::size_t> extents) {
  return std::equal(extents.begin(), extents.end(), shape.extents, shape.extents + shape.rank);
}

bool overlap(const ArrayShape& a, const ArrayShape& b) {
  if (a.bytes == 0 || b.bytes == 0) return false;
  const auto* a_begin = static_cast<const char*>(a.data);
  const auto* b_begin = static_cast<const char*>(b.data);
  // std::less orders pointers into different arrays; < does not.
  const std::less<const char*> before;
  return before(a_begin, b_begin + b.bytes) && before(b_begin, a_begin + a.bytes);
}

void expect_contiguous(const ArrayShape& shape) {
  if (!shape.contiguous) {
    throw InvalidArgument(shape.name, "a View with gaps between its rows", "contiguous data; copy it first");
  }
}

void expect_apart(const ArrayShape& written, const ArrayShape& read) {
  if (overlap(written, read)) {
    throw InvalidArgument(written.name, format("memory that overlaps {}", read.name),
                          format("memory of its own: {} is written, {} is read", written.name, read.name));
  }
}

std::int64_t check_offsets(const ArrayShape& offsets) {
  if (offsets.extents[0] < 2) {
    throw InvalidArgument("offsets", extents_of(offsets), "at least 2 entries, one more than there are sequences");
  }
  if (offsets.extents[0] > std::size_t(std::numeric_limits<std::int32_t>::max())) {
    throw InvalidArgument("offsets", extents_of(offsets), "fewer than 2^31 sequences");
  }
  return static_cast<std::int64_t>(offsets.extents[0]) - 1;
}

}  // namespace elaphos::impl
