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
  using Copy = PanelCopy<Scalar, size, exact, piece>;

  LinearProblem<Scalar> problem;
  WideShape shape;
  TileTotals<Scalar> totals;

  static std::size_t scratch_bytes() {
    return Team::bytes(Layout::panel_entries) + Team::bytes(2 * size) + Team::bytes(Map::scratch_entries);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const Team team(member, problem, shape, exact ? size : problem.block_size);
    Scalar* const panel = team.take(Layout::panel_entries, !exact);
    Scalar* const offsets = team.take(2 * size, true);  // before and behind a step, in turn
    const std::int64_t run = team.tile * problem.channels() + team.channel;
    Map map(team, Map::in_memory && team.real ? totals.spare + run * Map::memory_entries : nullptr);
    const Copy copy(problem, team.lane);
    const std::int64_t first = team.tile * shape.run_steps;
    std::int64_t last = team.real ? first + shape.run_steps : first;
    if (last > problem.steps) last = problem.steps;
    const auto starts = [&](std::int64_t p) { return p < last ? team.start(p) : 0; };

    Scalar numbers[batch][piece];
    Scalar added[batch];
    const auto fetch = [&](std::int64_t p) {
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) {
        if (p + j >= last) continue;
        if (read_ahead) copy.fetch(numbers[j], team.matrix(p + j), 0, 0);
        added[j] = team.offset(p + j);
      }
    };
    fetch(first);
    team.barrier();  // scratch memory is zero
    const std::int32_t start = starts(first);
    if (team.real) map.set(team, start == 0);
    if (start != 0) offsets[team.lane] = team.first_state(start);

    int now = 0;
    for (std::int64_t i = 0; i < shape.run_steps; i += batch) {
      Scalar own_added[batch];
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) {
        own_added[j] = added[j];
        if (read_ahead && first + i + j < last) copy.publish(numbers[j], panel + j * Layout::matrix_entries, 0, 0);
      }
      if (read_ahead) team.barrier();
      fetch(first + i + batch);
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) {
        const std::int64_t p = first + i + j;
        const bool active = p < last;
        // A packed sequence brings its own state, whatever is before.
        const std::int32_t next_start = starts(p + 1);
        Scalar* const matrix = panel + j * Layout::matrix_entries;
        for (int first_row = 0; first_row < team.K; first_row += rows) {
          if constexpr (!read_ahead) {
            for (int part = 0; active && part < Copy::pieces; ++part) {
              copy.fetch(numbers[0], team.matrix(p), first_row, part);
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
    }
    if (!read_ahead) team.barrier();
    if (team.own()) finish(team, map, offsets[now * size + team.lane], first, last);
  }

 private:
  // This thread's tile of A_t times the map before, and its row times the offset before, plus b_t. Measured on an H200:
  // one loop for both is faster, but for blocks of 16, whose kernel then lacks registers.
  KOKKOS_FORCEINLINE_FUNCTION void compose(const Team& team, Map& map, const Scalar* panel, int first_row,
                                           const Scalar* before, Scalar* after, const Scalar& added) const {
    if constexpr (size == 16) {
      add_row(team, panel, first_row, before, after, added);
      map.multiply(team, panel, [](int) {});
    } else {
      const int own_row = team.lane - first_row;
      const bool has_row = own_row >= 0 && own_row < rows && team.lane < team.K;
      const Scalar* const row = panel + (has_row ? own_row : 0) * Layout::row_stride;
      Scalar sum = added;
      map.multiply(team, panel, [&](int k) { sum = Team::dot_pack(row + k, before + k, sum); });
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

  // A column of the map depends on no other, and a NaN stays in it: one look at the end is enough.
  KOKKOS_FORCEINLINE_FUNCTION void finish(const Team& team, const Map& map, Scalar offset, std::int64_t first,
                                          std::int64_t last) const {
    Scalar* const column = map.before + team.lane;
    bool suspect = false;
    for (int k = 0; k < team.K; ++k) suspect = suspect || is_nan(column[k * size]);
    if (suspect) column_with_care<Scalar, size>(problem, team.channel, first, last, team.lane, column);
    if (is_nan(offset)) offset = offset_with_care<Scalar, size>(problem, team.channel, first, last, team.lane);
    const std::int64_t to = team.place(team.tile);
    for (int k = 0; k < team.K; ++k) totals.A[(to + k) * team.K + team.lane] = map.before[k * size + team.lane];
    totals.b[to + team.lane] = offset;
  }
};

}  // namespace elaphos::impl

#endif
