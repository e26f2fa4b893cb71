// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WIDE_MAP_HPP
#define ELAPHOS_IMPL_LINEAR_WIDE_MAP_HPP

#include <elaphos/impl/linear/wide_team.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace elaphos::impl {

/// A run's composed coefficients, `size` x `size` numbers that its threads read and write together, and one thread's tile
/// of the product with the next step's: as many columns as a pack has, and every so-many-th row of a panel.
///
/// A tile of R x C sums takes R + C packs from scratch memory for R C^2 multiply-adds.
template <class Member, class Scalar, int size>
struct WideMap {
  using Layout = WideLayout<Scalar, size>;
  using Team = WideTeam<Member, Scalar, size>;
  static constexpr std::size_t bytes = sizeof(Scalar) * size * size;
  static constexpr bool one_panel = Layout::panel_rows == size;
  /// Two maps in turn cost a barrier less than one, in scratch where both fit; one is enough if a panel is all of A_t.
  static constexpr bool in_place = one_panel && bytes > 4096 && bytes <= 16384;
  static constexpr bool in_memory = bytes > 4096 && !in_place;
  static constexpr int scratch_entries = in_memory ? 0 : (in_place ? size * size : 2 * size * size);
  static constexpr int memory_entries = in_memory ? 2 * size * size : 0;

  static constexpr int columns = Layout::pack;
  static constexpr int row_groups = columns;  // `size` threads: size / columns groups of columns
  static constexpr int rows = Layout::panel_rows / row_groups;
  /// One of a thread's rows is row `lane`, so that what reads it needs no second look; and rows lie without gaps.
  /// Narrow blocks spend their time on reading scratch memory.
  static constexpr bool has_own_row = size == 8;
  static constexpr int panel_stride = has_own_row ? size : Layout::row_stride;

  Scalar* before;
  Scalar* after;
  int column, row_group;
  Scalar sums[rows][columns];

  /// `memory`: of this run, where it is kept there.
  KOKKOS_FORCEINLINE_FUNCTION WideMap(const Team& team, Scalar* memory)
      : before(in_memory ? memory : team.take(scratch_entries, false)),
        after(in_place ? before : before + size * size),
        column((has_own_row ? team.lane / row_groups : team.lane % (size / columns)) * columns),
        row_group(has_own_row ? team.lane % row_groups : team.lane / (size / columns)) {}

  /// Row r of this thread's tile in a panel.
  KOKKOS_FORCEINLINE_FUNCTION int row(int r) const { return r * row_groups + row_group; }

  KOKKOS_FORCEINLINE_FUNCTION void set(const Team& team, bool identity) {
    for (int k = 0; k < size; ++k) {
      before[k * size + team.lane] = Scalar(identity && k == team.lane && k < team.K ? 1 : 0);
      if (!in_place) after[k * size + team.lane] = Scalar(0);
    }
  }

  /// Whether row r of this thread's tile is row `lane` of the panel.
  KOKKOS_FORCEINLINE_FUNCTION bool is_own(int r) const { return has_own_row && r * columns == column; }

  /// This thread's tile of the rows in a panel of A_t times `before`. On the way, `also(k)` is called for each pack of
  /// columns and `with_row(r, numbers)` for each row's numbers in them, for work that shares the loop.
  template <class Also, class WithRow>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Team& team, const Scalar* panel, const Also& also,
                                            const WithRow& with_row) {
    clear_sums();
    ELAPHOS_UNROLL_BY(size == 32 ? 2 : 1)
    for (int k = 0; k < team.K; k += Layout::pack) {
      Pack<Scalar> own[Layout::pack];
      ELAPHOS_UNROLL
      for (int v = 0; v < Layout::pack; ++v) own[v] = read_pack(before + (k + v) * size + column);
      also(k);
      ELAPHOS_UNROLL
      for (int r = 0; r < rows; ++r) {
        const Pack<Scalar> a = read_pack(panel + row(r) * panel_stride + k);
        with_row(r, a);
        ELAPHOS_UNROLL
        for (int v = 0; v < Layout::pack; ++v) {
          ELAPHOS_UNROLL
          for (int c = 0; c < columns; ++c) sums[r][c] = multiply_add_any(a.v[v], own[v].v[c], sums[r][c]);
        }
      }
    }
  }

  /// Keeps the tile, or zeros; what is padding stays zero.
  KOKKOS_FORCEINLINE_FUNCTION void keep(const Team& team, int first_row, bool zeros) {
    if (zeros) clear_sums();
    ELAPHOS_UNROLL
    for (int r = 0; r < rows; ++r) {
      if (first_row + row(r) >= team.K) continue;
      Pack<Scalar> pack;
      ELAPHOS_UNROLL
      for (int c = 0; c < columns; ++c) pack.v[c] = sums[r][c];
      write_pack(after + (first_row + row(r)) * size + column, pack);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void clear_sums() {
    ELAPHOS_UNROLL
    for (int r = 0; r < rows; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < columns; ++c) sums[r][c] = Scalar(0);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void swap() {
    if (in_place) return;
    Scalar* const behind = after;
    after = before;
    before = behind;
  }
};

}  // namespace elaphos::impl

#endif
