// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_ARRAY_SHAPE_HPP
#define ELAPHOS_IMPL_ARRAY_SHAPE_HPP

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace elaphos::impl {

/// Shape of a View that was passed in, for messages and for the check of overlaps.
struct ArrayShape {
  const char* name;
  const void* data;
  std::size_t extents[5];
  int rank;
  std::size_t bytes;
  bool contiguous;
};

template <class View>
ArrayShape shape_of(const char* name, const View& view) {
  ArrayShape shape{name, view.data(), {1, 1, 1, 1, 1}, static_cast<int>(View::rank), 0, view.span_is_contiguous()};
  std::size_t size = 1;
  for (std::size_t r = 0; r < View::rank; ++r) {
    shape.extents[r] = view.extent(r);
    size *= view.extent(r);
  }
  shape.bytes = size * sizeof(typename View::value_type);
  return shape;
}

/// "(T, B, D)" with its numbers.
std::string extents_of(const ArrayShape& shape);

bool has_extents(const ArrayShape& shape, std::initializer_list<std::size_t> extents);

bool overlap(const ArrayShape& a, const ArrayShape& b);

/// Throws `InvalidArgument` for a View with gaps.
void expect_contiguous(const ArrayShape& shape);

/// Throws `InvalidArgument` where something that is written shares memory with something that is read.
void expect_apart(const ArrayShape& written, const ArrayShape& read);

/// The number of packed sequences. Throws `InvalidArgument`.
std::int64_t check_offsets(const ArrayShape& offsets);

}  // namespace elaphos::impl

#endif
