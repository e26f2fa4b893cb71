// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP
#define ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP

#include <elaphos/impl/linear/tile_kernels.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstring>

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
  KOKKOS_FORCEINLINE_FUNCTION void put(std::int64_t place, const Scalar& value) const {
    std::uint32_t from[words];
    std::memcpy(from, &value, sizeof(Scalar));
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) *const_cast<volatile Word*>(data + place * words + i) = arrived | from[i];
  }

  /// A number on its way. Looking and checking are apart, so that a thread has several looks on their way at once.
  struct Letter {
    Word word[words];
  };
  KOKKOS_FORCEINLINE_FUNCTION Letter look(std::int64_t place) const {
    Letter letter;
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) letter.word[i] = *const_cast<const volatile Word*>(data + place * words + i);
    return letter;
  }
  KOKKOS_FORCEINLINE_FUNCTION static bool is_there(const Letter& letter) {
    bool all = true;
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) all = all && (letter.word[i] & arrived) != 0;
    return all;
  }
  KOKKOS_FORCEINLINE_FUNCTION Scalar wait(std::int64_t place) const {
    Letter letter;
    do {
      letter = look(place);
    } while (!is_there(letter));
    return value(letter);
  }
  KOKKOS_FORCEINLINE_FUNCTION static Letter of(const Scalar& value) {
    Letter letter;
    std::uint32_t from[words];
    std::memcpy(from, &value, sizeof(Scalar));
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) letter.word[i] = arrived | from[i];
    return letter;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar value(const Letter& letter) {
    std::uint32_t to[words];
    ELAPHOS_UNROLL
    for (int i = 0; i < words; ++i) to[i] = static_cast<std::uint32_t>(letter.word[i]);
    Scalar out;
    std::memcpy(&out, to, sizeof(Scalar));
    return out;
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
  static std::int64_t count(const TileShape& shape, std::int64_t windows, std::int64_t channels) {
    return 1 + words * channels * (2 * shape.tiles + windows + 1);
  }
  static TileMessages in(unsigned long long* memory, const TileShape& shape, std::int64_t channels) {
    unsigned long long* const maps = memory + 1;
    const std::int64_t own = words * shape.tiles * channels;
    return {reinterpret_cast<unsigned int*>(memory), {maps}, {maps + own}, {maps + 2 * own}};
  }
};

/// Empties mailboxes and sets the counter to zero.
struct ClearMessages {
  unsigned long long* words;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { words[i] = 0; }
};

/// Reads 2 words a step and channel and writes 1; per tile and channel some 10 words more.
template <class Member, class Scalar, class Tile>
struct SinglePass {
  using Team = TileTeam<Member, Scalar, 1>;
  using Map = AffineMap<Scalar, 1>;
  LinearProblem<Scalar> problem;
  TileShape shape;
  TileMessages<Scalar> messages;
  int window;  ///< tiles, at most `longest_window`

  /// The first warp looks back, each thread at a few maps.
  static int longest_window(const TileShape& shape) { return 8 * (warp_size / shape.lanes); }

  static std::size_t scratch_bytes(const TileShape& shape) {
    return Team::scratch_bytes(shape) + Tile::scratch_bytes(shape) + 48;
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    auto* const ticket = static_cast<unsigned int*>(member.team_shmem().get_shmem_aligned(sizeof(unsigned int), 16));
    if (member.team_rank() == 0) *ticket = Kokkos::atomic_fetch_add(messages.ticket, 1u);
    member.team_barrier();
    const std::int64_t tile = *ticket / shape.groups;
    Team team(member, problem, shape, *ticket - tile * shape.groups);
    Tile thread(team, problem);
    const int place = static_cast<int>(tile % window);
    const bool window_ends = place == window - 1 && tile + 1 < shape.tiles;

    team.scan(thread.fold(tile));
    if (team.last_run() && team.real && !window_ends) {
      const Map total = team.total();
      messages.map_a.put(tile * problem.channels() + team.channel, total.A[0][0]);
      messages.map_b.put(tile * problem.channels() + team.channel, total.b[0]);
    }
    if (member.team_rank() < warp_size) receive(team, thread, tile, place, window_ends);
    member.team_barrier();
    Scalar state[1] = {team.carry()[0]};
    team.enter_run(state);
    thread.walk(tile, state);
    if (team.last_run() && tile + 1 == shape.tiles && team.real) thread.reader().write_end(state);
  }

 private:
  // The state in front of the tile, for the team; and behind it, for the next window.
  KOKKOS_FORCEINLINE_FUNCTION void receive(const Team& team, const Tile& thread, std::int64_t tile, int place,
                                           bool window_ends) const {
    const std::int64_t in_front = tile / window;
    const Map before = look_back(team, tile - place, place);
    if (team.run != 0 || !team.real) return;
    // From the window's front in one leap, whatever the runs do: what is handed on must not wait for them.
    Map to_end;
    if (window_ends) to_end = compose(before, team.total());
    Scalar state[1];
    if (in_front == 0) {
      thread.reader().initial_state(state);
    } else {
      state[0] = messages.state.wait(in_front * problem.channels() + team.channel);
    }
    if (window_ends) {
      Scalar end[1] = {state[0]};
      to_end.leap(end);
      messages.state.put((in_front + 1) * problem.channels() + team.channel, end[0]);
    }
    before.leap(state);
    team.carry()[0] = state[0];
  }

  // The map of the `place` tiles from `first` on, for run 0 of each lane. Threads side by side look at tiles side by side,
  // which they fold as neighbours, pairs of neighbours, ...; then the next so many.
  KOKKOS_FORCEINLINE_FUNCTION Map look_back(const Team& team, std::int64_t first, int place) const {
    using Letters = Mailbox<Scalar>;
    constexpr int rounds_at_a_time = sizeof(Scalar) > 4 ? 2 : 4;
    const std::int64_t channels = problem.channels();
    const int threads = warp_size / shape.lanes;
    Map all;
    all.set_identity();
    for (int begin = 0; begin < place; begin += rounds_at_a_time * threads) {
      typename Letters::Letter a[rounds_at_a_time], b[rounds_at_a_time];
      bool complete;
      do {
        complete = true;
        ELAPHOS_UNROLL
        for (int i = 0; i < rounds_at_a_time; ++i) {
          const int its_place = begin + i * threads + team.run;
          const std::int64_t at = (first + its_place) * channels + team.channel;
          const bool wanted = its_place < place && team.real;
          a[i] = wanted ? messages.map_a.look(at) : Letters::of(Scalar(1));
          b[i] = wanted ? messages.map_b.look(at) : Letters::of(Scalar(0));
        }
        ELAPHOS_UNROLL
        for (int i = 0; i < rounds_at_a_time; ++i) {
          complete = complete && Letters::is_there(a[i]) && Letters::is_there(b[i]);
        }
      } while (!complete);
      ELAPHOS_UNROLL
      for (int i = 0; i < rounds_at_a_time; ++i) {
        if (begin + i * threads >= place) break;
        Map some{{{Letters::value(a[i])}}, {Letters::value(b[i])}};
#if ELAPHOS_HAS_WARPS
        for (int distance = shape.lanes; distance < warp_size; distance *= 2) {
          const Map later = shuffle_down(some, distance);
          if (team.member.team_rank() + distance < warp_size) some = compose(some, later);
        }
#endif
        all = compose(all, some);
      }
    }
    return all;
  }
};

}  // namespace elaphos::impl

#endif
