// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TEAM_PER_TILE_HPP
#define ELAPHOS_IMPL_LINEAR_TEAM_PER_TILE_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

// The launch scheme of the DEER paper (Lim et al., 2024): T steps are cut into tiles of `scan_tile` steps, a team takes
// a tile with a thread a step, and the tile's maps lie in scratch memory. All blocks of a sequence are in one tile.
//
// Up the tree (Blelloch, 1990) each node of 2 m steps becomes the map of its steps, in place at its last step; down the
// tree only states go: the state in front of a node gives the one behind its left half, which is complete. So a tile
// takes one map a step, no more, whatever its length.

/// Where the maps of a tile lie in scratch: step k's numbers at k * stride, where an odd stride keeps threads that go
/// from step to step on different memory banks.
struct TileScratchLayout {
  int steps;  ///< scan_tile
  int blocks;
  int block_size;

  KOKKOS_FUNCTION int map_entries() const { return block_size * block_size + block_size; }
  KOKKOS_FUNCTION int stride() const { return (blocks * map_entries()) | 1; }
  KOKKOS_FUNCTION std::size_t entries() const { return std::size_t(steps) * std::size_t(stride()); }
};

/// The maps of one tile in scratch.
template <class Scalar>
struct ScratchTile {
  Scalar* data;
  TileScratchLayout layout;

  KOKKOS_FUNCTION Scalar* A(int step, int block) const {
    return data + std::int64_t(step) * layout.stride() + block * layout.map_entries();
  }
  KOKKOS_FUNCTION Scalar* b(int step, int block) const {
    return A(step, block) + layout.block_size * layout.block_size;
  }

  /// later <- later after earlier, in place: row by row, so that one row is all that has to be kept.
  template <int size>
  KOKKOS_FUNCTION void compose_into(int earlier, int later, int block, bool over_nan) const {
    const int K = size == 1 ? 1 : layout.block_size;
    Scalar* const own_A = A(later, block);
    Scalar* const own_b = b(later, block);
    const Scalar* const its_A = A(earlier, block);
    const Scalar* const its_b = b(earlier, block);
    for (int r = 0; r < K; ++r) {
      Scalar row[size];
      for (int k = 0; k < K; ++k) row[k] = own_A[r * K + k];
      for (int c = 0; c < K; ++c) {
        Scalar sum = Scalar(0);
        for (int k = 0; k < K; ++k) sum = sum + overflow_safe_product(row[k], its_A[k * K + c], over_nan);
        own_A[r * K + c] = sum;
      }
      for (int k = 0; k < K; ++k) own_b[r] = own_b[r] + overflow_safe_product(row[k], its_b[k], over_nan);
    }
  }
};

/// Maps of all tiles (`ends` null), or the states from the tiles' entries.
template <class Member, class Scalar, int size>
struct TeamPerTile {
  LinearProblem<Scalar> problem;
  TileScratchLayout layout;
  TileTotals<Scalar> totals;
  const Scalar* ends;  // (tiles, channels, block_size): null to make the totals
  bool one_tile;       // whose entry is the initial state

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const ScratchTile<Scalar> tile{
        static_cast<Scalar*>(member.team_shmem().get_shmem_aligned(sizeof(Scalar) * layout.entries(), 16)), layout};
    const std::int64_t at = member.league_rank() / problem.batch, sequence = member.league_rank() % problem.batch;
    const std::int64_t begin = at * layout.steps;
    const std::int64_t left = problem.steps - begin;
    const int steps = left < layout.steps ? static_cast<int>(left) : layout.steps;
    load(member, tile, begin, steps, sequence);
    climb(member, tile, steps);
    if (ends == nullptr && !one_tile) {
      write_total(member, tile, at, steps, sequence);
    } else {
      descend(member, tile, at, begin, steps, sequence);
    }
  }

 private:
  KOKKOS_FUNCTION int block_size() const { return size == 1 ? 1 : problem.block_size; }

  template <class Work>
  KOKKOS_FUNCTION void for_each(const Member& member, int count, const Work& work) const {
    for (int i = member.team_rank(); i < count; i += member.team_size()) work(i);
    member.team_barrier();
  }

  KOKKOS_FUNCTION void load(const Member& member, const ScratchTile<Scalar>& tile, std::int64_t begin, int steps,
                            std::int64_t sequence) const {
    const int K = block_size(), blocks = layout.blocks;
    for_each(member, steps * blocks, [&](int i) {
      const int step = i / blocks, block = i % blocks;
      const ChannelReader<Scalar, size> reader(problem, sequence * blocks + block);
      const std::int64_t p = begin + step, from = reader.entry(problem.time(p));
      const Scalar* const matrix = reader.matrix(p);
      const std::int32_t start = reader.start(p);
      Scalar* const A = tile.A(step, block);
      Scalar* const b = tile.b(step, block);
      for (int r = 0; r < K; ++r) {
        b[r] = problem.b == nullptr ? Scalar(0) : problem.b[from + r];
        for (int c = 0; c < K; ++c) {
          const Scalar factor =
              matrix == nullptr ? Scalar(r == c ? 1 : 0) : matrix[r * problem.a.row + c * problem.a.column];
          // A packed sequence's first step is the constant map to its own first state.
          if (start != 0) {
            const Scalar first = problem.y0 == nullptr ? Scalar(0) : reader.first_state(start, c);
            b[r] = multiply_add_any(factor, first, b[r]);
          }
          A[r * K + c] = start != 0 ? Scalar(0) : factor;
        }
      }
    });
  }

  KOKKOS_FUNCTION void climb(const Member& member, const ScratchTile<Scalar>& tile, int steps) const {
    const int blocks = layout.blocks;
    for (int half = 1; half < steps; half *= 2) {
      const int nodes = steps / (2 * half);  // complete ones
      for_each(member, nodes * blocks, [&](int i) {
        const int node = i / blocks, last = (node + 1) * 2 * half - 1;
        tile.template compose_into<size>(last - half, last, i % blocks, problem.packed);
      });
    }
  }

  // Of any number of steps: that is a sum of powers of two, each a complete node.
  KOKKOS_FUNCTION void write_total(const Member& member, const ScratchTile<Scalar>& tile, std::int64_t at, int steps,
                                   std::int64_t sequence) const {
    const int K = block_size(), blocks = layout.blocks;
    for_each(member, blocks, [&](int block) {
      int done = 0;
      for (int bit = 1 << 10; bit > 0; bit /= 2) {
        if ((steps & bit) == 0) continue;
        if (done > 0) tile.template compose_into<size>(done - 1, done + bit - 1, block, problem.packed);
        done += bit;
      }
      const std::int64_t to = at * problem.channels() + sequence * blocks + block;
      for (int e = 0; e < K * K; ++e) totals.A[to * K * K + e] = tile.A(steps - 1, block)[e];
      for (int r = 0; r < K; ++r) totals.b[to * K + r] = tile.b(steps - 1, block)[r];
    });
  }

  // The state behind step k goes to y at once, where the nodes below find it.
  KOKKOS_FUNCTION void descend(const Member& member, const ScratchTile<Scalar>& tile, std::int64_t at,
                               std::int64_t begin, int steps, std::int64_t sequence) const {
    const int blocks = layout.blocks;
    int half = 1;
    while (half < steps) half *= 2;
    for (; half >= 1; half /= 2) {
      // Nodes of 2 * half steps whose left half is complete.
      const int nodes = (steps + half) / (2 * half);
      for_each(member, nodes * blocks, [&](int i) {
        const int node = i / blocks, block = i % blocks, first = node * 2 * half, last = first + half - 1;
        const ChannelReader<Scalar, size> reader(problem, sequence * blocks + block);
        Scalar state[size];
        if (first == 0) {
          enter(reader, at, state);
        } else {
          const Scalar* before = problem.y + reader.entry(problem.time(begin + first - 1));
          for (int r = 0; r < block_size(); ++r) state[r] = before[r];
        }
        step(tile, last, block, half == 1, state);
        reader.write(begin + last, state);
        if (problem.end != nullptr && begin + last == problem.steps - 1) reader.write_end(state);
      });
    }
  }

  KOKKOS_FUNCTION void enter(const ChannelReader<Scalar, size>& reader, std::int64_t at, Scalar (&state)[size]) const {
    if (at == 0) return reader.initial_state(state);
    reader.read_state(ends, at - 1, state);
  }

  // A node of one step is the step itself, and acts as the loop's.
  KOKKOS_FUNCTION void step(const ScratchTile<Scalar>& tile, int last, int block, bool single,
                            Scalar (&state)[size]) const {
    const int K = block_size();
    const Scalar* const A = tile.A(last, block);
    const Scalar* const b = tile.b(last, block);
    Scalar next[size];
    for (int r = 0; r < K; ++r) {
      next[r] = b[r];
      for (int c = 0; c < K; ++c) next[r] = multiply_add_any(A[r * K + c], state[c], next[r]);
      if ((!single || problem.packed) && is_nan(next[r])) {
        next[r] = b[r];
        for (int c = 0; c < K; ++c) next[r] = next[r] + overflow_safe_product(A[r * K + c], state[c], problem.packed);
      }
    }
    for (int r = 0; r < K; ++r) state[r] = next[r];
  }
};

}  // namespace elaphos::impl

#endif
