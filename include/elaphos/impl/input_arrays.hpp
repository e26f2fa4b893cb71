// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_INPUT_ARRAYS_HPP
#define ELAPHOS_IMPL_INPUT_ARRAYS_HPP

#include <elaphos/impl/array_shape.hpp>
#include <elaphos/impl/problem.hpp>
#include <elaphos/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace elaphos::impl {

/// The arrays that a solve reads beside y0: where they stand, and their shapes.
struct InputArrays {
  std::vector<ArrayShape> blocks;  ///< (T, B, I_k)
  std::optional<ArrayShape> offsets, mask, resets;

  void add(ArrayShape block) {
    static constexpr const char* names[] = {"x[0]", "x[1]", "x[2]", "x[3]", "x[4]", "x[5]", "x[6]", "x[7]"};
    if (!blocks.empty()) {
      blocks[0].name = names[0];
      block.name = names[blocks.size()];
    }
    blocks.push_back(block);
  }

  /// body(array) for all of them.
  template <class Body>
  void for_each(const Body& body) const {
    for (const ArrayShape& block : blocks) body(block);
    for (const auto* other : {&offsets, &mask, &resets}) {
      if (*other) body(**other);
    }
  }
};

/// The number of initial states that a solve of these inputs takes: of packed sequences, or B, as y is (T, B, .).
/// Throws `InvalidArgument`.
std::int64_t count_sequences(const InputArrays& x, const ArrayShape& y);

/// Throws `InvalidArgument` unless the inputs have T steps, y's B and I features in all, are contiguous, and lie apart
/// from y. One empty View is no input.
void check_inputs(const InputArrays& x, std::size_t T, int input_size, const ArrayShape& y);

/// Returns T. Throws `InvalidArgument` unless the inputs have T, B and I in common with y0, (B, D) or (sequences, D),
/// and y, which holds the states (B, D) that `options` keeps of T, all contiguous, with y apart from all others. A
/// recurrence without input takes one empty View.
std::int64_t check_problem_shapes(const ArrayShape& y0, const InputArrays& x, const ArrayShape& y, int state_size,
                                  int input_size, const SolveOptions& options);

/// How kernels see inputs that have passed the check.
template <class Scalar>
InputBlocks<Scalar> input_blocks(const InputArrays& x) {
  InputBlocks<Scalar> blocks{};
  for (const ArrayShape& block : x.blocks) {
    blocks.data[blocks.count] = static_cast<const Scalar*>(block.data);
    blocks.sizes[blocks.count] = block.bytes == 0 ? 0 : static_cast<int>(block.extents[2]);
    blocks.size += blocks.sizes[blocks.count++];
  }
  return blocks;
}

template <class Scalar>
TimeDivision<Scalar> time_division(const InputArrays& x, const Scalar* beginnings) {
  TimeDivision<Scalar> division{};
  division.beginnings = beginnings;
  if (x.offsets) {
    division.offsets = static_cast<const std::int64_t*>(x.offsets->data);
    division.sequences = check_offsets(*x.offsets);
  }
  if (x.mask) division.mask = static_cast<const bool*>(x.mask->data);
  if (x.resets) division.resets = static_cast<const bool*>(x.resets->data);
  return division;
}

}  // namespace elaphos::impl

#endif
