// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_LAYERS_COPY_ROWS_HPP
#define ELAPHOS_SRC_LAYERS_COPY_ROWS_HPP

#include "../execution_spaces.hpp"

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/layers/copy_rows.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

inline constexpr int units_of_a_call = 4;

/// A work item takes `chunk` neighbouring units of a row: all of them on a host, so that it divides by B once a row; on
/// a device a number, or the four that share random words.
template <class Scalar, bool Masked>
struct CopyRows {
  RowCopy<Scalar> rows;
  DropoutMask<Scalar> mask;
  int first;  // rows.offset, with dropout rounded down to a unit at which a call of Philox begins
  int chunk;
  std::int64_t chunks;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = index / chunks, t = row / rows.batch, b = row % rows.batch;
    const std::int64_t from_row = rows.reversed ? (rows.steps - 1 - t) * rows.batch + b : row;
    const Scalar* from = rows.from + from_row * rows.from_width;
    Scalar* to = rows.to + row * rows.to_width;
    const int begin = first + static_cast<int>(index % chunks) * chunk;
    const int last = rows.offset + rows.count;
    const int end = begin + chunk < last ? begin + chunk : last;
    if constexpr (Masked) {
      for (int unit = begin; unit < end; unit += units_of_a_call) copy_masked(from, to, t, b, unit, end);
    } else {
      for (int unit = begin; unit < end; ++unit) to[unit] = from[unit - rows.offset];
    }
  }

  KOKKOS_FUNCTION void copy_masked(const Scalar* from, Scalar* to, std::int64_t t, std::int64_t b, int unit,
                                   int end) const {
    const PhiloxWords words = mask.words(t, b, unit / units_of_a_call);
    ELAPHOS_UNROLL
    for (int v = 0; v < units_of_a_call; ++v) {
      if (unit + v < rows.offset || unit + v >= end) continue;
      to[unit + v] = mask.applied(from[unit + v - rows.offset], words.v[v]);
    }
  }
};

template <bool Masked, class ExecutionSpace, class Scalar>
void launch_copy(const ExecutionSpace& exec, const RowCopy<Scalar>& copy, const DropoutMask<Scalar>& mask) {
  const int first = Masked ? copy.offset - copy.offset % units_of_a_call : copy.offset;
  const int units = copy.offset + copy.count - first;
  const int chunk = runs_on_host<ExecutionSpace> ? units : Masked ? units_of_a_call : 1;
  const std::int64_t rows = copy.steps * copy.batch;
  if (rows == 0 || copy.count == 0) return;
  const std::int64_t chunks = divide_up(std::int64_t(units), std::int64_t(chunk));
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::copy_rows", Policy(exec, 0, rows * chunks),
                       CopyRows<Scalar, Masked>{copy, mask, first, chunk, chunks});
}

template <class ExecutionSpace, class Scalar>
void copy_rows(const ExecutionSpace& exec, const RowCopy<Scalar>& copy, const DropoutMask<Scalar>& mask) {
  if (mask.threshold == 0) {
    launch_copy<false>(exec, copy, mask);
  } else {
    launch_copy<true>(exec, copy, mask);
  }
}

}  // namespace elaphos::impl

#endif
