// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP

#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The composed map of every tile. Reads 2 words a step and channel (of maps of one number), writes 2 a tile. `Tile` is a
/// thread's part: a NumberTile or a BlockTile.
template <class Member, class Scalar, int size, class Tile>
struct FoldTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  TileTotals<Scalar> totals;

  static std::size_t scratch_bytes(const TileShape& shape) {
    return TileTeam<Member, Scalar, size>::scratch_bytes(shape) + Tile::scratch_bytes(shape);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t index = member.league_rank(), tile = index / shape.groups;
    TileTeam<Member, Scalar, size> team(member, problem, shape, index - tile * shape.groups);
    Tile thread(team, problem);
    team.scan(thread.fold(tile));
    if (team.real && team.last_run()) thread.reader().write_map(tile, team.total(), totals.A, totals.b);
  }
};

/// Walks tiles from a known state. With `tile_ends`, the states behind each tile, every tile by a team of its own;
/// without, all tiles of a group of channels by one team. Reads 2 words a step and channel, writes 1.
template <class Member, class Scalar, int size, class Tile>
struct WalkTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  const Scalar* tile_ends;  // (tiles, channels, K), or null

  static std::size_t scratch_bytes(const TileShape& shape) {
    return FoldTiles<Member, Scalar, size, Tile>::scratch_bytes(shape);
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t index = member.league_rank(), own = index / shape.groups;
    TileTeam<Member, Scalar, size> team(member, problem, shape, index - own * shape.groups);
    Tile thread(team, problem);
    Scalar state[size];
    if (team.run == 0 && team.real) {
      if (tile_ends == nullptr || own == 0) {
        thread.reader().initial_state(team.carry());
      } else {
        thread.reader().read_state(tile_ends, own - 1, team.carry());
      }
    }
    const std::int64_t last = tile_ends == nullptr ? shape.tiles : own + 1;
    for (std::int64_t tile = tile_ends == nullptr ? 0 : own; tile < last; ++tile) {
      team.scan(thread.fold(tile));  // its barrier also publishes the carry
      for (int r = 0; r < size; ++r) state[r] = team.carry()[r];
      team.enter_run(state);
      thread.walk(tile, state);
      if (tile + 1 == last) break;
      member.team_barrier();
      if (team.last_run()) {
        for (int r = 0; r < size; ++r) team.carry()[r] = state[r];
      }
    }
    if (team.last_run() && last == shape.tiles && team.real) thread.reader().write_end(state);
  }
};

}  // namespace elaphos::impl

#endif
