// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_BLOCK_PASS_HPP
#define ELAPHOS_IMPL_LINEAR_BLOCK_PASS_HPP

#include <elaphos/impl/linear/block_line.hpp>
#include <elaphos/impl/linear/notice_board.hpp>
#include <elaphos/impl/linear/team_boards.hpp>
#include <elaphos/impl/linear/tile_kernels.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

// Both walks over one channel of small blocks by one kernel, where teams run on once they have started, as CUDA's do. A
// warp takes some tiles in line, of a run a thread. It folds them, last tile first; its team tells the others the
// composed map of its warps, and composes its predecessors' maps; and the warp walks its tiles from there on: the first
// is still in scratch memory, and those behind it were read last and may be in the cache.
//
// Nobody waits in vain: teams draw their places in order, and tell before they wait, for earlier places alone. Bits
// repeat: maps are composed in order, whoever came first.

/// Reads K^2 + K words a step, twice but for each warp's first tile, and writes K; a team reads a map of each team
/// before it, from the cache.
template <class Member, class Scalar, int size>
struct BlockPass {
  using Tile = BlockLine<Member, Scalar, size>;
  using Team = typename Tile::Team;
  using Map = AffineMap<Scalar, size>;
  using Maps = NoticeBoard<Scalar, size * size + size>;
  LinearProblem<Scalar> problem;
  TileShape shape;  ///< `tiles` of a warp
  TeamBoards boards;
  int places;  ///< teams
  int share;   ///< maps that a thread looks at, at most

  /// Words of a board.
  KOKKOS_FUNCTION static std::int64_t words(int share, const TileShape& shape) {
    return std::int64_t(Maps::words) * share * shape.team_size();
  }

  static std::size_t scratch_bytes(const TileShape& shape) {
    return Team::scratch_bytes(shape) + Tile::scratch_bytes(shape) + 2 * sizeof(Map) * std::size_t(shape.warps()) + 64;
  }

  KOKKOS_FUNCTION void operator()([[maybe_unused]] const Member& member) const {
#if ELAPHOS_HAS_WARPS
    Team team(member, problem, shape, 0);
    Tile thread(team, problem, 0, Tile::warp_steps);
    Map* const seen = team.scratch.template take<Map>(std::size_t(shape.warps()));
    Map* const own_maps = team.scratch.template take<Map>(std::size_t(shape.warps()));
    auto* const drawn = team.scratch.template take<TeamBoards::Turn>(1);
    if (member.team_rank() == 0) *drawn = boards.draw(places, words(share, shape));
    member.team_barrier();
    const int place = drawn->place, warp = member.team_rank() / warp_size;
    const bool last_in_warp = member.team_rank() % warp_size == warp_size - 1;
    const std::int64_t first = first_tile(place * shape.warps() + warp);
    const std::int64_t last = first_tile(place * shape.warps() + warp + 1);
    const bool any = first < last;
    Scalar state[size];
    std::int64_t tile = last - 1;
    if (any) {
      thread.load(tile);
    } else if (last_in_warp) {
      own_maps[warp].set_identity();
    }
    // One loop for both walks, since a tile's code is long.
    for (bool folding = true;;) {
      if (any) {
        const Map own = thread.fold_loaded(tile);
        if (folding && tile > first) thread.load(tile - 1);
        const Map all = team.scan_own_warp(own);
        if (folding && last_in_warp) {  // in scratch memory, since registers are few
          own_maps[warp] = tile + 1 < last ? compose(all, own_maps[warp], problem.packed) : all;
        }
        if (folding && tile > first) {
          --tile;
          continue;
        }
        team.keep_before(all);
      }
      if (folding) {
        folding = false;
        member.team_barrier();
        const TeamBoards::Turn turn = *drawn;
        const Maps maps{boards.board(turn.board), std::int64_t(share) * shape.team_size()};
        if (member.team_rank() == 0) tell(maps, turn.place, own_maps);
        look_back(team, maps, turn.place, seen);
        boards.clear_other(turn, std::int64_t(turn.place) * shape.team_size() + member.team_rank(),
                           std::int64_t(places) * shape.team_size());
        member.team_barrier();
        thread.reader().initial_state(state);
        for (int i = 0; i < shape.warps(); ++i) seen[i].leap(state, problem.packed);
        for (int i = 0; i < warp; ++i) own_maps[i].leap(state, problem.packed);
        if (!any) return;
      }
      team.enter_run_of_warp(state);
      thread.walk(tile, state);
      if (++tile == last) break;
      thread.load(tile);
      ELAPHOS_UNROLL
      for (int r = 0; r < size; ++r) state[r] = shuffle_from_last(state[r]);
    }
    if (last_in_warp && last == shape.tiles) thread.reader().write_end(state);
#endif
  }

 private:
  /// Tiles are shared evenly.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_tile(int of_warp) const {
    const int warps = places * shape.warps(), more = static_cast<int>(shape.tiles - shape.tiles_a_team * warps);
    return of_warp * shape.tiles_a_team + std::int64_t(of_warp) * more / warps;
  }

  /// What this team's warps have composed.
  KOKKOS_FORCEINLINE_FUNCTION void tell(const Maps& maps, int place, const Map* own_maps) const {
    Map all = own_maps[0];
    ELAPHOS_UNROLL_BY(1)
    for (int warp = 1; warp < shape.warps(); ++warp) all = compose(all, own_maps[warp], problem.packed);
    put(maps, map_place(place), all);
  }

  KOKKOS_FORCEINLINE_FUNCTION static void put(const Maps& maps, std::int64_t place, const Map& map) {
    Scalar numbers[size * size + size];
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) numbers[r * size + c] = map.A[r][c];
      numbers[size * size + r] = map.b[r];
    }
    maps.put(place, numbers);
  }

  KOKKOS_FORCEINLINE_FUNCTION static Map map_of(const typename Maps::Notice& notice) {
    Scalar numbers[size * size + size];
    Maps::get(notice, numbers);
    Map map;
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) map.A[r][c] = numbers[r * size + c];
      map.b[r] = numbers[size * size + r];
    }
    return map;
  }

  // Maps that a thread looks at one after another lie apart, and those that threads side by side look at side by side.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t map_place(int place) const {
    return std::int64_t(place % share) * shape.team_size() + place / share;
  }

  /// The maps of all places before, composed by each warp for its share of them.
  KOKKOS_FORCEINLINE_FUNCTION void look_back(const Team& team, const Maps& maps, int place,
                                             [[maybe_unused]] Map* seen) const {
    const int rank = team.member.team_rank();
    const auto look = [&](int i) { return maps.look(std::int64_t(i) * shape.team_size() + rank); };
    const auto wanted = [&](int i) { return i < share && rank * share + i < place; };
    Map all;
    all.set_identity();
    typename Maps::Notice next;
    if (wanted(0)) next = look(0);
    ELAPHOS_UNROLL_BY(1)
    for (int i = 0; wanted(i); ++i) {
      while (!Maps::is_there(next)) next = look(i);
      const Map seen_now = map_of(next);
      if (wanted(i + 1)) next = look(i + 1);
      all = i == 0 ? seen_now : compose(all, seen_now, problem.packed);
    }
#if ELAPHOS_HAS_WARPS
    sync_warp(team.member);
    const bool asked = rank % warp_size == 0;
    Map of_warp = fold_warp(all, Plainly());
    if (any_in_warp(asked && of_warp.has_nan())) of_warp = fold_warp(all, WithCare{problem.packed});
    if (asked) seen[rank / warp_size] = of_warp;
#endif
  }

#if ELAPHOS_HAS_WARPS
  /// The map of a warp's maps, for the first thread.
  template <class Compose>
  KOKKOS_FORCEINLINE_FUNCTION Map fold_warp(Map all, const Compose& composed) const {
    ELAPHOS_UNROLL_BY(1)
    for (int distance = 1; distance < warp_size; distance *= 2) {
      // The last threads get their own map again, which nobody asks them for.
      all = composed(all, shuffle_down(all, distance));
    }
    return all;
  }
#endif
};

}  // namespace elaphos::impl

#endif
