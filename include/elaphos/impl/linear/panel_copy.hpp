// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_PANEL_COPY_HPP
#define ELAPHOS_IMPL_LINEAR_PANEL_COPY_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/wide_team.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// One thread's part in copying a panel of a matrix, from memory to `count` of its registers and on to scratch, in
/// `pieces` that the caller goes through. Threads side by side read memory side by side, whether rows or
/// columns lie in one piece there.
///
/// `exact`: blocks are as wide as the kernel, of one piece and aligned, and are read in packs.
/// `stride`: from row to row of a panel.
template <class Scalar, int size, bool exact, int count, int stride = WideLayout<Scalar, size>::row_stride>
struct PanelCopy {
  using Layout = WideLayout<Scalar, size>;
  static constexpr int rows = Layout::panel_rows;
  static constexpr int pieces = rows / count;
  static constexpr int pack = exact ? Layout::pack : 1;
  static_assert(rows % count == 0 && count % pack == 0);
  int K, lane;
  std::int64_t row_pitch, column_pitch;

  KOKKOS_FUNCTION PanelCopy(const LinearProblem<Scalar>& problem, int its_lane)
      : K(problem.block_size), lane(its_lane), row_pitch(problem.a.row), column_pitch(problem.a.column) {}

  static bool possible(const LinearProblem<Scalar>& problem) {
    if (!exact) return true;
    const auto& a = problem.a;
    const bool whole = a.time % pack == 0 && a.sequence % pack == 0 && a.block % pack == 0;
    const bool in_rows = a.row == size && a.column == 1, in_columns = a.row == 1 && a.column == size;
    return problem.block_size == size && (in_rows || in_columns) && whole && aligned_for_packs(a.data);
  }

  /// Reads from rows first_row, ... of a matrix; null stands for the identity.
  KOKKOS_FORCEINLINE_FUNCTION void fetch(Scalar (&numbers)[count], const Scalar* matrix, int first_row, int piece) const {
    if (matrix == nullptr) return fetch_identity(numbers, first_row, piece);
    if (column_pitch == 1) {
      fetch_rows(numbers, matrix, first_row, piece);
    } else {
      for_each<true>(first_row, piece, [&](int q, int row, int column) {
        get(numbers, q, matrix + std::int64_t(column) * (exact ? size : column_pitch) + first_row + row);
      });
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void publish(const Scalar (&numbers)[count], Scalar* panel, int first_row,
                                           int piece) const {
    if (column_pitch == 1) {
      publish_rows(numbers, panel, first_row, piece);
    } else {
      for_each<true>(first_row, piece, [&](int q, int row, int column) {
        ELAPHOS_UNROLL
        for (int v = 0; v < pack; ++v) panel[(row + v) * stride + column] = numbers[q + v];
      });
    }
  }

  /// The same of a matrix whose rows lie in one piece, where that is known.
  KOKKOS_FORCEINLINE_FUNCTION void fetch_rows(Scalar (&numbers)[count], const Scalar* matrix, int first_row,
                                              int piece) const {
    for_each<false>(first_row, piece, [&](int q, int row, int column) {
      get(numbers, q, matrix + std::int64_t(first_row + row) * (exact ? size : row_pitch) + column);
    });
  }
  KOKKOS_FORCEINLINE_FUNCTION void publish_rows(const Scalar (&numbers)[count], Scalar* panel, int first_row,
                                                int piece) const {
    for_each<false>(first_row, piece, [&](int q, int row, int column) {
      Scalar* const to = panel + row * stride + column;
      if constexpr (exact) {
        Pack<Scalar> all;
        ELAPHOS_UNROLL
        for (int v = 0; v < pack; ++v) all.v[v] = numbers[q + v];
        write_pack(to, all);
      } else {
        *to = numbers[q];
      }
    });
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION static void get(Scalar (&numbers)[count], int q, const Scalar* from) {
    if constexpr (exact) {
      const Pack<Scalar> all = read_pack(from);
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) numbers[q + v] = all.v[v];
    } else {
      numbers[q] = *from;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void fetch_identity(Scalar (&numbers)[count], int first_row, int piece) const {
    const auto set = [&](int q, int row, int column, bool in_columns) {
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) {
        const bool one = in_columns ? first_row + row + v == column : first_row + row == column + v;
        numbers[q + v] = Scalar(one ? 1 : 0);
      }
    };
    if (column_pitch == 1) {
      for_each<false>(first_row, piece, [&](int q, int row, int column) { set(q, row, column, false); });
    } else {
      for_each<true>(first_row, piece, [&](int q, int row, int column) { set(q, row, column, true); });
    }
  }

  // Calls `work(q, row, column)` for each pack of this thread in a piece, from number q on; rows count within the panel.
  template <bool in_columns, class Work>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(int first_row, int piece, const Work& work) const {
    if constexpr (exact) {
      constexpr int line = in_columns ? rows : size;
      ELAPHOS_UNROLL
      for (int q = 0; q < count; q += pack) {
        const int e = (piece * count + q) * size + lane * pack;
        work(q, in_columns ? e % line : e / line, in_columns ? e / line : e % line);
      }
    } else {
      const int left = K - first_row, its_rows = left < rows ? left : rows;
      const int line = in_columns ? its_rows : K, lines = in_columns ? K : its_rows;
      const int first = piece * count * size + lane, jump = size / line;
      int at = first / line, place = first - at * line;
      ELAPHOS_UNROLL
      for (int q = 0; q < count; ++q) {
        if (at < lines) work(q, in_columns ? place : at, in_columns ? at : place);
        at += jump;
        place += size - jump * line;
        if (place >= line) {
          place -= line;
          ++at;
        }
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
