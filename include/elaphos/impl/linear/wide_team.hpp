// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WIDE_TEAM_HPP
#define ELAPHOS_IMPL_LINEAR_WIDE_TEAM_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/team_scratch.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

// Blocks too wide for one thread's registers, on a device: `size` threads share a run of time. A_t goes through scratch
// memory, read in whole rows: some steps at a time where blocks are narrow, a panel of rows at a time where they are very
// wide. Narrow blocks put several runs side by side in a team, so that a team has 32 threads or more.

/// Sizes that follow from the width up to which a kernel is compiled.
template <class Scalar, int size>
struct WideLayout {
  static constexpr int pack = Pack<Scalar>::size;
  static constexpr int runs = size < 32 ? 32 / size : 1;  ///< of a team
  static constexpr int team_size = size * runs;
  /// One pack more than a row: threads that go through rows side by side use different memory banks.
  static constexpr int row_stride = size + pack;
  static constexpr int rows_that_fit(int rows) {
    return std::size_t(rows) * row_stride * sizeof(Scalar) <= 18 * 1024 ? rows : rows_that_fit(rows / 2);
  }
  static constexpr int panel_rows = rows_that_fit(size);
  /// Steps copied at a time: 128 bytes a thread are on their way.
  static constexpr int batch = int(128 / sizeof(Scalar)) > size ? int(128 / sizeof(Scalar)) / size : 1;
  static constexpr int matrix_entries = panel_rows * row_stride;
  static constexpr int panel_entries = batch * matrix_entries;
  /// What runs have in scratch memory starts on different banks for each: all are read at once.
  static constexpr int run_gap = runs > 1 ? int(128 / sizeof(Scalar)) / runs : 0;
  KOKKOS_FUNCTION static constexpr int entries_of_runs(int entries) { return runs * (entries + run_gap); }
};

/// How a problem is cut into runs.
struct WideShape {
  std::int64_t tiles = 1;
  std::int64_t run_steps = 0;  ///< of a tile, at least
  std::int64_t longer = 0;     ///< first tiles that have a step more
  /// Runs of a team that are neighbours in time, whose maps it composes; 1 where its runs are of different channels.
  int line = 1;

  KOKKOS_FUNCTION std::int64_t most_steps() const { return run_steps + (longer > 0 ? 1 : 0); }
  KOKKOS_FUNCTION std::int64_t first_step(std::int64_t tile) const {
    return tile * run_steps + (tile < longer ? tile : longer);
  }

  /// Composed maps of a channel.
  KOKKOS_FUNCTION std::int64_t maps() const { return (tiles + line - 1) / line; }
};

/// A thread's place: its run, and its row there. `block_size` is the problem's, as far as known when this is compiled.
template <class Member, class Scalar, int size>
struct WideTeam {
  using Layout = WideLayout<Scalar, size>;
  const Member& member;
  const LinearProblem<Scalar>& problem;
  TeamScratch scratch;
  int lane, run, K;
  std::int64_t group, tile, channel;  ///< the run's, and which of the composed maps it is in
  bool real;
  bool full;  ///< whether all runs of the team are real

  KOKKOS_FUNCTION WideTeam(const Member& of, const LinearProblem<Scalar>& its_problem, const WideShape& shape,
                           int block_size)
      : member(of),
        problem(its_problem),
        scratch(of),
        lane(of.team_rank() % size),
        run(of.team_rank() / size),
        K(block_size) {
    const int apart = Layout::runs / shape.line;  // runs of different channels
    const std::int64_t first = std::int64_t(of.league_rank()) * apart, channels = its_problem.channels();
    const std::int64_t index = first + (apart > 1 ? run : 0);
    group = index / channels;
    channel = index - group * channels;
    tile = group * shape.line + (apart > 1 ? 0 : run);
    real = tile < shape.tiles;
    full = ((first + apart - 1) / channels + 1) * shape.line <= shape.tiles;
    const std::int64_t sequence = channel / problem.blocks, block = channel - sequence * problem.blocks;
    const std::int64_t t = problem.time(0), sign = problem.reversed ? -1 : 1;
    m_a_step = sign * problem.a.time;
    m_a = problem.a.data + sequence * problem.a.sequence + block * problem.a.block + t * problem.a.time -
          (problem.previous_coefficients ? m_a_step : 0);
    m_entry_step = sign * problem.batch * problem.width();
    m_entry = t * problem.batch * problem.width() + channel * K + lane;
    m_first_of_y0 = block * K + lane;
  }

  /// Lets the run's threads see what they have written: a barrier of the team, or of the one warp that it is.
  KOKKOS_FORCEINLINE_FUNCTION void barrier() const {
    if constexpr (Layout::team_size == warp_size) {
      sync_warp(member);
    } else {
      member.team_barrier();
    }
  }

  /// Whether this thread's row is the block's.
  KOKKOS_FORCEINLINE_FUNCTION bool own() const { return real && lane < K; }

  /// `entries` numbers of this run's own, at an aligned place in scratch memory; `zeros` at first, or anything.
  KOKKOS_FUNCTION Scalar* take(int entries, bool zeros) const {
    const int all = Layout::entries_of_runs(entries);
    auto* const first = scratch.take<Scalar>(std::size_t(all));
    for (int e = member.team_rank(); zeros && e < all; e += member.team_size()) first[e] = Scalar(0);
    return first + run * (entries + Layout::run_gap);
  }
  static std::size_t bytes(int entries) { return sizeof(Scalar) * std::size_t(Layout::entries_of_runs(entries)) + 16; }

  /// Of a packed sequence whose first step position p is: 1 + its number; else 0.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t start(std::int64_t p) const {
    return problem.starts == nullptr ? 0 : problem.starts[problem.time(p)];
  }

  /// The coefficients of position p, or null for the identity.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* matrix(std::int64_t p) const {
    if (problem.previous_coefficients && (p == 0 || start(p) != 0)) return nullptr;
    return m_a + p * m_a_step;
  }

  /// Whether every step is a matrix and an offset and nothing else.
  KOKKOS_FORCEINLINE_FUNCTION bool plain() const {
    return !problem.previous_coefficients && problem.starts == nullptr && problem.b != nullptr;
  }
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* plain_matrix(std::int64_t p) const { return m_a + p * m_a_step; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar plain_offset(std::int64_t p) const { return problem.b[entry(p)]; }

  /// Where this thread's number of position p is in (T, B, D).
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t entry(std::int64_t p) const { return m_entry + p * m_entry_step; }

  /// This thread's number of b at position p.
  KOKKOS_FORCEINLINE_FUNCTION Scalar offset(std::int64_t p) const {
    return problem.b != nullptr && lane < K ? problem.b[entry(p)] : Scalar(0);
  }

  /// This thread's number of the first state of packed sequence `its_start` - 1.
  KOKKOS_FUNCTION Scalar first_state(std::int32_t its_start) const {
    if (problem.y0 == nullptr || lane >= K) return Scalar(0);
    return problem.y0[(its_start - 1) * problem.width() + m_first_of_y0];
  }

  /// Where the channel's numbers of step `at` lie in (steps, channels, block_size).
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(std::int64_t at) const { return (at * problem.channels() + channel) * K; }

  /// Where the map from the front of this run's group up to its run `at` is kept: K^2 + K numbers.
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t kept_place(std::int64_t at) const {
    return ((group * problem.channels() + channel) * Layout::runs + at) * (K * K + K);
  }

  /// A row of a panel times a vector in scratch, plus `sum`, from left to right.
  KOKKOS_FORCEINLINE_FUNCTION Scalar dot(const Scalar* row, const Scalar* vector, Scalar sum) const {
    ELAPHOS_UNROLL_BY(2)
    for (int k = 0; k < K; k += Layout::pack) sum = dot_pack(row + k, vector + k, sum);
    return sum;
  }
  KOKKOS_FORCEINLINE_FUNCTION static Scalar dot_pack(const Scalar* row, const Scalar* vector, Scalar sum) {
    const Pack<Scalar> a = read_pack(row), x = read_pack(vector);
    ELAPHOS_UNROLL
    for (int v = 0; v < Layout::pack; ++v) sum = multiply_add_any(a.v[v], x.v[v], sum);
    return sum;
  }

  /// The same where a zero wins over an infinity.
  KOKKOS_FUNCTION Scalar safe_dot(const Scalar* row, const Scalar* vector, Scalar sum) const {
    for (int k = 0; k < K; ++k) sum = sum + overflow_safe_product(row[k], vector[k], problem.packed);
    return sum;
  }

 private:
  const Scalar* m_a;
  std::int64_t m_a_step, m_entry, m_entry_step, m_first_of_y0;
};

}  // namespace elaphos::impl

#endif
