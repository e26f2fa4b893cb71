// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_BLOCK_TILE_HPP
#define ELAPHOS_IMPL_LINEAR_BLOCK_TILE_HPP

#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// A thread's run of a tile of small blocks. Its steps are read twice, the second time from a cache: registers are
/// worth more as room for more teams.
template <class Member, class Scalar, int size>
class BlockTile {
 public:
  using Team = TileTeam<Member, Scalar, size>;
  using Map = AffineMap<Scalar, size>;
  static constexpr int steps = steps_in_a_run<Scalar, size>;
  static constexpr bool reads_ahead = false;

  static std::size_t scratch_bytes(const TileShape&) { return 0; }

  KOKKOS_FUNCTION BlockTile(const Team& team, const LinearProblem<Scalar>& problem)
      : m_team(team), m_reader(problem, team.real ? team.channel : 0) {}

  KOKKOS_FORCEINLINE_FUNCTION const ChannelReader<Scalar, size>& reader() const { return m_reader; }

  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t) const {}  // nothing is kept

  /// The map of this thread's run; steps past the problem's end act as the identity. Reads K^2 + K words a step.
  KOKKOS_FORCEINLINE_FUNCTION Map fold_loaded(std::int64_t tile) {
    const std::int64_t first = m_team.first_step(tile), left = m_reader.problem.steps - first;
    Map all;
    all.set_identity();
    if (!m_team.real) return all;
    if (left > 0) all = m_reader.map(first);
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) {
      if (i < left) all = compose(all, m_reader.map(first + i), m_reader.problem.packed);
    }
    return all;
  }

  /// Walks this thread's run from its entry and writes the states: K words a step.
  KOKKOS_FORCEINLINE_FUNCTION void walk(std::int64_t tile, Scalar (&state)[size]) const {
    const std::int64_t first = m_team.first_step(tile), left = m_reader.problem.steps - first;
    if (!m_team.real) return;
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      if (i >= left) break;
      m_reader.advance(m_reader.map(first + i), state);
      m_reader.write(first + i, state);
    }
  }

 private:
  const Team& m_team;
  ChannelReader<Scalar, size> m_reader;
};

}  // namespace elaphos::impl

#endif
