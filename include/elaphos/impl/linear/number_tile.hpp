// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_NUMBER_TILE_HPP
#define ELAPHOS_IMPL_LINEAR_NUMBER_TILE_HPP

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

/// A thread's run of a tile of channels of one number, which stays in registers between the two walks over it: 2 words
/// read and 1 written a step and channel, whatever happens in between.
template <class Member, class Scalar, TileAccess access>
class NumberTile {
 public:
  using Team = TileTeam<Member, Scalar, 1>;
  using Map = AffineMap<Scalar, 1>;
  static constexpr int steps = steps_in_a_run<Scalar, 1>;
  using Line = WarpStage<Member, Scalar, steps, Pack<Scalar>::size>;

  static std::size_t scratch_bytes(const TileShape& shape) {
    if (access == TileAccess::line) return 2 * Line::bytes(shape.warps());
    if (access != TileAccess::staged) return 0;
    return 2 * sizeof(Scalar) * std::size_t(shape.warps()) * staged_entries + 48;
  }

  /// The access that suits a problem cut into groups of `lanes` channels.
  static TileAccess best_access(const LinearProblem<Scalar>& of, int lanes) {
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

  KOKKOS_FUNCTION NumberTile(const Team& team, const LinearProblem<Scalar>& problem)
      : m_team(team),
        m_reader(problem, team.real ? team.channel : 0),
        m_line_a(team.member, team.shape.warps()),
        m_line_b(team.member, team.shape.warps()) {
    if constexpr (access == TileAccess::staged) {
      const std::size_t bytes = sizeof(Scalar) * std::size_t(team.shape.warps()) * staged_entries;
      const int warp = team.member.team_rank() / warp_size;
      m_staged_a = static_cast<Scalar*>(team.member.team_shmem().get_shmem_aligned(bytes, 16)) + warp * staged_entries;
      m_staged_b = static_cast<Scalar*>(team.member.team_shmem().get_shmem_aligned(bytes, 16)) + warp * staged_entries;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION const ChannelReader<Scalar, 1>& reader() const { return m_reader; }

  /// The map of this thread's run; steps past the problem's end act as the identity.
  KOKKOS_FORCEINLINE_FUNCTION Map fold(std::int64_t tile) {
    load(tile);
    return fold_loaded(tile);
  }

  /// Begins to read a tile's numbers, while the tile before is still in use.
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

  /// `fold` of a tile that was loaded.
  KOKKOS_FORCEINLINE_FUNCTION Map fold_loaded([[maybe_unused]] std::int64_t tile) {
    if constexpr (access == TileAccess::staged) {
      unpack_staged();
    } else if constexpr (access == TileAccess::line) {
      unpack_line(tile);
    } else {
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        m_a[i] = m_next_a[i];
        m_b[i] = m_next_b[i];
      }
    }
    Scalar product = m_a[0], offset = m_b[0];
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) {
      product = m_a[i] * product;
      offset = multiply_add_any(m_a[i], offset, m_b[i]);
    }
    if (is_nan(product) || is_nan(offset)) return fold_again();
    return {{{product}}, {offset}};
  }

  /// Walks this thread's run from its entry and writes the states.
  KOKKOS_FORCEINLINE_FUNCTION void walk(std::int64_t tile, Scalar (&state)[1]) {
    const int left = steps_left(tile);
    if constexpr (access == TileAccess::staged) {
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        m_b[i] = state[0];
      }
      unstage(tile);
    } else if constexpr (access == TileAccess::line) {
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        m_b[i] = state[0];
      }
      const std::int64_t first = first_of_warp(tile);
      m_line_b.put(0, m_b);  // where its own numbers were, and nobody else's
      sync_warp(m_team.member);
      m_line_b.drain(m_reader.problem.y + first, m_reader.problem.steps - first);
    } else if constexpr (access == TileAccess::rows) {
      Scalar* to = m_reader.problem.y + m_reader.entry(m_reader.problem.time(m_team.first_step(tile)));
      const std::int64_t stride = row_stride();
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        if (i < left) *to = state[0];
        to += stride;
      }
    } else {
      const std::int64_t first = m_team.first_step(tile);
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        if (i < left) m_reader.write(first + i, state);
      }
    }
  }

 private:
  struct NoLine {
    KOKKOS_FORCEINLINE_FUNCTION NoLine(const Member&, int) {}
  };

  // A warp's numbers in scratch, one a bank where threads go through them 16 apart.
  static constexpr int staged_entries = warp_size * (steps + 1);
  KOKKOS_FORCEINLINE_FUNCTION static int staged_place(int e) { return e + e / steps; }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t row_stride() const {
    const std::int64_t row = m_reader.problem.channels();
    return m_reader.problem.reversed ? -row : row;
  }

  // Steps of this thread's run that are the problem's; none for lanes without a channel.
  KOKKOS_FORCEINLINE_FUNCTION int steps_left(std::int64_t tile) const {
    const std::int64_t left = m_reader.problem.steps - m_team.first_step(tile);
    return !m_team.real || left < 0 ? 0 : (left < steps ? static_cast<int>(left) : steps);
  }

  // From a step to the one whose coefficients it takes.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t shift() const {
    if (!m_reader.problem.previous_coefficients) return 0;
    return m_reader.problem.reversed ? 1 : -1;
  }

  // Numbers past the problem's end act as the identity.
  KOKKOS_FORCEINLINE_FUNCTION void advance(int i, Scalar (&state)[1]) const {
    m_reader.advance(Map{{{m_a[i]}}, {m_b[i]}}, state);
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_rows(std::int64_t tile) {
    const LinearProblem<Scalar>& problem = m_reader.problem;
    const std::int64_t first = m_team.first_step(tile), t = problem.time(first);
    const int left = steps_left(tile);
    // The first step of an adjoint has the identity, and no step before it.
    const int skipped = problem.previous_coefficients && first == 0 ? 1 : 0;
    const std::int64_t a_stride = problem.reversed ? -problem.a.time : problem.a.time, b_stride = row_stride();
    const Scalar* from_a = m_reader.coefficients + (t + shift()) * problem.a.time;
    const Scalar* from_b = problem.b + m_reader.entry(t);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      m_next_a[i] = i < left && i >= skipped ? *from_a : Scalar(1);
      m_next_b[i] = i < left ? *from_b : Scalar(0);
      from_a += a_stride;
      from_b += b_stride;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_line(std::int64_t tile) {
    const std::int64_t first = first_of_warp(tile), available = m_reader.problem.steps - first;
    m_line_a.fetch(m_reader.problem.a.data + first, available, m_next_a);
    m_line_b.fetch(m_reader.problem.b + first, available, m_next_b);
  }

  KOKKOS_FORCEINLINE_FUNCTION void unpack_line(std::int64_t tile) {
    sync_warp(m_team.member);  // the tile before has been copied out
    m_line_a.publish(m_next_a);
    m_line_b.publish(m_next_b);
    sync_warp(m_team.member);
    m_line_a.get(0, m_a);
    m_line_b.get(0, m_b);
    const int left = steps_left(tile);
    if (left == steps) return;
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      if (i < left) continue;
      m_a[i] = Scalar(1);
      m_b[i] = Scalar(0);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load_steps(std::int64_t tile) {
    const std::int64_t first = m_team.first_step(tile);
    const int left = steps_left(tile);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      Map map;
      map.set_identity();
      if (i < left) map = m_reader.map(first + i);
      m_next_a[i] = map.A[0][0];
      m_next_b[i] = map.b[0];
    }
  }

  KOKKOS_FUNCTION Map fold_again() const {
    Map total{{{m_a[0]}}, {m_b[0]}};
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) total = compose(total, Map{{{m_a[i]}}, {m_b[i]}});
    return total;
  }

  // The warp's runs are rows of all channels, one behind the other: its first position, and how many numbers they have.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t first_of_warp(std::int64_t tile) const {
    const int warp = m_team.member.team_rank() / warp_size;
    return tile * m_team.shape.tile_steps() + std::int64_t(warp) * (warp_size / m_team.shape.lanes) * steps;
  }
  KOKKOS_FORCEINLINE_FUNCTION int numbers_of_warp(std::int64_t first) const {
    const std::int64_t left = m_reader.problem.steps - first, rows = (warp_size / m_team.shape.lanes) * steps;
    return left <= 0 ? 0 : static_cast<int>((left < rows ? left : rows) * m_reader.problem.channels());
  }

  // First all loads, then all stores, so that loads do not wait for one another. Neighbours copy neighbouring numbers;
  // backwards they count down.
  KOKKOS_FORCEINLINE_FUNCTION void load_staged(std::int64_t tile) {
    const LinearProblem<Scalar>& problem = m_reader.problem;
    const std::int64_t first = first_of_warp(tile);
    const int C = static_cast<int>(problem.channels()), rank = m_team.member.team_rank() % warp_size;
    const int count = numbers_of_warp(first);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int e = i * warp_size + rank, row = e / C, column = e - row * C;
      m_next_a[i] = Scalar(1);
      m_next_b[i] = Scalar(0);
      if (e < count) {
        const std::int64_t t = problem.time(first + row);
        m_next_b[i] = problem.b[t * C + column];
        if (!problem.previous_coefficients || first + row > 0) {
          m_next_a[i] = problem.a.data[(t + shift()) * problem.a.time + column];
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void unpack_staged() {
    const int C = static_cast<int>(m_reader.problem.channels()), rank = m_team.member.team_rank() % warp_size;
    sync_warp(m_team.member);  // the tile before has been copied out
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int e = staged_place(i * warp_size + rank);
      m_staged_a[e] = m_next_a[i];
      m_staged_b[e] = m_next_b[i];
    }
    sync_warp(m_team.member);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int e = staged_place(run_in_warp() * steps * C + i * C + m_team.lane);
      m_a[i] = m_team.real ? m_staged_a[e] : Scalar(1);
      m_b[i] = m_team.real ? m_staged_b[e] : Scalar(0);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION int run_in_warp() const {
    return m_team.run % (warp_size / m_team.shape.lanes);
  }

  KOKKOS_FORCEINLINE_FUNCTION void unstage(std::int64_t tile) const {
    const LinearProblem<Scalar>& problem = m_reader.problem;
    const std::int64_t first = first_of_warp(tile);
    const int C = static_cast<int>(problem.channels()), rank = m_team.member.team_rank() % warp_size;
    const int count = numbers_of_warp(first);
    sync_warp(m_team.member);  // all have read their numbers
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      if (m_team.real) m_staged_b[staged_place(run_in_warp() * steps * C + i * C + m_team.lane)] = m_b[i];
    }
    sync_warp(m_team.member);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int e = i * warp_size + rank;
      if (e >= count) continue;
      const int row = C == 1 ? e : e / C;
      problem.y[problem.time(first + row) * C + (e - row * C)] = m_staged_b[staged_place(e)];
    }
  }

  const Team& m_team;
  ChannelReader<Scalar, 1> m_reader;
  [[no_unique_address]] std::conditional_t<access == TileAccess::line, Line, NoLine> m_line_a, m_line_b;
  Scalar m_a[steps], m_b[steps];            // of the tile in use
  Scalar m_next_a[steps], m_next_b[steps];  // of the one that is read, as it lies in memory
  Scalar* m_staged_a = nullptr;
  Scalar* m_staged_b = nullptr;
};

}  // namespace elaphos::impl

#endif
