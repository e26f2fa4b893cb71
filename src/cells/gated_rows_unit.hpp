// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_ROWS_UNIT_HPP
#define ELAPHOS_SRC_CELLS_GATED_ROWS_UNIT_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/segment_arguments.hpp>
#include <elaphos/impl/team_scratch.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// What a team knows of a segment that it advances.
struct SegmentRow {
  enum State : std::int32_t { done, running, ended, merged };  ///< the last two: with the step just made

  std::int64_t flat;   ///< the segment's number
  std::int64_t entry;  ///< t B + b of its first step
  std::int64_t last;   ///< its last step, counted from the first
  std::int32_t state;
  std::int32_t may_merge;
  std::int32_t has_merged;
  std::int32_t differs;  ///< of this step: the state from the stored one, in some bit
};

/// What a thread has to do with a step of some rows (`GatedRowsKernel`): the sums of one unit's gates.
template <class Kernel>
struct GatedRowsUnit {
  using Member = typename Kernel::Member;
  using Gates = typename Kernel::Gates;
  using Scalar = typename Kernel::Scalar;
  static constexpr int gates = Gates::count, width = Kernel::width, slices = Kernel::slices;
  static constexpr int rows = Kernel::rows, count = Kernel::rows_of_thread, pack = Pack<Scalar>::size;
  using Sums = Scalar[count][gates];
  using Numbers = Scalar[count];

  const Kernel& kernel;
  const Member& member;
  const int unit;
  const int first_row;
  const bool real;  // padded units stay at 0
  Scalar* const shared;
  SegmentRow* const table;

  KOKKOS_FUNCTION GatedRowsUnit(const Kernel& owner, const Member& team)
      : kernel(owner),
        member(team),
        unit(team.team_rank() % width),
        first_row(team.team_rank() / width * count),
        real(unit < owner.weights.hidden_size),
        shared(scratch_of<Scalar>(team, Kernel::scratch_bytes)),
        table(reinterpret_cast<SegmentRow*>(shared + Kernel::table)) {}

  // In the list of active segments.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_index() const { return std::int64_t(member.league_rank()) * rows; }
  KOKKOS_FORCEINLINE_FUNCTION bool has_segment(int place) const {
    const std::int64_t index = first_index() + place;
    return index < kernel.arguments.active_count && kernel.arguments.has(index);
  }

  KOKKOS_FORCEINLINE_FUNCTION SegmentRow& row(int r) const { return table[first_row + r]; }

  // Number `place` of some array (numbers, rows) in scratch, of this thread's rows.
  KOKKOS_FORCEINLINE_FUNCTION Scalar* numbers(int array, int place) const {
    return shared + array + place * rows + first_row;
  }

  KOKKOS_FORCEINLINE_FUNCTION void put(int array, int place, const Numbers& from) const {
    ELAPHOS_UNROLL
    for (int r = 0; r < count; r += pack) {
      Pack<Scalar> some;
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) some.v[v] = from[r + v];
      write_pack(numbers(array, place) + r, some);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void get(int array, int place, Numbers& to) const {
    ELAPHOS_UNROLL
    for (int r = 0; r < count; r += pack) {
      const Pack<Scalar> some = read_pack(numbers(array, place) + r);
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) to[r + v] = some.v[v];
    }
  }

  // Whether all inputs of a step are staged at once, while the step before is made.
  KOKKOS_FORCEINLINE_FUNCTION bool staged() const {
    return kernel.arguments.problem.inputs.count == 1 && kernel.weights.input_size <= width;
  }

  // An input of all rows; behind a row's end its last one stands in.
  KOKKOS_FORCEINLINE_FUNCTION void fetch(int block, int input, std::int64_t step, Numbers& x) const {
    const InputBlocks<Scalar>& inputs = kernel.arguments.problem.inputs;
    if (input >= inputs.sizes[block]) return;
    ELAPHOS_UNROLL
    for (int r = 0; r < count; ++r) {
      const SegmentRow& at = row(r);
      const std::int64_t own_step = step < at.last ? step : at.last;
      x[r] = inputs.row(block, at.entry + own_step * kernel.arguments.problem.batch)[input];
    }
  }

  // sums += a number of each row times the weights of a column.
  KOKKOS_FORCEINLINE_FUNCTION void add(const Numbers& factors, const Scalar* column, Sums& sums) const {
    Scalar weight[gates];
    for (int g = 0; g < gates; ++g) weight[g] = column[g * width];
    ELAPHOS_UNROLL
    for (int r = 0; r < count; ++r) {
      for (int g = 0; g < gates; ++g) sums[r][g] = multiply_add(factors[r], weight[g], sums[r][g]);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void start(const Scalar* bias, Sums& sums) const {
    for (int g = 0; g < gates; ++g) {
      const Scalar first = bias == nullptr ? Scalar(0) : bias[g * width + unit];
      ELAPHOS_UNROLL
      for (int r = 0; r < count; ++r) sums[r][g] = first;
    }
  }

  // The packs of h that slice `slice` of a sum takes, as `TeamWeights` has them.
  KOKKOS_FORCEINLINE_FUNCTION void add_slice(int slice, const Scalar* bias, Sums& sums) const {
    start(bias, sums);
    const Scalar* columns = kernel.weights.hidden_weights + unit;
    ELAPHOS_UNROLL_BY(2)
    for (int first = slice * pack; first < width; first += slices * pack) {
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) {
        Numbers h;
        get(Kernel::state, first + v, h);
        add(h, columns + (first + v) * gates * width, sums);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void join(Sums& sums, const Sums& others) {
    ELAPHOS_UNROLL
    for (int r = 0; r < count; ++r) {
      for (int g = 0; g < gates; ++g) sums[r][g] += others[r][g];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply_hidden(Sums& sums) const {
    add_slice(0, kernel.weights.hidden_bias, sums);
    if constexpr (slices > 1) {
      Sums second;
      add_slice(1, nullptr, second);
      join(sums, second);
    }
    if constexpr (slices == 4) {
      Sums third, fourth;
      add_slice(2, nullptr, third);
      add_slice(3, nullptr, fourth);
      join(third, fourth);
      join(sums, third);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void multiply_input(std::int64_t step, Sums& sums) const {
    start(kernel.weights.input_bias, sums);
    const Scalar* columns = kernel.weights.input_weights + unit;
    if (staged()) return add_staged(kernel.weights.input_size, columns, sums);
    const InputBlocks<Scalar>& inputs = kernel.arguments.problem.inputs;
    for (int block = 0; block < inputs.count; ++block) {
      for (int first = 0; first < inputs.sizes[block]; first += width) {
        const int left = inputs.sizes[block] - first;
        Numbers x;
        fetch(block, first + unit, step, x);
        member.team_barrier();
        if (unit < left) put(Kernel::inputs, unit, x);
        member.team_barrier();
        add_staged(left < width ? left : width, columns, sums);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_staged(int inputs, const Scalar*& columns, Sums& sums) const {
    ELAPHOS_UNROLL_BY(4)
    for (int i = 0; i < inputs; ++i) {
      Numbers x;
      get(Kernel::inputs, i, x);
      add(x, columns, sums);
      columns += gates * width;
    }
  }
};

}  // namespace elaphos::impl

#endif
