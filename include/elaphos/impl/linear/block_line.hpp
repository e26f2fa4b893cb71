// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_BLOCK_LINE_HPP
#define ELAPHOS_IMPL_LINEAR_BLOCK_LINE_HPP

#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/linear/warp_stage.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// A thread's run of a tile of one channel of small blocks, whose matrices lie side by side: warps copy them to scratch
/// memory in whole lines, where they stay for the second walk. Reads K^2 + K words a step, writes K.
template <class Member, class Scalar, int size>
class BlockLine {
 public:
  using Team = TileTeam<Member, Scalar, size, true>;
  using Map = AffineMap<Scalar, size>;
  static constexpr int steps = steps_in_a_run<Scalar, size>;
  static constexpr int warp_steps = warp_size * steps;
  static constexpr bool reads_ahead = false;  // the walk needs scratch memory as it is
  static constexpr int pack = Pack<Scalar>::size;
  using Matrices = WarpStage<Member, Scalar, steps * size * size, size * size % pack == 0 ? pack : 1>;
  using Offsets = WarpStage<Member, Scalar, steps * size, size % pack == 0 ? pack : 1>;

  static std::size_t scratch_bytes(const TileShape& shape) {
    return Matrices::bytes(shape.warps()) + Offsets::bytes(shape.warps());
  }

  static bool possible(const LinearProblem<Scalar>& of) {
    const bool whole = of.block_size == size && of.a.time == size * size && of.a.row == size && of.a.column == 1;
    const bool plain = !of.reversed && !of.previous_coefficients && of.starts == nullptr;
    return of.channels() == 1 && whole && plain && of.b != nullptr && of.y != nullptr && aligned_for_packs(of.a.data) &&
           aligned_for_packs(of.b) && aligned_for_packs(of.y);
  }

  KOKKOS_FUNCTION BlockLine(const Team& team, const LinearProblem<Scalar>& problem)
      : BlockLine(team, problem, team.member.team_rank() / warp_size * warp_steps, team.shape.tile_steps()) {}

  /// Each warp's part of tile t begins at step first + t * pitch.
  KOKKOS_FUNCTION BlockLine(const Team& team, const LinearProblem<Scalar>& problem, int first, int pitch)
      : m_team(team),
        m_first(first),
        m_pitch(pitch),
        m_reader(problem, 0),
        m_matrices(team.member, team.scratch, team.shape.warps()),
        m_offsets(team.member, team.scratch, team.shape.warps()) {}

  KOKKOS_FORCEINLINE_FUNCTION const ChannelReader<Scalar, size>& reader() const { return m_reader; }

  /// Begins to copy a tile's numbers to where those of the tile before were, which have been folded or walked.
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t tile) const {
    const std::int64_t first = first_of_warp(tile);
    const Scalar* const matrices = m_reader.problem.a.data + first * size * size;
    const Scalar* const offsets = m_reader.problem.b + first * size;
    sync_warp(m_team.member);  // nobody in the warp needs the tile before any more
    if (available(first) >= warp_steps) {
      m_matrices.fill_whole(matrices);
      m_offsets.fill_whole(offsets);
    } else {
      m_matrices.fill_partly(matrices, available(first) * size * size);
      m_offsets.fill_partly(offsets, available(first) * size);
    }
  }

  /// The map of this thread's run of a loaded tile; steps past the problem's end act as the identity.
  KOKKOS_FORCEINLINE_FUNCTION Map fold_loaded(std::int64_t tile) const {
    wait_for_copies();
    sync_warp(m_team.member);
    const std::int64_t left = left_of_run(first_of_warp(tile));
    const Map all = fold(left, Plainly());
    return all.has_nan() ? fold(left, WithCare{m_reader.problem.packed}) : all;
  }

  KOKKOS_FORCEINLINE_FUNCTION void walk(std::int64_t tile, Scalar (&state)[size]) const {
    const std::int64_t first = first_of_warp(tile), left = left_of_run(first);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      if (i >= left) break;
      m_reader.advance(map(i), state);
      m_offsets.put(i * size, state);  // where its own b was, and nobody else's
    }
    sync_warp(m_team.member);
    m_offsets.drain(m_reader.problem.y + first * size, available(first) * size);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_of_warp(std::int64_t tile) const {
    return tile * m_pitch + m_first;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t left_of_run(std::int64_t first) const {
    return m_reader.problem.steps - first - m_team.member.team_rank() % warp_size * steps;
  }
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t available(std::int64_t first) const {
    const std::int64_t left = m_reader.problem.steps - first;
    return left > 0 ? left : 0;
  }

  template <class Compose>
  KOKKOS_FORCEINLINE_FUNCTION Map fold(std::int64_t left, const Compose& composed) const {
    Map all;
    all.set_identity();
    if (left > 0) all = map(0);
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) {
      if (i < left) all = composed(all, map(i));
    }
    return all;
  }

  KOKKOS_FORCEINLINE_FUNCTION Map map(int i) const {
    Scalar numbers[size * size];
    Map out;
    m_matrices.get(i * size * size, numbers);
    m_offsets.get(i * size, out.b);
    out.set_matrix(numbers);
    return out;
  }

  const Team& m_team;
  int m_first, m_pitch;
  ChannelReader<Scalar, size> m_reader;
  Matrices m_matrices;
  Offsets m_offsets;
};

}  // namespace elaphos::impl

#endif
