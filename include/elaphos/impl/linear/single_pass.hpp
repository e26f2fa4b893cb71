// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP
#define ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP

#include <elaphos/impl/linear/tile_kernels.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

// One pass over memory: each tile is read once, waits for the state in front of it, and is written. After Merrill and
// Garland's look-back (2016), with an order of folding that does not depend on who comes first, so that bits repeat:
// tiles are grouped into windows; a tile folds the maps of its predecessors in its window, in order, onto the state in
// front of the window; the last tile of a window hands on the state behind it.
//
// Teams take their tiles from a counter, so whoever waits, waits for a team that has started before. That needs teams
// that run on once they have started, as CUDA's do; Kokkos itself does not promise it.

/// Numbers that teams leave for each other. Each 32 bits travel in a word of 64 with the mark that they are there, so that
/// a number and its arrival are one message, and no fence is waited for.
template <class Scalar>
struct Mailbox {
  using Word = unsigned long long;
  static_assert(sizeof(Scalar) % sizeof(std::uint32_t) == 0);
  static constexpr int words = sizeof(Scalar) / sizeof(std::uint32_t);
  static constexpr Word arrived = Word(1) << 32;
  Word* data;

  // Volatile accesses go past the caches that are not shared, and to 64 bits at once. (Kokkos::atomic_load would be a
  // compare-and-swap, and hundreds of threads that wait would block each other: 20 times slower on an H200.)
  KOKKOS_FUNCTION void put(std::int64_t place, const Scalar& value) const {
    const auto* from = reinterpret_cast<const std::uint32_t*>(&value);
    for (int i = 0; i < words; ++i) *const_cast<volatile Word*>(data + place * words + i) = arrived | from[i];
  }
  /// Waits for the number.
  KOKKOS_FUNCTION Scalar get(std::int64_t place) const {
    Scalar value;
    auto* to = reinterpret_cast<std::uint32_t*>(&value);
    for (int i = 0; i < words; ++i) {
      Word word = 0;
      while ((word & arrived) == 0) word = *const_cast<const volatile Word*>(data + place * words + i);
      to[i] = static_cast<std::uint32_t>(word);
    }
    return value;
  }
};

/// What tiles tell each other.
template <class Scalar>
struct TileMessages {
  unsigned int* ticket;   // of the next tile; of 32 bits, for which every device has an addition of its own
  Mailbox<Scalar> map_a;       // (tiles, channels)
  Mailbox<Scalar> map_b;       // (tiles, channels)
  Mailbox<Scalar> state;       // (windows + 1, channels): in front of each window

  static constexpr int words = Mailbox<Scalar>::words;
  static std::int64_t count(std::int64_t tiles, std::int64_t windows, std::int64_t channels) {
    return 1 + words * channels * (2 * tiles + windows + 1);
  }
  static TileMessages in(unsigned long long* memory, std::int64_t tiles, std::int64_t channels) {
    const std::int64_t maps = words * tiles * channels;
    return {reinterpret_cast<unsigned int*>(memory), {memory + 1}, {memory + 1 + maps}, {memory + 1 + 2 * maps}};
  }
};

/// Empties mailboxes and sets the counter to zero.
struct ClearMessages {
  unsigned long long* words;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { words[i] = 0; }
};

/// Reads 2 words a step and channel and writes 1; per tile and channel some 10 words more.
template <class Member, class Scalar>
struct SinglePass {
  using Map = AffineMap<Scalar, 1>;
  LinearProblem<Scalar> problem;
  TileShape shape;
  TileMessages<Scalar> messages;

  /// Tiles of a window: as many as the threads of a lane can look back at in one go.
  KOKKOS_FUNCTION static int window(const TileShape& shape) { return shape.runs; }

  static std::size_t scratch_bytes(const TileShape& shape) {
    return TileScratch<Scalar, 1>::bytes(shape) + sizeof(Map) * std::size_t(shape.team_size()) + 64;
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto* team_ticket = static_cast<std::int64_t*>(member.team_shmem().get_shmem_aligned(sizeof(std::int64_t), 16));
    auto* earlier = static_cast<Map*>(
        member.team_shmem().get_shmem_aligned(sizeof(Map) * std::size_t(shape.team_size()), 16));
    if (member.team_rank() == 0) {
      *team_ticket = static_cast<std::int64_t>(Kokkos::atomic_fetch_add(messages.ticket, 1u));
    }
    member.team_barrier();
    const std::int64_t tile = *team_ticket / shape.groups;
    TileThread<Member, Scalar, 1> thread(member, problem, shape, *team_ticket % shape.groups);
    const std::int64_t channels = problem.channels(), channel = thread.channel, in_front = tile / window(shape);
    const int place = static_cast<int>(tile % window(shape)), last_place = window(shape) - 1;
    const bool last_run = thread.run == shape.runs - 1;

    const Map total = thread.scan(thread.fold(tile));
    if (last_run && thread.real && place != last_place) {
      messages.map_a.put(tile * channels + channel, total.A[0][0]);
      messages.map_b.put(tile * channels + channel, total.b[0]);
    }
    const Map before = look_back(thread, earlier, tile - place, place);
    if (thread.run == 0 && thread.real) {
      Scalar state[1];
      if (in_front == 0) {
        thread.reader.initial_state(state);
      } else {
        state[0] = messages.state.get(in_front * channels + channel);
      }
      before.leap(state);
      thread.shared.carry[thread.lane][0] = state[0];
      if (place == last_place && tile + 1 < shape.tiles) {
        // From the window's front in two leaps, whatever the runs do: what is handed on must not wait for them.
        thread.shared.maps[(shape.runs - 1) * shape.lanes + thread.lane].leap(state);
        messages.state.put((in_front + 1) * channels + channel, state[0]);
      }
    }
    member.team_barrier();
    Scalar state[1] = {thread.shared.carry[thread.lane][0]};
    thread.enter_run(state);
    thread.walk(tile, state);
    if (last_run && tile + 1 == shape.tiles && thread.real) thread.reader.write_end(state);
  }

 private:
  // The map of the `place` tiles from `first` on, for run 0 of each lane: a tree over the lane's threads, one a tile.
  template <class Thread>
  KOKKOS_FUNCTION Map look_back(const Thread& thread, Map* earlier, std::int64_t first, int place) const {
    const int rank = thread.member.team_rank();
    Map own;
    own.set_identity();
    if (thread.run < place && thread.real) {
      const std::int64_t at = (first + thread.run) * problem.channels() + thread.channel;
      own = {{{messages.map_a.get(at)}}, {messages.map_b.get(at)}};
    }
    // Pairs of neighbours, pairs of pairs, ...: run 0 ends up with all of them, in order.
    for (int distance = 1; distance < place; distance *= 2) {
      earlier[rank] = own;
      thread.member.team_barrier();
      if (thread.run % (2 * distance) == 0 && thread.run + distance < shape.runs) {
        own = compose(own, earlier[rank + distance * shape.lanes]);
      }
      thread.member.team_barrier();
    }
    return own;
  }
};

}  // namespace elaphos::impl

#endif
