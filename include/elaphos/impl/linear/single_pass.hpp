// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP
#define ELAPHOS_IMPL_LINEAR_SINGLE_PASS_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/mailbox.hpp>
#include <elaphos/impl/linear/team_boards.hpp>
#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

// One pass over memory, after Merrill and Garland's look-back (2016): each tile is read once, waits for the state in
// front of it, and is written. Two things differ from the paper.
//
// Nobody waits in vain. A message takes 2 to 3 microseconds while memory is busy, which is as long as a tile takes. So
// a team folds a tile, tells the others its map, puts its numbers aside, folds its next tile, and only then walks the
// first, whose predecessors have reported meanwhile; a third tile is on its way from memory all the time.
//
// Bits repeat. Tiles are grouped into windows, and the state in front of each window is handed on by the last tile of
// the window before. A tile starts from the state in front of the window before its own, which is old, and folds the
// maps of its predecessors from there on, in order, whoever came first.
//
// Teams take their tiles from a counter, and tell a tile's map before they walk the one before. So by induction over
// the tiles whoever waits, waits for a team that has started. That needs teams that run on once they have started, as
// CUDA's do; Kokkos itself does not promise it.

/// Runs of a team that look at a window side by side; the other half looks at the next.
KOKKOS_INLINE_FUNCTION int lookers_of(const TileShape& shape) { return shape.runs > 1 ? shape.runs / 2 : 1; }

/// What the tiles of a problem tell each other.
template <class Scalar>
struct TileMessages {
  unsigned int* tickets;  // of the next tile, for each group; of 32 bits, for which every device has its own addition
  Mailbox<Scalar> map_a;  // (windows * window, channels)
  Mailbox<Scalar> map_b;  // the same
  Mailbox<Scalar> state;  // (windows + 1, channels): in front of each window

  static constexpr int words = Mailbox<Scalar>::words;
  KOKKOS_FUNCTION static std::int64_t count(const TileShape& shape, int window, std::int64_t channels) {
    const std::int64_t windows = divide_up(shape.tiles, window);
    return shape.groups + words * channels * (2 * windows * window + windows + 1);
  }
  KOKKOS_FUNCTION static TileMessages in(unsigned long long* memory, const TileShape& shape, int window,
                                         std::int64_t channels) {
    unsigned long long* const maps = memory + shape.groups;
    const std::int64_t own = words * divide_up(shape.tiles, window) * window * channels;
    return {reinterpret_cast<unsigned int*>(memory), {maps}, {maps + own}, {maps + 2 * own}};
  }
};

/// Reads 2 words a step and channel and writes 1; per tile and channel 4 words more are written (float), and those of
/// up to two windows read, from the cache. `Tile` is a StoredTile.
template <class Member, class Scalar, class Tile>
struct SinglePass {
  using Team = typename Tile::Team;
  using Map = AffineMap<Scalar, 1>;
  LinearProblem<Scalar> problem;
  TileShape shape;
  TileMessages<Scalar> messages;  ///< cleared ones; unused with boards
  TeamBoards boards;
  bool on_boards;  ///< whether messages have room there
  int window;      ///< tiles, of which half as many as a team has runs are looked at at a time

  static std::size_t scratch_bytes(const TileShape& shape) {
    return Team::scratch_bytes(shape) + Tile::scratch_bytes(shape) + sizeof(Map) * seen_maps(shape) + 80;
  }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    SinglePass own = *this;
    own.run(member);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void run(const Member& member) {
    Team team(member, problem, shape, member.league_rank() % shape.groups);
    Tile thread(team, problem);
    Map* const seen = team.scratch.template take<Map>(seen_maps(shape));
    auto* const tickets = team.scratch.template take<unsigned int>(2);

    // One tile ahead, so that nobody waits for the counter.
    const bool draws = member.team_rank() == 0;
    if (Tile::has_spare_registers && on_boards) {
      auto* const drawn_turn = team.scratch.template take<TeamBoards::Turn>(1);
      const std::int64_t words = TileMessages<Scalar>::count(shape, window, team.channels());
      if (draws) *drawn_turn = boards.draw(member.league_size(), words);
      member.team_barrier();
      const TeamBoards::Turn turn = *drawn_turn;
      messages = TileMessages<Scalar>::in(boards.board(turn.board), shape, window, team.channels());
      boards.clear_other(turn, std::int64_t(turn.place) * shape.team_size() + member.team_rank(),
                         std::int64_t(member.league_size()) * shape.team_size());
    }
    unsigned int drawn = 0;
    if (draws) {
      tickets[1] = draw(team.group);
      drawn = draw(team.group);
    }
    member.team_barrier();
    const int tiles = static_cast<int>(shape.tiles);  // as many as there may be teams
    int tile = static_cast<int>(tickets[1]);
    Folded aside;
    if (tile < tiles) thread.load(tile);
    for (int slot = 0; tile < tiles || aside.tile >= 0; slot = 1 - slot) {
      Folded folded;
      Looks looks;
      int next = tiles;
      if (tile < tiles) thread.keep_loaded(slot);
      // What the others have told is on its way while this tile is folded, if there is room for it.
      if (Tile::has_spare_registers && aside.tile >= 0) looks = first_looks(team, aside.tile);
      if (tile < tiles) {
        if (draws) {
          tickets[slot] = drawn;
          drawn = draw(team.group);
        }
        team.scan(thread.fold(slot));  // its barrier also publishes the ticket
        next = static_cast<int>(tickets[slot]);
        if (next < tiles) thread.load(next);
        folded = {tile, team.before_run()};
        if (team.last_run() && team.real) tell(map_place(tile, team), team.total());
      } else {
        member.team_barrier();
      }
      if (aside.tile >= 0) {
        if (!Tile::has_spare_registers) looks = first_looks(team, aside.tile);
        look_back(team, aside.tile, looks, seen);
        member.team_barrier();
        Scalar state[1];
        enter(team, thread, aside, looks, seen, state);
        thread.walk(1 - slot, aside.tile, state);
        if (team.last_run() && team.real) {
          if (aside.tile % window == window - 1)
            messages.state.put(state_place(aside.tile / window + 1, team), state[0]);
          if (aside.tile + 1 == tiles) thread.reader().write_end(state);
        }
        thread.copy_out(1 - slot, aside.tile);  // behind the message, for which others wait
      } else {
        member.team_barrier();
      }
      aside = folded;
      tile = next;
    }
  }

  /// A tile whose map is known to the others, and which waits to be walked.
  struct Folded {
    int tile = -1;
    Map before_run;
  };

  using Letters = Mailbox<Scalar>;
  using Letter = typename Letters::Letter;
  static constexpr int looks_at_once = sizeof(Scalar) > 4 ? 2 : 4;

  /// Maps that a thread looks at at once, and the state in front of the window from which a tile starts.
  struct Looks {
    Letter a[looks_at_once], b[looks_at_once];
    Letter front;
  };

  static KOKKOS_FUNCTION std::size_t seen_maps(const TileShape& shape) {
    return std::size_t(shape.warps()) * std::size_t(shape.lanes);
  }

  KOKKOS_FORCEINLINE_FUNCTION unsigned int draw(std::int64_t group) const {
    return Kokkos::atomic_fetch_add(messages.tickets + group, 1u);
  }

  KOKKOS_FORCEINLINE_FUNCTION void tell(std::int64_t place, const Map& total) const {
    messages.map_a.put(place, total.A[0][0]);
    messages.map_b.put(place, total.b[0]);
  }

  /// The window from whose front a tile starts: the one before its own.
  KOKKOS_FORCEINLINE_FUNCTION int known_front(int tile) const { return tile < window ? 0 : tile / window - 1; }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t state_place(int at_window, const Team& team) const {
    return at_window * team.channels() + team.channel;
  }

  /// The state in front of a thread's run.
  KOKKOS_FORCEINLINE_FUNCTION void enter(const Team& team, const Tile& thread, const Folded& its, Looks& looks,
                                         const Map* seen, Scalar (&state)[1]) const {
    const int known = known_front(its.tile);
    if (known == 0) {
      thread.reader().initial_state(state);
    } else {
      while (!Letters::is_there(looks.front)) looks.front = look_at_front(team, its.tile);
      state[0] = Letters::value(looks.front);
    }
    const Scalar front = state[0];
    for (int warp = 0; warp < shape.warps(); ++warp) seen[warp * team.lanes() + team.lane].step(state);
    its.before_run.step(state);
    if (!is_nan(state[0])) return;
    state[0] = front;
    for (int warp = 0; warp < shape.warps(); ++warp) seen[warp * team.lanes() + team.lane].leap(state, problem.packed);
    its.before_run.leap(state, problem.packed);
  }

  // Where a tile's map is told: tiles that a thread looks at one after another lie apart, and those that threads side
  // by side look at lie side by side.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t map_place(int tile, const Team& team) const {
    const int in_window = tile % window;
    return (std::int64_t(tile - in_window) + in_window % share() * lookers() + in_window / share()) * team.channels() +
           team.channel;
  }
  KOKKOS_FORCEINLINE_FUNCTION int lookers() const { return lookers_of(shape); }
  KOKKOS_FORCEINLINE_FUNCTION int share() const { return window / lookers(); }

  KOKKOS_FORCEINLINE_FUNCTION Letter look_at_front(const Team& team, int tile) const {
    const int known = known_front(tile);
    return known > 0 && team.real ? messages.state.look(state_place(known, team)) : Letters::of(Scalar(0));
  }

  /// Looks at the maps `begin` ... of this thread's share of a tile's predecessors. The first half of the runs looks at
  /// the window before the tile's own, the other half at its own.
  KOKKOS_FORCEINLINE_FUNCTION void look_at_maps(const Team& team, int tile, int begin, Looks& looks) const {
    const int second = team.run >= lookers() ? 1 : 0, looker = team.run - second * lookers();
    const int first = (tile / window - 1 + second) * window;
    ELAPHOS_UNROLL
    for (int i = 0; i < looks_at_once; ++i) {
      const int place = looker * share() + begin + i;
      const std::int64_t at = (first + (begin + i) * lookers() + looker) * team.channels() + team.channel;
      const bool wanted = begin + i < share() && first >= 0 && first + place < tile && team.real;
      looks.a[i] = wanted ? messages.map_a.look(at) : Letters::of(Scalar(1));
      looks.b[i] = wanted ? messages.map_b.look(at) : Letters::of(Scalar(0));
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Looks first_looks(const Team& team, int tile) const {
    Looks looks;
    look_at_maps(team, tile, 0, looks);
    looks.front = look_at_front(team, tile);
    return looks;
  }

  KOKKOS_FORCEINLINE_FUNCTION static bool all_there(const Looks& looks) {
    bool complete = true;
    ELAPHOS_UNROLL
    for (int i = 0; i < looks_at_once; ++i) {
      complete = complete && Letters::is_there(looks.a[i]) && Letters::is_there(looks.b[i]);
    }
    return complete;
  }

  /// The maps of a tile's predecessors, composed by each warp for its share of them: a thread composes what it sees,
  /// from `looks` on, and then warps fold the threads' maps as neighbours, pairs of neighbours, ...
  KOKKOS_FORCEINLINE_FUNCTION void look_back(const Team& team, int tile, Looks& looks,
                                             [[maybe_unused]] Map* seen) const {
    Map all;
    all.set_identity();
    for (int begin = 0; begin < share(); begin += looks_at_once) {
      if (begin > 0) look_at_maps(team, tile, begin, looks);
      while (!all_there(looks)) look_at_maps(team, tile, begin, looks);
      const auto seen_map = [&](int i) { return Map{{{Letters::value(looks.a[i])}}, {Letters::value(looks.b[i])}}; };
      const Map before = all;
      ELAPHOS_UNROLL
      for (int i = 0; i < looks_at_once; ++i) all = compose_plainly(all, seen_map(i));
      if (all.has_nan()) {
        all = before;
        ELAPHOS_UNROLL
        for (int i = 0; i < looks_at_once; ++i) all = compose(all, seen_map(i), problem.packed);
      }
    }
#if ELAPHOS_HAS_WARPS
    const int rank = team.member.team_rank();
    const bool asked = rank % warp_size < team.lanes();
    Map of_warp = fold_warp(team, all, Plainly());
    if (any_in_warp(asked && of_warp.has_nan())) of_warp = fold_warp(team, all, WithCare{problem.packed});
    if (asked) seen[rank / warp_size * team.lanes() + team.lane] = of_warp;
#endif
  }

#if ELAPHOS_HAS_WARPS
  /// The map of a warp's runs, for the first threads.
  template <class Compose>
  KOKKOS_FORCEINLINE_FUNCTION Map fold_warp(const Team& team, Map all, const Compose& composed) const {
    ELAPHOS_UNROLL
    for (int distance = 1; distance < warp_size; distance *= 2) {
      if (distance < team.lanes()) continue;
      // The last threads get their own map again, which nobody asks them for.
      all = composed(all, shuffle_down(all, distance));
    }
    return all;
  }
#endif
};

}  // namespace elaphos::impl

#endif
