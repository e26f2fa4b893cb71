// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP
#define ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP

#include <elaphos/impl/linear/tile_kernels.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

// One pass over memory: each tile is read once, waits for the state in front of it, and is written. After Merrill and
// Garland's look-back (2016), with an order of folding that does not depend on who comes first, so that bits repeat:
// tiles are grouped into windows; a tile folds the maps of its predecessors in its window, in order, onto the state in
// front of the window; the last tile of a window hands on the state behind it.
//
// Teams take their tiles from a counter, so whoever waits, waits for a team that has started before. That needs teams
// that run on once they have started, as CUDA's do; Kokkos itself does not promise it.

/// What tiles tell each other. Numbers and flags are written and read past the caches that are not shared.
template <class Scalar>
struct TileMessages {
  std::uint32_t* ticket;         // of the next tile
  std::uint32_t* map_ready;      // (tiles, channels)
  std::uint32_t* state_ready;    // (windows + 1, channels)
  Scalar* map_A;                 // (tiles, channels)
  Scalar* map_b;                 // (tiles, channels)
  Scalar* state;                 // (windows + 1, channels): in front of each window

  static_assert(sizeof(Scalar) % sizeof(std::uint32_t) == 0);
  static constexpr int words = sizeof(Scalar) / sizeof(std::uint32_t);

  KOKKOS_FUNCTION static void put(Scalar* to, const Scalar& value) {
    const auto* from = reinterpret_cast<const std::uint32_t*>(&value);
    for (int i = 0; i < words; ++i) Kokkos::atomic_store(reinterpret_cast<std::uint32_t*>(to) + i, from[i]);
  }
  KOKKOS_FUNCTION static Scalar get(Scalar* from) {
    Scalar value;
    auto* to = reinterpret_cast<std::uint32_t*>(&value);
    for (int i = 0; i < words; ++i) to[i] = Kokkos::atomic_load(reinterpret_cast<std::uint32_t*>(from) + i);
    return value;
  }
  KOKKOS_FUNCTION static void announce(std::uint32_t* flag) {
    Kokkos::memory_fence();
    Kokkos::atomic_store(flag, 1u);
  }
  KOKKOS_FUNCTION static void await(std::uint32_t* flag) {
    while (Kokkos::atomic_load(flag) == 0u) {
    }
    Kokkos::memory_fence();
  }
};

/// Sets counter and flags to zero.
struct ClearMessages {
  std::uint32_t* words;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { words[i] = 0u; }
};

/// Reads 2 words a step and channel and writes 1; per tile and channel about 6 words more.
template <class Member, class Scalar>
struct SinglePass {
  using Map = AffineMap<Scalar, 1>;
  using Messages = TileMessages<Scalar>;
  LinearProblem<Scalar> problem;
  TileShape shape;
  Messages messages;

  /// Tiles of a window: what the threads of a lane can look back at in one go.
  KOKKOS_FUNCTION static int window(const TileShape& shape) { return shape.runs < 32 ? shape.runs : 32; }

  static std::size_t scratch_bytes(const TileShape& shape) {
    return TileScratch<Scalar, 1>::bytes(shape) + sizeof(Map) * std::size_t(window(shape) * shape.lanes) + 64;
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto* team_ticket = static_cast<std::int64_t*>(member.team_shmem().get_shmem_aligned(sizeof(std::int64_t), 16));
    const int in_window = window(shape);
    auto* earlier = static_cast<Map*>(
        member.team_shmem().get_shmem_aligned(sizeof(Map) * std::size_t(in_window * shape.lanes), 16));
    if (member.team_rank() == 0) *team_ticket = Kokkos::atomic_fetch_add(messages.ticket, 1u);
    member.team_barrier();
    const std::int64_t tile = *team_ticket / shape.groups, group = *team_ticket % shape.groups;
    TileThread<Member, Scalar, 1> thread(member, problem, shape, group);
    const std::int64_t channels = problem.channels(), channel = thread.channel;

    const Map total = thread.scan(thread.fold(tile));
    const int place = static_cast<int>(tile % in_window);
    const std::int64_t in_front = tile / in_window;
    const bool last_run = thread.run == shape.runs - 1;
    if (last_run && thread.real && place != in_window - 1) {
      const std::int64_t at = tile * channels + channel;
      Messages::put(messages.map_A + at, total.A[0][0]);
      Messages::put(messages.map_b + at, total.b[0]);
      Messages::announce(messages.map_ready + at);
    }
    if (thread.run < place && thread.real) {
      const std::int64_t at = (tile - place + thread.run) * channels + channel;
      Messages::await(messages.map_ready + at);
      earlier[thread.run * shape.lanes + thread.lane] = {{{Messages::get(messages.map_A + at)}},
                                                         {Messages::get(messages.map_b + at)}};
    }
    member.team_barrier();
    if (thread.run == 0 && thread.real) {
      Map before;
      before.set_identity();
      for (int i = 0; i < place; ++i) before = compose(before, earlier[i * shape.lanes + thread.lane]);
      Scalar state[1];
      const std::int64_t at = in_front * channels + channel;
      if (in_front == 0) {
        thread.reader.initial_state(state);
      } else {
        Messages::await(messages.state_ready + at);
        state[0] = Messages::get(messages.state + at);
      }
      before.leap(state);
      thread.shared.carry[thread.lane][0] = state[0];
      if (place == in_window - 1 && tile + 1 < shape.tiles) {
        // From the window's front in two leaps, whatever the runs do: what is handed on must not wait for them.
        thread.shared.maps[(shape.runs - 1) * shape.lanes + thread.lane].leap(state);
        Messages::put(messages.state + at + channels, state[0]);
        Messages::announce(messages.state_ready + at + channels);
      }
    }
    member.team_barrier();
    Scalar state[1] = {thread.shared.carry[thread.lane][0]};
    thread.enter_run(state);
    thread.walk(tile, state);
    if (last_run && tile + 1 == shape.tiles && thread.real) thread.reader.write_end(state);
  }
};

}  // namespace elaphos::impl

#endif
