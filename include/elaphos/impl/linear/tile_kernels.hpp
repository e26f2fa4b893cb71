// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP

#include <elaphos/impl/linear/number_tile.hpp>
#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The composed map of every tile. Reads 2 words a step and channel (of maps of one number), writes 2 a tile.
template <class Member, class Scalar, int size>
struct FoldTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  TileTotals<Scalar> totals;

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t team = member.league_rank(), tile = team / shape.groups;
    TileThread<Member, Scalar, size> thread(member, problem, shape, team % shape.groups);
    const AffineMap<Scalar, size> total = thread.scan(thread.fold(tile));
    if (!thread.real || thread.run != shape.runs - 1) return;
    thread.reader.write_map(tile, total, totals.A, totals.b);
  }
};

/// Walks tiles from a known state. With `tile_ends`, the states behind each tile, every tile by a team of its own;
/// without, all tiles of a group of channels by one team. Reads 2 words a step and channel, writes 1.
template <class Member, class Scalar, int size>
struct WalkTiles {
  LinearProblem<Scalar> problem;
  TileShape shape;
  const Scalar* tile_ends;  // (tiles, channels, K), or null

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t team = member.league_rank(), own = team / shape.groups;
    TileThread<Member, Scalar, size> thread(member, problem, shape, team % shape.groups);
    Scalar state[size];
    if (thread.run == 0 && thread.real) {
      if (tile_ends == nullptr || own == 0) {
        thread.reader.initial_state(thread.shared.carry[thread.lane]);
      } else {
        thread.reader.read_state(tile_ends, own - 1, thread.shared.carry[thread.lane]);
      }
    }
    const std::int64_t last = tile_ends == nullptr ? shape.tiles : own + 1;
    for (std::int64_t tile = tile_ends == nullptr ? 0 : own; tile < last; ++tile) {
      thread.scan(thread.fold(tile));  // its barriers also publish the carry
      for (int r = 0; r < size; ++r) state[r] = thread.shared.carry[thread.lane][r];
      thread.enter_run(state);
      thread.walk(tile, state);
      member.team_barrier();
      if (thread.run == shape.runs - 1) {
        for (int r = 0; r < size; ++r) thread.shared.carry[thread.lane][r] = state[r];
      }
    }
    if (thread.run == shape.runs - 1 && last == shape.tiles && thread.real) thread.reader.write_end(state);
  }
};

}  // namespace elaphos::impl

#endif
