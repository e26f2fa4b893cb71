// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_NUMBER_LOADER_HPP
#define ELAPHOS_IMPL_LINEAR_NUMBER_LOADER_HPP

#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/linear/warp_stage.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// How tiles of channels of one number are read.
enum class TileAccess {
  rows,    ///< 8 channels and more: a warp's load is a few rows, as they lie in memory
  staged,  ///< fewer, whose rows are short: warps copy their runs through scratch memory
  line,    ///< one, whose numbers lie side by side: the same, in packs
  steps    ///< what is neither (packed sequences, missing offsets, strided channels): step by step
};

/// The access that suits a problem cut into groups of `lanes` channels.
template <class Scalar>
TileAccess best_tile_access(const LinearProblem<Scalar>& of, int lanes) {
  const bool rows = (of.blocks == 1 || of.a.block == 1) && (of.batch == 1 || of.a.sequence == of.blocks);
  if (of.starts != nullptr || of.b == nullptr || of.y == nullptr) return TileAccess::steps;
  if (lanes >= 8) return TileAccess::rows;
  if (!rows) return TileAccess::steps;
  const bool packs = aligned_for_packs(of.a.data) && aligned_for_packs(of.b) && aligned_for_packs(of.y);
  if (of.channels() == 1 && of.a.time == 1 && !of.reversed && !of.previous_coefficients && packs) {
    return TileAccess::line;
  }
  return TileAccess::staged;
}

/// Reads tiles of channels of one number, `steps` steps a thread, into registers. What a thread holds then is its run
/// for `rows` and `steps`, and for the others what lies beside what its neighbours hold. Past the problem's end it is
/// the identity.
template <class Member, class Scalar, TileAccess access, int steps>
class NumberLoader {
 public:
  using Team = TileTeam<Member, Scalar, 1, access == TileAccess::line>;
  using Map = AffineMap<Scalar, 1>;
  using Line = WarpStage<Member, Scalar, steps, Pack<Scalar>::size>;
  const Team& team;
  ChannelReader<Scalar, 1> reader;
  Scalar next_a[steps], next_b[steps];

  KOKKOS_FORCEINLINE_FUNCTION NumberLoader(const Team& of, const LinearProblem<Scalar>& problem)
      : team(of),
        reader(problem, of.real ? of.channel : 0),
        m_inverse(access == TileAccess::staged
                      ? (65536u + unsigned(problem.channels()) - 1) / unsigned(problem.channels())
                      : 0) {}

  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t tile) {
    if constexpr (access == TileAccess::staged) {
      load_staged(tile);
    } else if constexpr (access == TileAccess::line) {
      load_line(tile);
    } else if constexpr (access == TileAccess::rows) {
      load_rows(tile);
    } else {
      load_steps(tile);
    }
  }

  // Steps of this thread's run that are the problem's; none for lanes without a channel.
  KOKKOS_FORCEINLINE_FUNCTION int steps_left(std::int64_t tile) const {
    const std::int64_t left = reader.problem.steps - team.first_step(tile);
    return !team.real || left < 0 ? 0 : (left < steps ? static_cast<int>(left) : steps);
  }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t row_stride() const {
    const std::int64_t row = reader.problem.channels();
    return reader.problem.reversed ? -row : row;
  }

  // The warp's runs are rows of all channels, one behind the other: its first position, and how many numbers they have.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_of_warp(std::int64_t tile) const {
    const int warp = team.member.team_rank() / warp_size;
    return tile * team.shape.tile_steps() + std::int64_t(warp) * (warp_size / team.lanes()) * steps;
  }
  KOKKOS_FORCEINLINE_FUNCTION int numbers_of_warp(std::int64_t first) const {
    const std::int64_t left = reader.problem.steps - first, rows = (warp_size / team.lanes()) * steps;
    return left <= 0 ? 0 : static_cast<int>((left < rows ? left : rows) * reader.problem.channels());
  }

  KOKKOS_FORCEINLINE_FUNCTION int run_in_warp() const { return team.run % (warp_size / team.lanes()); }

  /// Of staged tiles, whose rows are short: the row that number `e` of a warp lies in (e < 2048; a division costs 20
  /// instructions).
  KOKKOS_FORCEINLINE_FUNCTION int row_of(int e) const { return static_cast<int>((unsigned(e) * m_inverse) >> 16); }

 private:
  unsigned m_inverse;

  // From a step to the one whose coefficients it takes.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t shift() const {
    if (!reader.problem.previous_coefficients) return 0;
    return reader.problem.reversed ? 1 : -1;
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_rows(std::int64_t tile) {
    const LinearProblem<Scalar>& problem = reader.problem;
    const std::int64_t first = team.first_step(tile), t = problem.time(first);
    const int left = steps_left(tile);
    // The first step of an adjoint has the identity, and no step before it.
    const int skipped = problem.previous_coefficients && first == 0 ? 1 : 0;
    const std::int64_t a_stride = problem.reversed ? -problem.a.time : problem.a.time, b_stride = row_stride();
    const Scalar* from_a = reader.coefficients + (t + shift()) * problem.a.time;
    const Scalar* from_b = problem.b + reader.entry(t);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      next_a[i] = i < left && i >= skipped ? *from_a : Scalar(1);
      next_b[i] = i < left ? *from_b : Scalar(0);
      from_a += a_stride;
      from_b += b_stride;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_line(std::int64_t tile) {
    const std::int64_t first = first_of_warp(tile), available = reader.problem.steps - first;
    const int rank = team.member.team_rank() % warp_size;
    Line::fetch(rank, reader.problem.a.data + first, available, Scalar(1), next_a);
    Line::fetch(rank, reader.problem.b + first, available, Scalar(0), next_b);
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_steps(std::int64_t tile) {
    const std::int64_t first = team.first_step(tile);
    const int left = steps_left(tile);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      Map map;
      map.set_identity();
      if (i < left) map = reader.map(first + i);
      next_a[i] = map.A[0][0];
      next_b[i] = map.b[0];
    }
  }

  // First all loads, then all stores, so that loads do not wait for one another. Neighbours copy neighbouring numbers;
  // backwards they count down.
  KOKKOS_FORCEINLINE_FUNCTION void load_staged(std::int64_t tile) {
    const LinearProblem<Scalar>& problem = reader.problem;
    const std::int64_t first = first_of_warp(tile);
    const int C = static_cast<int>(problem.channels()), rank = team.member.team_rank() % warp_size;
    const int count = numbers_of_warp(first);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int e = i * warp_size + rank, row = row_of(e), column = e - row * C;
      next_a[i] = Scalar(1);
      next_b[i] = Scalar(0);
      if (e < count) {
        const std::int64_t t = problem.time(first + row);
        next_b[i] = problem.b[t * C + column];
        if (!problem.previous_coefficients || first + row > 0) {
          next_a[i] = problem.a.data[(t + shift()) * problem.a.time + column];
        }
      }
    }
  }
};

/// Where a thread of `rows` or `steps` writes its run's states.
template <class Scalar, TileAccess access>
class StateWriter {
 public:
  template <class Loader>
  KOKKOS_FORCEINLINE_FUNCTION StateWriter(const Loader& loader, std::int64_t tile)
      : m_reader(loader.reader), m_at(loader.team.first_step(tile)) {
    if constexpr (access == TileAccess::rows) {
      m_to = m_reader.problem.y + m_reader.entry(m_reader.problem.time(m_at));
      m_stride = loader.row_stride();
    }
  }
  /// The next state; `real` unless it lies past the problem's end.
  KOKKOS_FORCEINLINE_FUNCTION void write(bool real, const Scalar (&state)[1]) {
    if constexpr (access == TileAccess::rows) {
      if (real) *m_to = state[0];
      m_to += m_stride;
    } else {
      if (real) m_reader.write(m_at, state);
      ++m_at;
    }
  }

 private:
  const ChannelReader<Scalar, 1>& m_reader;
  std::int64_t m_at, m_stride = 0;
  Scalar* m_to = nullptr;
};

/// Calls `work` with the access that suits a problem.
template <class Scalar, class Work>
void with_tile_access(const LinearProblem<Scalar>& problem, int lanes, const Work& work) {
  switch (best_tile_access(problem, lanes)) {
    case TileAccess::rows:
      return work(std::integral_constant<TileAccess, TileAccess::rows>());
    case TileAccess::line:
      return work(std::integral_constant<TileAccess, TileAccess::line>());
    case TileAccess::staged:
      return work(std::integral_constant<TileAccess, TileAccess::staged>());
    default:
      return work(std::integral_constant<TileAccess, TileAccess::steps>());
  }
}

}  // namespace elaphos::impl

#endif
