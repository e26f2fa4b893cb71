// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP

#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The composed map of every tile. Reads 2 words a step and channel (of maps of one number), writes 2 a tile. `Tile` is
/// a thread's part: a NumberTile or a BlockTile.
template <class Member, class Scalar, int size, class Tile>
struct FoldTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  TileTotals<Scalar> totals;

  static std::size_t scratch_bytes(const TileShape& shape) {
    return Tile::Team::scratch_bytes(shape) + Tile::scratch_bytes(shape);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t index = member.league_rank(), tile = index / shape.groups;
    typename Tile::Team team(member, problem, shape, index - tile * shape.groups);
    Tile thread(team, problem);
    team.scan(thread.fold(tile));
    if (team.real && team.last_run()) thread.reader().write_map(tile, team.total(), totals.A, totals.b);
  }
};

/// Walks every tile from the state in front of it. Reads 2 words a step and channel, writes 1.
template <class Member, class Scalar, int size, class Tile>
struct WalkTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  const Scalar* tile_ends;  // (tiles, channels, K): the states behind each tile

  static std::size_t scratch_bytes(const TileShape& shape) {
    return FoldTiles<Member, Scalar, size, Tile>::scratch_bytes(shape);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t index = member.league_rank(), tile = index / shape.groups;
    typename Tile::Team team(member, problem, shape, index - tile * shape.groups);
    Tile thread(team, problem);
    if (team.run == 0 && team.real) {
      if (tile == 0) {
        thread.reader().initial_state(team.carry());
      } else {
        thread.reader().read_state(tile_ends, tile - 1, team.carry());
      }
    }
    team.scan(thread.fold(tile));  // its barrier also publishes the carry
    Scalar state[size];
    for (int r = 0; r < size; ++r) state[r] = team.carry()[r];
    team.enter_run(state);
    thread.walk(tile, state);
    if (team.last_run() && tile + 1 == shape.tiles && team.real) thread.reader().write_end(state);
  }
};

/// Walks all tiles of a group of channels, one after another by one team, the next tile's numbers on their way
/// meanwhile. The same words.
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
      if (tile + 1 < shape.tiles) thread.load(tile + 1);
      team.scan(own);  // its barrier also publishes the carry
      for (int r = 0; r < size; ++r) state[r] = team.carry()[r];
      team.enter_run(state);
      thread.walk(tile, state);
      member.team_barrier();
      if (team.last_run()) {
        for (int r = 0; r < size; ++r) team.carry()[r] = state[r];
      }
    }
    if (team.last_run() && team.real) thread.reader().write_end(state);
  }
};

}  // namespace elaphos::impl

#endif
