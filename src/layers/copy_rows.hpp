// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_LAYERS_COPY_ROWS_HPP
#define ELAPHOS_SRC_LAYERS_COPY_ROWS_HPP

#include "../execution_spaces.hpp"

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/layers/copy_rows.hpp>
#include <elaphos/impl/time_division.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

inline constexpr int units_of_a_call = 4;

/// Where a row stands among its sequence's steps.
struct RowPlace {
  std::int64_t t, sequence;
  std::int64_t mirror;  // the row of the same sequence as far from its end
};

/// A work item takes `chunk` neighbouring units of a row: all of them on a host, so that it divides by B once a row; on
/// a device a number, or the four that share random words.
template <class Scalar>
struct CopyRows {
  RowCopy<Scalar> rows;
  DropoutMask<Scalar> mask;
  int first;  // rows.offset, with dropout rounded down to a unit at which a call of Philox begins
  int chunk;
  std::int64_t chunks;
  bool masked;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = index / chunks;
    const RowPlace place = masked || rows.reversed ? place_of(row) : RowPlace{};
    const Scalar* from = rows.from + (rows.reversed ? place.mirror : row) * rows.from_width;
    Scalar* to = rows.to + row * rows.to_width;
    const int begin = first + static_cast<int>(index % chunks) * chunk;
    const int last = rows.offset + rows.count;
    const int end = begin + chunk < last ? begin + chunk : last;
    if constexpr (!std::is_same_v<Scalar, bool>) {
      if (masked) {
        for (int unit = begin; unit < end; unit += units_of_a_call) copy_masked(from, to, place, unit, end);
        return;
      }
    }
    for (int unit = begin; unit < end; ++unit) to[unit] = from[unit - rows.offset];
  }

  KOKKOS_FUNCTION RowPlace place_of(std::int64_t row) const {
    if (rows.offsets == nullptr) {
      const std::int64_t t = row / rows.batch, b = row % rows.batch;
      return {t, b, (rows.steps - 1 - t) * rows.batch + b};
    }
    const std::int64_t sequence = packed_sequence_at(rows.offsets, rows.sequences, row);
    const std::int64_t begin = rows.offsets[sequence], end = rows.offsets[sequence + 1];
    return {row - begin, sequence, end - 1 - (row - begin)};
  }

  KOKKOS_FUNCTION void copy_masked(const Scalar* from, Scalar* to, const RowPlace& place, int unit, int end) const {
    const PhiloxWords words = mask.words(place.t, place.sequence, unit / units_of_a_call);
    ELAPHOS_UNROLL
    for (int v = 0; v < units_of_a_call; ++v) {
      if (unit + v < rows.offset || unit + v >= end) continue;
      to[unit + v] = mask.applied(from[unit + v - rows.offset], words.v[v]);
    }
  }
};

/// A work item copies a number.
template <class Scalar>
struct CopyFinalStates {
  FinalStateCopy<Scalar> copy;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t sequence = index / copy.width, unit = index % copy.width;
    const std::int64_t end = copy.offsets[sequence + 1];
    copy.to[index] =
        end == copy.offsets[sequence] ? copy.beginnings[index] : copy.states[(end - 1) * copy.width + unit];
  }
};

template <class ExecutionSpace, class Scalar>
void copy_rows(const ExecutionSpace& exec, const RowCopy<Scalar>& copy, const DropoutMask<Scalar>& mask) {
  const bool masked = mask.threshold != 0;
  const int first = masked ? copy.offset - copy.offset % units_of_a_call : copy.offset;
  const int units = copy.offset + copy.count - first;
  const int chunk = runs_on_host<ExecutionSpace> ? units : masked ? units_of_a_call : 1;
  const std::int64_t rows = copy.steps * copy.batch;
  if (rows == 0 || copy.count == 0) return;
  const std::int64_t chunks = divide_up(std::int64_t(units), std::int64_t(chunk));
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::copy_rows", Policy(exec, 0, rows * chunks),
                       CopyRows<Scalar>{copy, mask, first, chunk, chunks, masked});
}

template <class ExecutionSpace, class Scalar>
void copy_final_states(const ExecutionSpace& exec, const FinalStateCopy<Scalar>& copy) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::copy_final_states", Policy(exec, 0, copy.sequences * copy.width),
                       CopyFinalStates<Scalar>{copy});
}

}  // namespace elaphos::impl

#endif
