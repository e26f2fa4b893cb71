// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_KERNELS_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/host_block.hpp>
#include <elaphos/impl/linear/host_bundle.hpp>
#include <elaphos/impl/linear/host_rows.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

// On hosts a thread takes a tile of time and a group of channels: it walks time with the states of neighbouring channels
// in vector registers, where a device's team would share the tile. The same two walks, the same totals.

/// How a host cuts a problem.
struct HostShape {
  std::int64_t tiles = 1;
  std::int64_t tile_steps = 0;
  std::int64_t groups = 1;  ///< of channels
  std::int64_t bundle = 1;  ///< tiles that a thread takes side by side; their number is a multiple of it
  int lanes = 1;            ///< channels of a group

  std::int64_t begin(std::int64_t tile, std::int64_t steps) const { return std::min(steps, tile * tile_steps); }

  /// Composed maps of a channel: one of each tile.
  std::int64_t maps() const { return tiles; }
};

/// The composed map of every tile, on a host.
template <class Scalar, int size>
struct HostFold {
  LinearProblem<Scalar> problem;
  HostShape shape;
  TileTotals<Scalar> totals;
  bool rows;

  void operator()(std::int64_t index) const {
    if constexpr (size == 1) {
      if (shape.bundle > 1 && fold_bundle(index * shape.bundle)) return;
    }
    for (std::int64_t k = 0; k < shape.bundle; ++k) {
      fold_tile(index / shape.groups * shape.bundle + k, index % shape.groups);
    }
  }

 private:
  bool fold_bundle(std::int64_t first) const {
    if ((first + shape.bundle) * shape.tile_steps > problem.steps) return false;
    Scalar product[HostBundle<Scalar>::tiles], offset[HostBundle<Scalar>::tiles];
    HostBundle<Scalar>(problem, first * shape.tile_steps, shape.tile_steps).fold(shape.tile_steps, product, offset);
    for (std::int64_t k = 0; k < shape.bundle; ++k) {
      if (is_nan(product[k]) || is_nan(offset[k])) return false;
      totals.A[first + k] = product[k];
      totals.b[first + k] = offset[k];
    }
    return true;
  }

  void fold_tile(std::int64_t tile, std::int64_t group) const {
    const std::int64_t begin = shape.begin(tile, problem.steps), end = shape.begin(tile + 1, problem.steps);
    if constexpr (size == 1) {
      if (rows) {
        const HostRows<Scalar> some(problem, group, shape.lanes);
        const std::int64_t at = tile * problem.channels() + some.first;
        some.fold(begin, end, totals.A + at, totals.b + at);
        return;
      }
    }
    if constexpr (size == widest_block) {
      const HostBlock<Scalar> block(problem, group);
      const std::int64_t at = block.reader().place(tile);
      block.fold(begin, end, totals.A + at * problem.block_size, totals.spare + at * problem.block_size, totals.b + at);
    } else {
      const ChannelReader<Scalar, size> reader(problem, group);
      AffineMap<Scalar, size> total;
      total.set_identity();
      for (std::int64_t p = begin; p < end; ++p) total = compose(total, reader.map(p), problem.packed);
      reader.write_map(tile, total, totals.A, totals.b);
    }
  }
};

/// Walks every tile from its entry, on a host: the problem's initial state, or the end of the tile before.
template <class Scalar, int size>
struct HostWalk {
  LinearProblem<Scalar> problem;
  HostShape shape;
  const Scalar* tile_ends;  // (tiles, channels, K); null for one tile
  bool rows;

  void operator()(std::int64_t index) const {
    if constexpr (size == 1) {
      if (shape.bundle > 1 && walk_bundle(index * shape.bundle)) return;
    }
    for (std::int64_t k = 0; k < shape.bundle; ++k) {
      walk_tile(index / shape.groups * shape.bundle + k, index % shape.groups);
    }
  }

 private:
  bool walk_bundle(std::int64_t first) const {
    if ((first + shape.bundle) * shape.tile_steps > problem.steps || problem.end != nullptr) return false;
    Scalar state[HostBundle<Scalar>::tiles];
    for (std::int64_t k = 0; k < shape.bundle; ++k) {
      const Scalar start = problem.y0 == nullptr ? Scalar(0) : problem.y0[0];
      state[k] = first + k == 0 ? start : tile_ends[first + k - 1];
    }
    HostBundle<Scalar>(problem, first * shape.tile_steps, shape.tile_steps).walk(shape.tile_steps, state);
    return true;
  }

  void walk_tile(std::int64_t tile, std::int64_t group) const {
    const std::int64_t begin = shape.begin(tile, problem.steps), end = shape.begin(tile + 1, problem.steps);
    const bool last = tile == shape.tiles - 1;
    if constexpr (size == 1) {
      if (rows) {
        const HostRows<Scalar> some(problem, group, shape.lanes);
        Scalar state[HostRows<Scalar>::most];
        for (int c = 0; c < some.count; ++c) {
          if (tile == 0) {
            state[c] = problem.y0 == nullptr ? Scalar(0) : problem.y0[some.first + c];
          } else {
            state[c] = tile_ends[(tile - 1) * problem.channels() + some.first + c];
          }
        }
        some.walk(begin, end, state);
        if (last && problem.end != nullptr) std::copy_n(state, some.count, problem.end + some.first);
        return;
      }
    }
    const ChannelReader<Scalar, size> reader(problem, group);
    Scalar state[size] = {};
    if (tile == 0) {
      reader.initial_state(state);
    } else {
      reader.read_state(tile_ends, tile - 1, state);
    }
    if constexpr (size == widest_block) {
      HostBlock<Scalar>(problem, group).walk(begin, end, state);
    } else {
      for (std::int64_t p = begin; p < end; ++p) {
        reader.advance(reader.map(p), state);
        reader.write(p, state);
      }
    }
    if (last) reader.write_end(state);
  }
};

/// Launches the kernels on a host; blocks wider than those in between are compiled once, for any width.
template <class ExecutionSpace, class Scalar, int size>
class HostKernels {
 public:
  using Problem = LinearProblem<Scalar>;
  using Shape = HostShape;
  static constexpr int spare_entries(const Problem& problem) {
    return size == widest_block ? problem.block_size * problem.block_size : 0;
  }

  explicit HostKernels(const ExecutionSpace& exec) : m_exec(exec) {}

  Shape by_channel(const Problem& problem) const {
    const int lanes = rows(problem) ? HostRows<Scalar>::lanes_of_a_group(problem.channels(), m_exec.concurrency()) : 1;
    return {1, problem.steps, divide_up(problem.channels(), lanes), 1, lanes};
  }

  /// A tile a thread: there are no more, so that the recurrence over tiles is walked at once.
  Shape cut(const Problem& problem) const {
    Shape shape = by_channel(problem);
    if (problem.steps == 0 || problem.composed) return shape;
    std::int64_t tiles = m_exec.concurrency();
    if constexpr (size == 1) {
      if (HostBundle<Scalar>::possible(problem)) shape.bundle = HostBundle<Scalar>::tiles;
    }
    tiles *= shape.bundle;
    shape.tile_steps = divide_up(problem.steps, std::max<std::int64_t>(1, std::min(tiles, problem.steps)));
    if constexpr (size == 1) {
      if (shape.bundle > 1) shape.tile_steps = HostBundle<Scalar>::tile_steps_apart(shape.tile_steps);
    }
    shape.tiles = divide_up(divide_up(problem.steps, shape.tile_steps), shape.bundle) * shape.bundle;
    return shape;
  }

  /// Cutting time costs a second walk, so it takes idle threads, or a lone channel, whose tiles go side by side even in
  /// one thread; and steps enough to keep them busy.
  bool cutting_pays(const Problem& problem) const {
    const std::int64_t threads = m_exec.concurrency();
    if (size > 4 || problem.composed || problem.steps < 128 * threads) return false;
    if constexpr (size == 1) {
      if (HostBundle<Scalar>::possible(problem)) return true;
    }
    return by_channel(problem).groups * 2 <= threads;
  }

  void fold(const Problem& problem, const Shape& shape, const TileTotals<Scalar>& totals) const {
    launch("Elaphos::linear_fold", shape, HostFold<Scalar, size>{problem, shape, totals, rows(problem)});
  }
  void walk(const Problem& problem, const Shape& shape, const Scalar* tile_ends, const Scalar* = nullptr) const {
    launch("Elaphos::linear_walk", shape, HostWalk<Scalar, size>{problem, shape, tile_ends, rows(problem)});
  }

 private:
  static bool rows(const Problem& problem) { return size == 1 && HostRows<Scalar>::possible(problem); }

  template <class Kernel>
  void launch(const char* label, const Shape& shape, const Kernel& kernel) const {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, Policy(m_exec, 0, shape.tiles / shape.bundle * shape.groups), kernel);
  }

  const ExecutionSpace& m_exec;
};

}  // namespace elaphos::impl

#endif
