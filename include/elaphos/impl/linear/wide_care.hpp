// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WIDE_CARE_HPP
#define ELAPHOS_IMPL_LINEAR_WIDE_CARE_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

// A run's composed map once more, where a zero wins over an infinity, for what has become NaN when composed plainly. A
// thread does a vector by itself, straight from memory: slow and rare, and kept out of the kernel's registers.

/// Moves a vector, a column of the map or (`affine`) the offset, over one step.
template <class Scalar, int size>
KOKKOS_FORCEINLINE_FUNCTION void step_with_care(const ChannelReader<Scalar, 1>& reader, std::int64_t p, bool affine,
                                                Scalar (&vector)[size]) {
  const LinearProblem<Scalar>& problem = reader.problem;
  const int K = problem.block_size;
  const std::int32_t start = reader.start(p);
  if (start != 0) {
    const bool given = affine && problem.y0 != nullptr;
    ELAPHOS_UNROLL_BY(1)
    for (int r = 0; r < K; ++r) vector[r] = given ? reader.first_state(start, r) : Scalar(0);
  }
  const Scalar* const from = reader.matrix(p);
  const Scalar* const added = affine && problem.b != nullptr ? problem.b + reader.entry(problem.time(p)) : nullptr;
  Scalar next[size];
  ELAPHOS_UNROLL_BY(1)
  for (int r = 0; r < K; ++r) {
    const Scalar offset = added != nullptr ? added[r] : Scalar(0);
    if (from == nullptr) {
      next[r] = vector[r] + offset;
      continue;
    }
    const Scalar* const row = from + r * problem.a.row;
    next[r] = offset;
    ELAPHOS_UNROLL_BY(1)
    for (int k = 0; k < K; ++k) next[r] = multiply_add_any(row[k * problem.a.column], vector[k], next[r]);
    if (!is_nan(next[r])) continue;
    next[r] = offset;
    ELAPHOS_UNROLL_BY(1)
    for (int k = 0; k < K; ++k) {
      next[r] = next[r] + overflow_safe_product(row[k * problem.a.column], vector[k], problem.packed);
    }
  }
  ELAPHOS_UNROLL_BY(1)
  for (int r = 0; r < K; ++r) vector[r] = next[r];
}

/// Column `column` of the map of steps [first, last) of a channel, to every `size`-th number from `to` on.
template <class Scalar, int size>
KOKKOS_FORCEINLINE_FUNCTION void column_with_care(const LinearProblem<Scalar>& problem, std::int64_t channel,
                                                  std::int64_t first, std::int64_t last, int column, Scalar* to) {
  const ChannelReader<Scalar, 1> reader(problem, channel);
  Scalar vector[size];
  ELAPHOS_UNROLL_BY(1)
  for (int r = 0; r < problem.block_size; ++r) vector[r] = Scalar(r == column ? 1 : 0);
  ELAPHOS_UNROLL_BY(1)
  for (std::int64_t p = first; p < last; ++p) step_with_care(reader, p, false, vector);
  ELAPHOS_UNROLL_BY(1)
  for (int r = 0; r < problem.block_size; ++r) to[r * size] = vector[r];
}

/// Number `row` of the offset of steps [first, last) of a channel.
template <class Scalar, int size>
KOKKOS_FORCEINLINE_FUNCTION Scalar offset_with_care(const LinearProblem<Scalar>& problem, std::int64_t channel,
                                                    std::int64_t first, std::int64_t last, int row) {
  const ChannelReader<Scalar, 1> reader(problem, channel);
  Scalar vector[size];
  ELAPHOS_UNROLL_BY(1)
  for (int r = 0; r < problem.block_size; ++r) vector[r] = Scalar(0);
  ELAPHOS_UNROLL_BY(1)
  for (std::int64_t p = first; p < last; ++p) step_with_care(reader, p, true, vector);
  return vector[row];
}

}  // namespace elaphos::impl

#endif
