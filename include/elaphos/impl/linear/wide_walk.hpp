// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WIDE_WALK_HPP
#define ELAPHOS_IMPL_LINEAR_WIDE_WALK_HPP

#include <elaphos/impl/linear/panel_copy.hpp>
#include <elaphos/impl/linear/wide_team.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Walks runs from a known state, a row a thread: K^2 + K words read a step and K written, the next matrix on its way
/// while a step waits for the state. With `ends`, the states behind tiles, every tile by itself; without, all
/// steps of a channel in one run.
template <class Member, class Scalar, int size, bool exact>
struct WideWalk {
  using Layout = WideLayout<Scalar, size>;
  using Team = WideTeam<Member, Scalar, size>;
  static constexpr int rows = Layout::panel_rows, batch = Layout::batch;
  using Copy = PanelCopy<Scalar, size, exact, rows>;
  // Two panels in turn save a barrier for each; where a panel holds several steps, room for more teams is worth more.
  static constexpr int panel_count = batch == 1 ? 2 : 1;

  LinearProblem<Scalar> problem;
  WideShape shape;
  const Scalar* ends;  // behind each composed map: (maps, channels, K), or null
  const Scalar* kept;  // of teams in line: the maps up to each run, as `WideFold` keeps them

  static std::size_t scratch_bytes() { return Team::bytes(panel_count * Layout::panel_entries) + Team::bytes(2 * size); }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const Team team(member, problem, shape, exact ? size : problem.block_size);
    Scalar* const panels = team.take(panel_count * Layout::panel_entries, !exact);
    Scalar* const states = team.take(2 * size, true);  // in turn, so that one barrier a step is enough
    const Copy copy(problem, team.lane);
    const int lane = team.lane;
    const std::int64_t first = shape.first_step(team.tile);
    const std::int64_t last = team.real ? shape.first_step(team.tile + 1) : first;

    Scalar numbers[batch][rows];
    Scalar added[batch];
    const auto fetch = [&](std::int64_t p, int first_row) {
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) {
        if (p + j >= last) continue;
        copy.fetch(numbers[j], team.matrix(p + j), first_row, 0);
        if (first_row == 0) added[j] = team.offset(p + j);
      }
    };
    fetch(first, 0);
    team.barrier();  // scratch memory is zero
    Scalar own = team.own() ? entry(team) : Scalar(0);
    if (first < last && team.start(first) != 0) own = team.first_state(team.start(first));
    states[lane] = own;

    int now = 0, panel_now = 0;
    for (std::int64_t i = 0; i < shape.most_steps(); i += batch) {
      Scalar own_added[batch];
      ELAPHOS_UNROLL
      for (int j = 0; j < batch; ++j) own_added[j] = added[j];
      for (int first_row = 0; first_row < team.K; first_row += rows) {
        Scalar* const panel = panels + panel_now * Layout::panel_entries;
        ELAPHOS_UNROLL
        for (int j = 0; j < batch; ++j) {
          if (first + i + j < last) copy.publish(numbers[j], panel + j * Layout::matrix_entries, first_row, 0);
        }
        team.barrier();
        const bool same_step = first_row + rows < team.K;
        fetch(same_step ? first + i : first + i + batch, same_step ? first_row + rows : 0);
        ELAPHOS_UNROLL
        for (int j = 0; j < batch; ++j) {
          const std::int64_t p = first + i + j;
          const bool active = p < last;
          const int own_row = lane - first_row;
          if (active && own_row >= 0 && own_row < rows && lane < team.K) {
            const Scalar* const row = panel + j * Layout::matrix_entries + own_row * Layout::row_stride;
            own = team.dot(row, states + now * size, own_added[j]);
            if (problem.composed && is_nan(own)) own = team.safe_dot(row, states + now * size, own_added[j]);
            if (problem.y != nullptr) problem.y[team.entry(p)] = own;
            // A packed sequence brings its own state, whatever is before.
            const std::int32_t next_start = p + 1 < last ? team.start(p + 1) : 0;
            states[(1 - now) * size + lane] = next_start != 0 ? team.first_state(next_start) : own;
          }
          if (active && !same_step) now = 1 - now;
          if (j + 1 < batch) team.barrier();
        }
        if (panel_count == 2) {
          panel_now = 1 - panel_now;
        } else {
          team.barrier();
        }
      }
    }
    if (problem.end != nullptr && team.own() && last == problem.steps && first < last) {
      problem.end[team.channel * team.K + lane] = own;
    }
  }

 private:
  KOKKOS_FUNCTION Scalar entry(const Team& team) const {
    const Scalar* front = nullptr;  // of the group; null for zeros
    if (ends != nullptr && team.group > 0) {
      front = ends + team.place(team.group - 1);
    } else if (problem.y0 != nullptr && problem.starts == nullptr) {
      front = problem.y0 + team.channel * team.K;
    }
    const std::int64_t run = team.tile - team.group * shape.line;
    if (run == 0) return front != nullptr ? front[team.lane] : Scalar(0);
    const Scalar* const map = kept + team.kept_place(run);
    const Scalar* const row = map + team.lane * team.K;
    const Scalar offset = map[team.K * team.K + team.lane];
    if (front == nullptr) return offset;
    Scalar sum = offset;
    for (int k = 0; k < team.K; ++k) sum = multiply_add_any(row[k], front[k], sum);
    return is_nan(sum) ? team.safe_dot(row, front, offset) : sum;
  }
};

}  // namespace elaphos::impl

#endif
