// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_KERNELS_HPP

#include <elaphos/impl/linear/host_bundle.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/tile_kernels.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

// On hosts a thread takes a tile of time and a group of channels: it walks time with the states of neighbouring channels
// in vector registers, where a device's team would share the tile. The same two walks, the same totals.

/// Channels that a thread walks together: some cache lines of a row.
template <class Scalar>
inline constexpr int host_lanes = int(256 / sizeof(Scalar));

/// How a host cuts a problem.
struct HostShape {
  std::int64_t tiles = 1;
  std::int64_t tile_steps = 0;
  std::int64_t groups = 1;  ///< of channels
  std::int64_t bundle = 1;  ///< tiles that a thread takes side by side; their number is a multiple of it
};

/// A group of channels with one number each, whose coefficients lie in rows like the data: the vector case.
template <class Scalar>
struct HostRows {
  static constexpr int lanes = host_lanes<Scalar>;
  const LinearProblem<Scalar>& problem;
  std::int64_t first;
  int count;
  Scalar ones[lanes];

  HostRows(const LinearProblem<Scalar>& of, std::int64_t group)
      : problem(of),
        first(group * lanes),
        count(static_cast<int>(std::min<std::int64_t>(lanes, of.channels() - first))) {
    for (Scalar& one : ones) one = Scalar(1);
  }

  /// Whether neighbouring channels have neighbouring coefficients.
  static bool possible(const LinearProblem<Scalar>& of) {
    const bool rows = of.a.block == 1 && (of.batch == 1 || of.a.sequence == of.blocks);
    return of.block_size == 1 && rows && of.starts == nullptr;
  }

  const Scalar* a(std::int64_t p) const {
    const std::int64_t t = problem.time(p);
    if (!problem.previous_coefficients) return problem.a.data + t * problem.a.time + first;
    if (p == 0) return ones;
    return problem.a.data + (problem.reversed ? t + 1 : t - 1) * problem.a.time + first;
  }

  std::int64_t entry(std::int64_t p) const { return problem.time(p) * problem.channels() + first; }

  void fold(std::int64_t begin, std::int64_t end, Scalar* A, Scalar* b) const {
    if (count == lanes) return fold_some<lanes>(begin, end, A, b);
    if (count == 1) return fold_some<1>(begin, end, A, b);
    fold_some<0>(begin, end, A, b);
  }

  void walk(std::int64_t begin, std::int64_t end, Scalar* state) const {
    if (count == lanes) return walk_some<lanes>(begin, end, state);
    if (count == 1) return walk_some<1>(begin, end, state);
    walk_some<0>(begin, end, state);
  }

 private:
  // `fixed`: the number of channels where it is known when this is compiled; only then they stay in registers.
  template <int fixed>
  void fold_some(std::int64_t begin, std::int64_t end, Scalar* A, Scalar* b) const {
    const int n = fixed > 0 ? fixed : count;
    Scalar product[lanes], offset[lanes];
    for (int c = 0; c < n; ++c) {
      product[c] = Scalar(1);
      offset[c] = Scalar(0);
    }
    for (std::int64_t p = begin; p < end; ++p) {
      const Scalar* factor = a(p);
      for (int c = 0; c < n; ++c) product[c] = factor[c] * product[c];
      if (problem.b == nullptr) continue;
      const Scalar* added = problem.b + entry(p);
      for (int c = 0; c < n; ++c) offset[c] = multiply_add_any(factor[c], offset[c], added[c]);
    }
    bool suspect = false;
    for (int c = 0; c < n; ++c) suspect = suspect || is_nan(product[c]) || is_nan(offset[c]);
    // Rare: once more, with products in which a zero wins over an infinity.
    if (suspect) fold_again(begin, end, n, product, offset);
    for (int c = 0; c < n; ++c) {
      A[c] = product[c];
      b[c] = offset[c];
    }
  }

  void fold_again(std::int64_t begin, std::int64_t end, int n, Scalar* product, Scalar* offset) const {
    for (int c = 0; c < n; ++c) {
      AffineMap<Scalar, 1> total;
      total.set_identity();
      for (std::int64_t p = begin; p < end; ++p) {
        const Scalar added = problem.b == nullptr ? Scalar(0) : problem.b[entry(p) + c];
        total = compose(total, AffineMap<Scalar, 1>{{{a(p)[c]}}, {added}});
      }
      product[c] = total.A[0][0];
      offset[c] = total.b[0];
    }
  }

  template <int fixed>
  void walk_some(std::int64_t begin, std::int64_t end, Scalar* from) const {
    const int n = fixed > 0 ? fixed : count;
    Scalar state[lanes];
    for (int c = 0; c < n; ++c) state[c] = from[c];
    if (problem.composed) return leap_some(begin, end, n, state, from);
    for (std::int64_t p = begin; p < end; ++p) {
      const Scalar* factor = a(p);
      if (problem.b == nullptr) {
        for (int c = 0; c < n; ++c) state[c] = multiply_add_any(factor[c], state[c], Scalar(0));
      } else {
        const Scalar* added = problem.b + entry(p);
        for (int c = 0; c < n; ++c) state[c] = multiply_add_any(factor[c], state[c], added[c]);
      }
      if (problem.y != nullptr) {
        Scalar* to = problem.y + entry(p);
        for (int c = 0; c < n; ++c) to[c] = state[c];
      }
    }
    for (int c = 0; c < n; ++c) from[c] = state[c];
  }

  void leap_some(std::int64_t begin, std::int64_t end, int n, Scalar* state, Scalar* from) const {
    for (std::int64_t p = begin; p < end; ++p) {
      for (int c = 0; c < n; ++c) {
        const AffineMap<Scalar, 1> map{{{a(p)[c]}}, {problem.b[entry(p) + c]}};
        Scalar one[1] = {state[c]};
        map.leap(one);
        state[c] = one[0];
        if (problem.y != nullptr) problem.y[entry(p) + c] = state[c];
      }
    }
    for (int c = 0; c < n; ++c) from[c] = state[c];
  }
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
    const std::int64_t begin = std::min(problem.steps, tile * shape.tile_steps);
    const std::int64_t end = std::min(problem.steps, begin + shape.tile_steps);
    if constexpr (size == 1) {
      if (rows) {
        const HostRows<Scalar> some(problem, group);
        const std::int64_t at = tile * problem.channels() + some.first;
        some.fold(begin, end, totals.A + at, totals.b + at);
        return;
      }
    }
    const ChannelReader<Scalar, size> reader(problem, group);
    AffineMap<Scalar, size> total;
    total.set_identity();
    for (std::int64_t p = begin; p < end; ++p) total = compose(total, reader.map(p));
    reader.write_map(tile, total, totals.A, totals.b);
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
    const std::int64_t begin = std::min(problem.steps, tile * shape.tile_steps);
    const std::int64_t end = std::min(problem.steps, begin + shape.tile_steps);
    const bool last = tile == shape.tiles - 1;
    if constexpr (size == 1) {
      if (rows) {
        const HostRows<Scalar> some(problem, group);
        Scalar state[HostRows<Scalar>::lanes];
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
    Scalar state[size];
    if (tile == 0) {
      reader.initial_state(state);
    } else {
      reader.read_state(tile_ends, tile - 1, state);
    }
    for (std::int64_t p = begin; p < end; ++p) {
      reader.advance(reader.map(p), state);
      reader.write(p, state);
    }
    if (last) reader.write_end(state);
  }
};

}  // namespace elaphos::impl

#endif
