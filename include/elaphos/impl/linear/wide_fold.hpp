// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WIDE_FOLD_HPP
#define ELAPHOS_IMPL_LINEAR_WIDE_FOLD_HPP

#include <elaphos/impl/linear/panel_copy.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>
#include <elaphos/impl/linear/wide_care.hpp>
#include <elaphos/impl/linear/wide_map.hpp>
#include <elaphos/impl/linear/wide_team.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// The composed map of every run. Reads A_t and b_t once; K^3 + K^2 multiply-adds a step.
template <class Member, class Scalar, int size, bool exact>
struct WideFold {
  using Layout = WideLayout<Scalar, size>;
  using Team = WideTeam<Member, Scalar, size>;
  using Map = WideMap<Member, Scalar, size>;
  static constexpr int rows = Layout::panel_rows, batch = Layout::batch;
  // Up to here registers hold the next steps' matrices while these are composed; wider ones copy in pieces, and other
  // teams of the processor compute meanwhile.
  static constexpr bool read_ahead = size <= 32;
  static constexpr int piece = read_ahead ? rows : 16;
  using Copy = PanelCopy<Scalar, size, exact, piece, Map::panel_stride>;
  static constexpr int matrix_entries = rows * Map::panel_stride;
  // Runs' rows begin so far apart that they are read at once.
  static constexpr int panel_entries = batch * matrix_entries - (Map::has_own_row ? Layout::pack : 0);

  LinearProblem<Scalar> problem;
  WideShape shape;
  TileTotals<Scalar> totals;

  static std::size_t scratch_bytes() {
    return Team::bytes(panel_entries) + Team::bytes(2 * size) + Team::bytes(Map::scratch_entries);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const Team team(member, problem, shape, exact ? size : problem.block_size);
    Scalar* const panel = team.take(panel_entries, !exact);
    Scalar* const offsets = team.take(2 * size, true);  // before and behind a step, in turn
    const std::int64_t run = team.tile * problem.channels() + team.channel;
    Map map(team, Map::in_memory && team.real ? totals.spare + run * Map::memory_entries : nullptr);
    const Copy copy(problem, team.lane);
    const std::int64_t first = shape.first_step(team.tile);
    const std::int64_t last = team.real ? shape.first_step(team.tile + 1) : first;
    const auto starts = [&](std::int64_t p) { return p < last ? team.start(p) : 0; };

    Scalar numbers[batch][piece];
    Scalar added[batch];
    // `plainly`: all steps are there, and plain.
    const auto fetch = [&]<bool plainly>(std::bool_constant<plainly>, std::int64_t p) {
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) {
        if constexpr (plainly) {
          copy.fetch_rows(numbers[j], team.plain_matrix(p + j), 0, 0);
          added[j] = team.plain_offset(p + j);
        } else {
          if (p + j >= last) continue;
          if (read_ahead) copy.fetch(numbers[j], team.matrix(p + j), 0, 0);
          added[j] = team.offset(p + j);
        }
      }
    };
    fetch(std::false_type(), first);
    team.barrier();  // scratch memory is zero
    const std::int32_t start = starts(first);
    if (team.real) map.set(team, start == 0);
    if (start != 0) offsets[team.lane] = team.first_state(start);

    int now = 0;
    // Composes the next steps, and reads those behind them.
    const auto advance = [&]<bool plainly>(std::bool_constant<plainly> how, std::int64_t p) {
      Scalar own_added[batch];
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) {
        own_added[j] = added[j];
        Scalar* const matrix = panel + j * matrix_entries;
        if constexpr (plainly) {
          copy.publish_rows(numbers[j], matrix, 0, 0);
        } else {
          if (read_ahead && p + j < last) copy.publish(numbers[j], matrix, 0, 0);
        }
      }
      if (read_ahead) team.barrier();
      fetch(how, p + batch);
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) {
        const bool active = plainly || p + j < last;
        // A packed sequence brings its own state, whatever is before.
        const std::int32_t next_start = plainly ? 0 : starts(p + j + 1);
        Scalar* const matrix = panel + j * matrix_entries;
        for (int first_row = 0; first_row < team.K; first_row += rows) {
          if constexpr (!read_ahead) {
            for (int part = 0; active && part < Copy::pieces; ++part) {
              copy.fetch(numbers[0], team.matrix(p + j), first_row, part);
              copy.publish(numbers[0], matrix, first_row, part);
            }
            team.barrier();
          }
          if (active) {
            compose(team, map, matrix, first_row, offsets + now * size, offsets + (1 - now) * size, own_added[j]);
          }
          if (Map::in_place || !read_ahead) team.barrier();
          if (active) map.keep(team, first_row, next_start != 0);
        }
        if (active) {
          now = 1 - now;
          map.swap();
          if (next_start != 0) offsets[now * size + team.lane] = team.first_state(next_start);
        }
        if (read_ahead) team.barrier();
      }
    };
    std::int64_t i = 0;
    if constexpr (exact && read_ahead) {
      // Nearly all of a narrow block's time goes into what else a step may be, so that is asked once.
      if (copy.column_pitch == 1 && team.plain() && team.full) {
        for (; i + 2 * batch <= shape.run_steps; i += batch) advance(std::true_type(), first + i);
      }
    }
    for (; i < shape.most_steps(); i += batch) advance(std::false_type(), first + i);
    if (!read_ahead) team.barrier();
    if constexpr (Layout::runs > 1) {
      if (shape.line > 1) return compose_line(team, map, panel, offsets, now, first);
    }
    if (team.own()) {
      const std::int64_t to = team.place(team.group);
      finish(team, map, offsets[now * size + team.lane], first, last, totals.A + to * team.K, totals.b + to);
    }
  }

 private:
  // This thread's tile of A_t times the map before, and its row times the offset before, plus b_t. Measured on an H200:
  // one loop for both is faster, but for blocks of 16, whose kernel then lacks registers.
  KOKKOS_FORCEINLINE_FUNCTION void compose(const Team& team, Map& map, const Scalar* panel, int first_row,
                                           const Scalar* before, Scalar* after, const Scalar& added) const {
    const auto nothing = [](int, const Pack<Scalar>&) {};
    if constexpr (size == 16) {
      add_row(team, panel, first_row, before, after, added);
      map.multiply(team, panel, [](int) {}, nothing);
    } else if constexpr (Map::has_own_row) {
      Pack<Scalar> some;
      Scalar sum = added;
      map.multiply(
          team, panel, [&](int k) { some = read_pack(before + k); },
          [&](int r, const Pack<Scalar>& row) {
            if (!map.is_own(r)) return;
            ELAPHOS_UNROLL
            for (int v = 0; v < Layout::pack; ++v) sum = multiply_add_any(row.v[v], some.v[v], sum);
          });
      after[team.lane] = sum;
    } else {
      const int own_row = team.lane - first_row;
      const bool has_row = own_row >= 0 && own_row < rows && team.lane < team.K;
      const Scalar* const row = panel + (has_row ? own_row : 0) * Layout::row_stride;
      Scalar sum = added;
      map.multiply(team, panel, [&](int k) { sum = Team::dot_pack(row + k, before + k, sum); }, nothing);
      if (!has_row) return;
      after[team.lane] = sum;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_row(const Team& team, const Scalar* panel, int first_row, const Scalar* before,
                                           Scalar* after, const Scalar& added) const {
    const int own_row = team.lane - first_row;
    if (own_row < 0 || own_row >= rows || team.lane >= team.K) return;
    const Scalar* const row = panel + own_row * Layout::row_stride;
    after[team.lane] = team.dot(row, before, added);
  }

  // The first run's threads compose the other runs' maps, and keep each run's map from the team's front on for the walk.
  KOKKOS_FORCEINLINE_FUNCTION void compose_line(const Team& team, Map& map, Scalar* panel, Scalar* offsets, int now,
                                                std::int64_t first) const {
    ELAPHOS_UNROLL_BY(1)
    for (int k = 0; k < size; ++k) panel[k * Map::panel_stride + team.lane] = map.before[k * size + team.lane];
    // Beside the matrix: behind its last row, or in the gaps between rows.
    const int offset_place = Map::has_own_row ? matrix_entries + team.lane : team.lane * Map::panel_stride + size;
    panel[offset_place] = offsets[now * size + team.lane];
    team.barrier();
    const bool composes = team.run == 0;
    const std::int64_t to = team.place(team.group);
    ELAPHOS_UNROLL_BY(1)
    for (int run = 1;; ++run) {
      const bool all = run == shape.line;
      if (composes && team.lane < team.K) {
        const std::int64_t last = shape.first_step(team.group * shape.line + run);
        Scalar* const kept = totals.spare + team.kept_place(run);
        finish(team, map, offsets[now * size + team.lane], first, last, all ? totals.A + to * team.K : kept,
               all ? totals.b + to : kept + team.K * team.K);
      }
      if (all) return;
      team.barrier();
      const Scalar* const its = panel + run * (panel_entries + Layout::run_gap);
      const Scalar added = its[offset_place];
      if (composes) compose(team, map, its, 0, offsets + now * size, offsets + (1 - now) * size, added);
      team.barrier();
      if (composes) map.keep(team, 0, false);
      now = 1 - now;
      map.swap();
      team.barrier();
    }
  }

  // A column of the map depends on no other, and a NaN stays in it: one look at the end is enough.
  KOKKOS_FORCEINLINE_FUNCTION void finish(const Team& team, const Map& map, Scalar& offset, std::int64_t first,
                                          std::int64_t last, Scalar* A, Scalar* b) const {
    Scalar* const column = map.before + team.lane;
    bool suspect = false;
    for (int k = 0; k < team.K; ++k) suspect = suspect || is_nan(column[k * size]);
    if (suspect) column_with_care<Scalar, size>(problem, team.channel, first, last, team.lane, column);
    if (is_nan(offset)) offset = offset_with_care<Scalar, size>(problem, team.channel, first, last, team.lane);
    for (int k = 0; k < team.K; ++k) A[k * team.K + team.lane] = map.before[k * size + team.lane];
    b[team.lane] = offset;
  }
};

}  // namespace elaphos::impl

#endif
