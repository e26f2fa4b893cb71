// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_KERNELS_HPP

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
      const Scalar* added = problem.b == nullptr ? nullptr : problem.b + entry(p);
      bool suspect = false;
      Scalar next_product[lanes], next_offset[lanes];
      for (int c = 0; c < n; ++c) {
        next_product[c] = factor[c] * product[c];
        next_offset[c] = multiply_add_any(factor[c], offset[c], added == nullptr ? Scalar(0) : added[c]);
        suspect = suspect | is_nan(next_product[c]) | is_nan(next_offset[c]);
      }
      for (int c = 0; c < n; ++c) {
        if (suspect) {
          next_product[c] = overflow_safe_product(factor[c], product[c]);
          next_offset[c] = overflow_safe_product(factor[c], offset[c]) + (added == nullptr ? Scalar(0) : added[c]);
        }
        product[c] = next_product[c];
        offset[c] = next_offset[c];
      }
    }
    for (int c = 0; c < n; ++c) {
      A[c] = product[c];
      b[c] = offset[c];
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
    const std::int64_t tile = index / shape.groups, group = index % shape.groups;
    const std::int64_t begin = tile * shape.tile_steps, end = std::min(problem.steps, begin + shape.tile_steps);
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
    const std::int64_t tile = index / shape.groups, group = index % shape.groups;
    const std::int64_t begin = tile * shape.tile_steps, end = std::min(problem.steps, begin + shape.tile_steps);
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
