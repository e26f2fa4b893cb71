// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_COPY_ROWS_HPP
#define ELAPHOS_IMPL_LAYERS_COPY_ROWS_HPP

#include <elaphos/impl/layers/dropout_mask.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The first `count` numbers of every row (t, b) of one sequence, to a place in the rows of another.
template <class Scalar>
struct RowCopy {
  const Scalar* from;  ///< (T, B, from_width)
  Scalar* to;          ///< (T, B, to_width)
  std::int64_t steps;
  std::int64_t batch;
  int from_width;
  int to_width;
  int count;
  int offset = 0;         ///< where in a row of `to`
  bool reversed = false;  ///< step t of `to` is step T - 1 - t of `from`
};

/// Enqueues it, with dropout by the unit's place in `to`. A word read and a word written for each number, and with
/// dropout some 20 integer operations. Compiled in the library for float and double on every enabled execution space.
template <class ExecutionSpace, class Scalar>
void copy_rows(const ExecutionSpace& exec, const RowCopy<Scalar>& copy, const DropoutMask<Scalar>& mask);

}  // namespace elaphos::impl

#endif
