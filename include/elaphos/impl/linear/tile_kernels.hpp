// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP

#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The tiles of the team at a place in time: [first, last).
struct TileRange {
  std::int64_t first, last;

  KOKKOS_FUNCTION TileRange(const TileShape& shape, std::int64_t place)
      : first(place * shape.tiles_a_team), last(first + shape.tiles_a_team) {
    if (last > shape.tiles) last = shape.tiles;
  }
};

/// Walks a tile whose runs were scanned; `state` becomes the one behind this thread's run.
template <class Team, class Tile, class Scalar, int size>
KOKKOS_FORCEINLINE_FUNCTION void walk_from_carry(const Team& team, Tile& thread, std::int64_t tile,
                                                 Scalar (&state)[size]) {
  for (int r = 0; r < size; ++r) state[r] = team.carry()[r];
  team.enter_run(state);
  thread.walk(tile, state);
}

/// Makes the state behind the tile the next tile's carry, which the next scan's barrier publishes.
template <class Team, class Scalar, int size>
KOKKOS_FORCEINLINE_FUNCTION void hand_on(const Team& team, const Scalar (&state)[size]) {
  team.member.team_barrier();  // all have read this tile's
  if (!team.last_run()) return;
  for (int r = 0; r < size; ++r) team.carry()[r] = state[r];
}

/// The composed map of every team's tiles. Reads 2 words a step and channel (of maps of one number), writes 2 a team.
/// `Tile` is a thread's part: a NumberTile or a BlockTile.
template <class Member, class Scalar, int size, class Tile>
struct FoldTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  TileTotals<Scalar> totals;

  static std::size_t scratch_bytes(const TileShape& shape) {
    return Tile::Team::scratch_bytes(shape) + Tile::scratch_bytes(shape);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t index = member.league_rank(), place = index / shape.groups;
    typename Tile::Team team(member, problem, shape, index - place * shape.groups);
    Tile thread(team, problem);
    const TileRange tiles(shape, place);
    AffineMap<Scalar, size> total;
    total.set_identity();
    thread.load(tiles.first);
    for (std::int64_t tile = tiles.first; tile < tiles.last; ++tile) {
      const auto own = thread.fold_loaded(tile);
      // Teams of channels of one number take one tile.
      if (size > 1 && tile + 1 < tiles.last) thread.load(tile + 1);
      if (tile > tiles.first) member.team_barrier();  // the total before has been read
      team.scan(own);
      if (team.last_run()) total = tile > tiles.first ? compose(total, team.total(), problem.packed) : team.total();
    }
    if (team.real && team.last_run()) thread.reader().write_map(place, total, totals.A, totals.b);
  }
};

/// Walks every team's tiles from the state in front of them. Reads 2 words a step and channel, writes 1.
template <class Member, class Scalar, int size, class Tile>
struct WalkTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  const Scalar* ends;  // (teams, channels, K): the states behind each team's tiles

  static std::size_t scratch_bytes(const TileShape& shape) {
    return FoldTiles<Member, Scalar, size, Tile>::scratch_bytes(shape);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    // The last tiles, which `FoldTiles` has read last, first: some are still in the cache.
    const std::int64_t index = std::int64_t(member.league_size()) - 1 - member.league_rank();
    const std::int64_t place = index / shape.groups;
    typename Tile::Team team(member, problem, shape, index - place * shape.groups);
    Tile thread(team, problem);
    if (team.run == 0 && team.real) {
      if (place == 0) {
        thread.reader().initial_state(team.carry());
      } else {
        thread.reader().read_state(ends, place - 1, team.carry());
      }
    }
    const TileRange tiles(shape, place);
    Scalar state[size];
    thread.load(tiles.first);
    for (std::int64_t tile = tiles.first; tile < tiles.last; ++tile) {
      team.scan(thread.fold_loaded(tile));  // its barrier also publishes the carry
      walk_from_carry(team, thread, tile, state);
      if (size == 1 || tile + 1 == tiles.last) break;
      thread.load(tile + 1);
      hand_on(team, state);
    }
    if (team.last_run() && tiles.last == shape.tiles && team.real) thread.reader().write_end(state);
  }
};

/// Walks all tiles of a group of channels, one after another by one team; where threads keep their numbers in registers,
/// the next tile's are on their way meanwhile. The same words.
template <class Member, class Scalar, int size, class Tile>
struct WalkChannels {
  LinearProblem<Scalar> problem;
  TileShape shape;

  static std::size_t scratch_bytes(const TileShape& shape) {
    return FoldTiles<Member, Scalar, size, Tile>::scratch_bytes(shape);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    typename Tile::Team team(member, problem, shape, member.league_rank());
    Tile thread(team, problem);
    if (team.run == 0 && team.real) thread.reader().initial_state(team.carry());
    thread.load(0);
    Scalar state[size];
    for (std::int64_t tile = 0; tile < shape.tiles; ++tile) {
      const auto own = thread.fold_loaded(tile);
      if (Tile::reads_ahead && tile + 1 < shape.tiles) thread.load(tile + 1);
      team.scan(own);  // its barrier also publishes the carry
      walk_from_carry(team, thread, tile, state);
      if (tile + 1 == shape.tiles) break;
      if (!Tile::reads_ahead) thread.load(tile + 1);
      hand_on(team, state);
    }
    if (team.last_run() && team.real) thread.reader().write_end(state);
  }
};

}  // namespace elaphos::impl

#endif
