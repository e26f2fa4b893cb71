// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_KERNELS_HPP

#include <elaphos/impl/linear/linear_problem.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// How teams cut a problem on a device: a team takes `lanes` neighbouring channels, so that memory is read in whole rows,
/// and cuts its tile of time into `runs` runs of equal length, one a thread.
struct TileShape {
  int lanes = 1;
  int runs = 1;
  int run_steps = 1;
  std::int64_t tiles = 1;   ///< of time
  std::int64_t groups = 1;  ///< of channels

  KOKKOS_FUNCTION std::int64_t tile_steps() const { return std::int64_t(runs) * run_steps; }
  KOKKOS_FUNCTION int team_size() const { return lanes * runs; }
};

/// Steps that a thread folds at a time, for maps of `size` numbers: as many as its registers hold of size 1.
template <int size>
inline constexpr int steps_in_a_run = size == 1 ? 16 : (size == 2 ? 8 : 4);

/// What the threads of a team share: the maps of their runs, and the state in front of the tile for each lane.
template <class Scalar, int size>
struct TileScratch {
  using Map = AffineMap<Scalar, size>;
  Map* maps;
  Scalar (*carry)[size];

  static std::size_t bytes(const TileShape& shape) {
    return sizeof(Map) * std::size_t(shape.team_size()) + sizeof(Scalar) * size * std::size_t(shape.lanes) + 32;
  }

  template <class Member>
  KOKKOS_FUNCTION TileScratch(const Member& member, const TileShape& shape) {
    maps = static_cast<Map*>(member.team_shmem().get_shmem_aligned(sizeof(Map) * std::size_t(shape.team_size()), 16));
    carry = static_cast<Scalar(*)[size]>(
        member.team_shmem().get_shmem_aligned(sizeof(Scalar) * size * std::size_t(shape.lanes), 16));
  }
};

/// One thread's place in a tile, and its part of the work.
template <class Member, class Scalar, int size>
struct TileThread {
  using Map = AffineMap<Scalar, size>;
  static constexpr int most_steps = steps_in_a_run<size>;
  // Maps of one number stay in registers between the two walks over a run; wider ones are read again, from a cache.
  static constexpr bool keeps_steps = size == 1;

  const Member& member;
  TileShape shape;
  TileScratch<Scalar, size> shared;
  int lane, run;
  std::int64_t channel;
  bool real;
  ChannelReader<Scalar, size> reader;
  Map kept[keeps_steps ? most_steps : 1];

  KOKKOS_FUNCTION TileThread(const Member& of, const LinearProblem<Scalar>& problem, const TileShape& its_shape,
                             std::int64_t group)
      : member(of),
        shape(its_shape),
        shared(of, its_shape),
        lane(of.team_rank() % its_shape.lanes),
        run(of.team_rank() / its_shape.lanes),
        channel(group * its_shape.lanes + lane),
        real(channel < problem.channels()),
        reader(problem, real ? channel : 0) {}

  KOKKOS_FUNCTION std::int64_t first_step(std::int64_t tile) const {
    return tile * shape.tile_steps() + std::int64_t(run) * shape.run_steps;
  }

  /// The map of this thread's run of a tile; of no steps at the problem's end. Reads 2 words a step and channel.
  KOKKOS_FUNCTION Map fold(std::int64_t tile) {
    const std::int64_t first = first_step(tile);
    Map out;
    out.set_identity();
    if (!real) return out;
    if constexpr (keeps_steps) {
      // All loads first: they are independent, and hide one another's latency.
      for (int i = 0; i < most_steps; ++i) {
        if (i < shape.run_steps && first + i < reader.problem.steps) {
          kept[i] = reader.map(first + i);
        } else {
          kept[i].set_identity();
        }
      }
      out = kept[0];
      for (int i = 1; i < most_steps; ++i) out = compose(out, kept[i]);
    } else {
      for (int i = 0; i < shape.run_steps; ++i) {
        if (first + i < reader.problem.steps) out = compose(out, reader.map(first + i));
      }
    }
    return out;
  }

  /// The map of all runs of the tile up to and including this one: log2(runs) rounds in a fixed order (Hillis and
  /// Steele, 1986), so that bits repeat.
  KOKKOS_FUNCTION Map scan(Map own) {
    const int rank = member.team_rank();
    for (int distance = 1; distance < shape.runs; distance *= 2) {
      shared.maps[rank] = own;
      member.team_barrier();
      if (run >= distance) own = compose(shared.maps[rank - distance * shape.lanes], own);
      member.team_barrier();
    }
    shared.maps[rank] = own;
    member.team_barrier();
    return own;
  }

  /// Moves `state` from the tile's entry to this run's entry; after `scan`.
  KOKKOS_FUNCTION void enter_run(Scalar (&state)[size]) const {
    if (run > 0) shared.maps[member.team_rank() - shape.lanes].leap(state);
  }

  /// Walks this thread's run from its entry and writes the states. Writes 1 word a step and channel.
  KOKKOS_FUNCTION void walk(std::int64_t tile, Scalar (&state)[size]) {
    if (!real) return;
    const std::int64_t first = first_step(tile);
    if constexpr (keeps_steps) {
      for (int i = 0; i < most_steps; ++i) {
        if (i < shape.run_steps && first + i < reader.problem.steps) {
          reader.advance(kept[i], state);
          reader.write(first + i, state);
        }
      }
    } else {
      for (int i = 0; i < shape.run_steps; ++i) {
        if (first + i >= reader.problem.steps) break;
        reader.advance(reader.map(first + i), state);
        reader.write(first + i, state);
      }
    }
  }
};

/// Where the composed maps of tiles are kept: as coefficients and offsets of a shorter problem, one step a tile.
template <class Scalar>
struct TileTotals {
  Scalar* A;  ///< (tiles, channels, K, K)
  Scalar* b;  ///< (tiles, channels, K)
};

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
