// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_TEAM_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_TEAM_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/team_scratch.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

/// How teams cut a problem on a device: a team takes `lanes` neighbouring channels, so that memory is read in whole
/// rows, and cuts its tile of time into `runs` runs of equal length, one a thread.
struct TileShape {
  int lanes = 1;  ///< a power of two, at most a warp
  int runs = 1;   ///< so many that a team is whole warps
  int run_steps = 1;
  std::int64_t tiles = 1;         ///< of time
  std::int64_t tiles_a_team = 1;  ///< one after another
  std::int64_t groups = 1;        ///< of channels

  /// Composed maps of a channel: one of each team's tiles.
  KOKKOS_FUNCTION std::int64_t maps() const { return divide_up(tiles, tiles_a_team); }
  KOKKOS_FUNCTION int tile_steps() const { return runs * run_steps; }
  KOKKOS_FUNCTION int team_size() const { return lanes * runs; }
  KOKKOS_FUNCTION int warps() const { return (team_size() + warp_size - 1) / warp_size; }
};

/// Steps of a thread's run, for maps of `size` numbers: as many as its registers hold.
template <class Scalar, int size>
inline constexpr int steps_in_a_run = size == 1 ? 16 : (size == 2 ? 8 : 4);

/// A thread's place in its team, and the scan over the team's runs.
///
/// On CUDA runs of a warp are scanned by shuffles (Hillis and Steele, 1986), and a barrier later each thread goes
/// through the warps before its own; elsewhere all runs are scanned through scratch memory. Both in a fixed order, so
/// that bits repeat. With `one_channel` lanes are known when this is compiled.
template <class Member, class Scalar, int size, bool one_channel = false>
class TileTeam {
 public:
  using Map = AffineMap<Scalar, size>;
  const Member& member;
  const LinearProblem<Scalar>& problem;
  TeamScratch scratch;
  TileShape shape;
  int lane, run;
  std::int64_t group, channel;
  bool real;

  KOKKOS_FORCEINLINE_FUNCTION int lanes() const { return one_channel ? 1 : shape.lanes; }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t channels() const { return one_channel ? 1 : problem.channels(); }

  /// Maps that a team keeps in scratch: of its warps, or of its threads.
  KOKKOS_FUNCTION static int kept_maps(const TileShape& shape) {
    return member_has_warps<Member> ? shape.warps() * shape.lanes : shape.team_size();
  }

  static std::size_t scratch_bytes(const TileShape& shape) {
    return sizeof(Map) * std::size_t(kept_maps(shape)) + sizeof(Scalar) * size * std::size_t(shape.lanes) + 48;
  }

  KOKKOS_FUNCTION TileTeam(const Member& of, const LinearProblem<Scalar>& its_problem, const TileShape& its_shape,
                           std::int64_t its_group)
      : member(of),
        problem(its_problem),
        scratch(of),
        shape(its_shape),
        lane(of.team_rank() & (lanes() - 1)),
        run(of.team_rank() / lanes()),
        group(its_group),
        channel(one_channel ? 0 : its_group * its_shape.lanes + lane),
        real(one_channel || channel < its_problem.channels()) {
    m_maps = scratch.take<Map>(std::size_t(kept_maps(shape)));
    m_carry = scratch.take<Scalar[size]>(std::size_t(shape.lanes));
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_step(std::int64_t tile) const {
    return tile * shape.tile_steps() + std::int64_t(run) * shape.run_steps;
  }
  KOKKOS_FORCEINLINE_FUNCTION bool last_run() const { return run == shape.runs - 1; }

  /// The state in front of the tile, for each lane.
  KOKKOS_FORCEINLINE_FUNCTION Scalar (&carry() const)[size] { return m_carry[lane]; }

#if ELAPHOS_HAS_WARPS
  /// The map of the warp's runs up to this one.
  KOKKOS_FORCEINLINE_FUNCTION Map scan_own_warp(const Map& own) const {
    const Map all = scan_warp(own, Plainly());
    return any_in_warp(all.has_nan()) ? scan_warp(own, WithCare{problem.packed}) : all;
  }

  /// Takes what `scan_own_warp` has given.
  KOKKOS_FORCEINLINE_FUNCTION void keep_before(const Map& all) {
    m_before = shuffle_up(all, lanes());
    if ((member.team_rank() & (warp_size - 1)) < lanes()) m_before.set_identity();
  }

  /// Moves `state` from the warp's entry to this run's entry; after `keep_before`.
  KOKKOS_FORCEINLINE_FUNCTION void enter_run_of_warp(Scalar (&state)[size]) const {
    Scalar front[size];
    bool suspect = false;
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) front[r] = state[r];
    m_before.step(state);
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) suspect = suspect || is_nan(state[r]);
    if (!suspect) return;
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) state[r] = front[r];
    m_before.leap(state, problem.packed);
  }
#endif

  /// Takes the maps of all runs; ends with a barrier.
  KOKKOS_FORCEINLINE_FUNCTION void scan(const Map& own) {
#if ELAPHOS_HAS_WARPS
    const Map all = scan_own_warp(own);
    keep_before(all);
    if ((member.team_rank() & (warp_size - 1)) >= warp_size - lanes()) m_maps[member.team_rank() / warp_size * lanes() + lane] = all;
    member.team_barrier();
#else
    const int rank = member.team_rank();
    Map all = own;
    for (int distance = 1; distance < shape.runs; distance *= 2) {
      m_maps[rank] = all;
      member.team_barrier();
      if (run >= distance) all = compose(m_maps[rank - distance * lanes()], all, problem.packed);
      member.team_barrier();
    }
    m_maps[rank] = all;
    member.team_barrier();
#endif
  }

  /// The map of the whole tile, of this thread's channel; after `scan`.
  KOKKOS_FORCEINLINE_FUNCTION Map total() const {
#if ELAPHOS_HAS_WARPS
    Map all = m_maps[lane];
    for (int warp = 1; warp < shape.warps(); ++warp) all = compose(all, m_maps[warp * lanes() + lane], problem.packed);
    return all;
#else
    return m_maps[(shape.runs - 1) * lanes() + lane];
#endif
  }

  /// The map of the tile up to this run; after `scan`.
  KOKKOS_FORCEINLINE_FUNCTION Map before_run() const {
#if ELAPHOS_HAS_WARPS
    Map all = m_before;
    for (int warp = member.team_rank() / warp_size; warp-- > 0;)
      all = compose(m_maps[warp * lanes() + lane], all, problem.packed);
    return all;
#else
    Map all;
    all.set_identity();
    return run > 0 ? m_maps[member.team_rank() - lanes()] : all;
#endif
  }

  /// Moves `state` from the tile's entry to this run's entry; after `scan`.
  KOKKOS_FORCEINLINE_FUNCTION void enter_run(Scalar (&state)[size]) const {
#if ELAPHOS_HAS_WARPS
    Scalar front[size];
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) front[r] = state[r];
    bool suspect = false;
    for (int warp = 0; warp < member.team_rank() / warp_size; ++warp) m_maps[warp * lanes() + lane].step(state);
    m_before.step(state);
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) suspect = suspect || is_nan(state[r]);
    if (!suspect) return;
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) state[r] = front[r];
    for (int warp = 0; warp < member.team_rank() / warp_size; ++warp)
      m_maps[warp * lanes() + lane].leap(state, problem.packed);
    m_before.leap(state, problem.packed);
#else
    if (run > 0) m_maps[member.team_rank() - lanes()].leap(state, problem.packed);
#endif
  }

 private:
#if ELAPHOS_HAS_WARPS
  template <class Compose>
  KOKKOS_FORCEINLINE_FUNCTION Map scan_warp(const Map& own, const Compose& composed) const {
    Map all = own;
    ELAPHOS_UNROLL_BY(size == 1 ? 5 : 1)
    for (int distance = 1; distance < warp_size; distance *= 2) {
      if (distance < lanes()) continue;
      const Map earlier = shuffle_up(all, distance);
      if ((member.team_rank() & (warp_size - 1)) >= distance) all = composed(earlier, all);
    }
    return all;
  }

#endif
  Map* m_maps;
  Scalar (*m_carry)[size];
#if ELAPHOS_HAS_WARPS
  Map m_before;  // of the runs before in the warp
#endif
};

}  // namespace elaphos::impl

#endif
