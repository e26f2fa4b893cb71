// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_TEAM_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_TEAM_HPP

#include <elaphos/impl/linear/linear_problem.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
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
  bool staged = false;      ///< few channels of one number: tiles go through scratch memory, in whole rows

  KOKKOS_FUNCTION int tile_steps() const { return runs * run_steps; }
  KOKKOS_FUNCTION int team_size() const { return lanes * runs; }
};

/// Steps of a thread's run, for maps of `size` numbers: as many as its registers hold of size 1.
template <int size>
inline constexpr int steps_in_a_run = size == 1 ? 16 : (size == 2 ? 8 : 4);

/// What the threads of a team share.
template <class Scalar, int size>
struct TileScratch {
  using Map = AffineMap<Scalar, size>;
  Map* maps;               ///< of the runs
  Scalar (*carry)[size];  ///< the state in front of the tile, for each lane
  Scalar* a;               ///< a staged tile's numbers, at `staged_place`
  Scalar* b;

  /// Where a staged tile's number is kept: threads go through it 16 steps apart, on different memory banks.
  KOKKOS_FUNCTION static int staged_place(int e) { return e + e / 16; }
  KOKKOS_FUNCTION static std::size_t staged_entries(const TileShape& shape) {
    return shape.staged ? std::size_t(staged_place(shape.tile_steps() * shape.lanes)) : 0;
  }

  static std::size_t bytes(const TileShape& shape) {
    return sizeof(Map) * std::size_t(shape.team_size()) + sizeof(Scalar) * size * std::size_t(shape.lanes) +
           2 * sizeof(Scalar) * staged_entries(shape) + 64;
  }

  template <class Member>
  KOKKOS_FUNCTION TileScratch(const Member& member, const TileShape& shape) {
    const auto take = [&](std::size_t bytes) { return member.team_shmem().get_shmem_aligned(bytes, 16); };
    maps = static_cast<Map*>(take(sizeof(Map) * std::size_t(shape.team_size())));
    carry = static_cast<Scalar(*)[size]>(take(sizeof(Scalar) * size * std::size_t(shape.lanes)));
    a = shape.staged ? static_cast<Scalar*>(take(sizeof(Scalar) * staged_entries(shape))) : nullptr;
    b = shape.staged ? static_cast<Scalar*>(take(sizeof(Scalar) * staged_entries(shape))) : nullptr;
  }
};

/// A thread's place in its team, and the scan over the team's runs.
template <class Member, class Scalar, int size>
struct TileTeam {
  using Map = AffineMap<Scalar, size>;
  const Member& member;
  TileShape shape;
  TileScratch<Scalar, size> shared;
  int lane, run;
  std::int64_t group, channel;
  bool real;
  ChannelReader<Scalar, size> reader;

  KOKKOS_FUNCTION TileTeam(const Member& of, const LinearProblem<Scalar>& problem, const TileShape& its_shape,
                           std::int64_t its_group)
      : member(of),
        shape(its_shape),
        shared(of, its_shape),
        lane(of.team_rank() % its_shape.lanes),
        run(of.team_rank() / its_shape.lanes),
        group(its_group),
        channel(its_group * its_shape.lanes + lane),
        real(channel < problem.channels()),
        reader(problem, real ? channel : 0) {}

  KOKKOS_FUNCTION std::int64_t first_step(std::int64_t tile) const {
    return tile * shape.tile_steps() + std::int64_t(run) * shape.run_steps;
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
};

/// A tile of channels of several numbers: its steps are read twice, the second time from a cache.
template <class Member, class Scalar, int size>
struct TileThread : TileTeam<Member, Scalar, size> {
  using Map = AffineMap<Scalar, size>;
  using TileTeam<Member, Scalar, size>::TileTeam;

  /// The map of this thread's run of a tile; of no steps at the problem's end. Reads K^2 + K words a step and channel.
  KOKKOS_FUNCTION Map fold(std::int64_t tile) {
    const std::int64_t first = this->first_step(tile);
    Map out;
    out.set_identity();
    if (!this->real) return out;
    for (int i = 0; i < this->shape.run_steps; ++i) {
      if (first + i < this->reader.problem.steps) out = compose(out, this->reader.map(first + i));
    }
    return out;
  }

  /// Walks this thread's run from its entry and writes the states: K words a step and channel.
  KOKKOS_FUNCTION void walk(std::int64_t tile, Scalar (&state)[size]) {
    if (!this->real) return;
    const std::int64_t first = this->first_step(tile);
    for (int i = 0; i < this->shape.run_steps; ++i) {
      if (first + i >= this->reader.problem.steps) break;
      this->reader.advance(this->reader.map(first + i), state);
      this->reader.write(first + i, state);
    }
  }
};

}  // namespace elaphos::impl

#endif
