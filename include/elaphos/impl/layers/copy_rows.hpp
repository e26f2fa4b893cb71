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
  bool reversed = false;  ///< step t of `to` is step T - 1 - t of `from`; of a packed sequence within its own bounds
  const std::int64_t* offsets = nullptr;  ///< (sequences + 1), where packed ones begin; else null
  std::int64_t sequences = 0;
};

/// Enqueues it, with dropout by the unit's place in `to`, and of packed sequences by their own steps. A word read and a
/// word written for each number, with dropout some 20 integer operations, and where it matters which packed sequence a
/// row is of, its offsets are bisected once a work item. Compiled in the library for float and double, without dropout
/// for bool, on every enabled execution space.
template <class ExecutionSpace, class Scalar>
void copy_rows(const ExecutionSpace& exec, const RowCopy<Scalar>& copy, const DropoutMask<Scalar>& mask);

/// Packed sequences' final states.
template <class Scalar>
struct FinalStateCopy {
  const Scalar* states;      ///< (T, width)
  const Scalar* beginnings;  ///< (sequences, width): what stays of a sequence without steps
  Scalar* to;                ///< (sequences, width)
  const std::int64_t* offsets;
  std::int64_t sequences;
  int width;
};

/// Enqueues it: a word read and a word written for each number. Compiled in the library, as above.
template <class ExecutionSpace, class Scalar>
void copy_final_states(const ExecutionSpace& exec, const FinalStateCopy<Scalar>& copy);

}  // namespace elaphos::impl

#endif
