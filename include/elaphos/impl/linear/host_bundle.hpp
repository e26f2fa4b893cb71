// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_BUNDLE_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_BUNDLE_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/host_vector.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// Several tiles of a problem with one channel of one number, walked side by side by one thread: a lone recurrence waits
/// for the latency of its own multiply-add at every step.
template <class Scalar>
struct HostBundle {
  static constexpr int tiles = 8;
  const LinearProblem<Scalar>& problem;
  const Scalar* a[tiles];
  const Scalar* b[tiles];
  Scalar* y[tiles];
  std::int64_t a_stride, stride;

  static bool possible(const LinearProblem<Scalar>& of) {
    return of.channels() == 1 && of.block_size == 1 && of.starts == nullptr && !of.previous_coefficients &&
           !of.composed && of.b != nullptr;
  }

  /// `first` is the position of the first tile, the others follow, all complete.
  HostBundle(const LinearProblem<Scalar>& of, std::int64_t first, std::int64_t tile_steps) : problem(of) {
    stride = of.reversed ? -1 : 1;
    a_stride = stride * of.a.time;
    for (int j = 0; j < tiles; ++j) {
      const std::int64_t t = of.time(first + j * tile_steps);
      a[j] = of.a.data + t * of.a.time;
      b[j] = of.b + t;
      y[j] = of.y == nullptr ? nullptr : of.y + t;
    }
  }

  /// Steps of a tile, at least `steps`, with which tiles lie an odd number of cache lines apart: at powers of two they
  /// would share a few sets of the cache.
  static std::int64_t tile_steps_apart(std::int64_t steps) {
    constexpr std::int64_t line = std::max<std::int64_t>(1, 64 / sizeof(Scalar));
    return (divide_up(steps, line) | 1) * line;
  }

  void fold(std::int64_t tile_steps, Scalar (&product)[tiles], Scalar (&offset)[tiles]) const {
    for (int j = 0; j < tiles; ++j) {
      product[j] = Scalar(1);
      offset[j] = Scalar(0);
    }
    for (std::int64_t i = fold_vectors(tile_steps, product, offset); i < tile_steps; ++i) {
      for (int j = 0; j < tiles; ++j) {
        const Scalar factor = a[j][i * a_stride];
        product[j] = factor * product[j];
        offset[j] = multiply_add_any(factor, offset[j], b[j][i * stride]);
      }
    }
  }

  /// `next` is the first step of tiles that will be folded soon, or a negative number.
  void walk(std::int64_t tile_steps, Scalar (&state)[tiles], std::int64_t next = -1) const {
    for (std::int64_t i = walk_vectors(tile_steps, state, next); i < tile_steps; ++i) {
      for (int j = 0; j < tiles; ++j) {
        state[j] = multiply_add_any(a[j][i * a_stride], state[j], b[j][i * stride]);
        y[j][i * stride] = state[j];
      }
    }
  }

 private:
  // Steps that vectors take; the rest is left to the loops above. A vector holds a number of several tiles, while memory
  // has several numbers of a tile side by side: so as many steps as lanes are read at once and transposed.
#if ELAPHOS_HAS_HOST_VECTORS
  std::int64_t fold_vectors(std::int64_t tile_steps, Scalar (&product)[tiles], Scalar (&offset)[tiles]) const {
    if constexpr (has_host_vectors<Scalar>) {
      if (a_stride != stride) return 0;
      using Vector = HostVector<Scalar>;
      constexpr int lanes = Vector::lanes;
      const std::int64_t steps = tile_steps / lanes * lanes;
      Vector products[tiles / lanes], offsets[tiles / lanes];
      for (int g = 0; g < tiles / lanes; ++g) {
        products[g].read(product + g * lanes);
        offsets[g].read(offset + g * lanes);
      }
      for (std::int64_t i = 0; i < steps; i += lanes) {
        for (int g = 0; g < tiles / lanes; ++g) {
          Vector factor[lanes], added[lanes];
          read_steps(a, g, i, factor);
          read_steps(b, g, i, added);
          for (int k = 0; k < lanes; ++k) {
            const int row = stride > 0 ? k : lanes - 1 - k;
            products[g].v = factor[row].v * products[g].v;
            offsets[g].v = factor[row].v * offsets[g].v + added[row].v;
          }
        }
      }
      for (int g = 0; g < tiles / lanes; ++g) {
        products[g].write(product + g * lanes);
        offsets[g].write(offset + g * lanes);
      }
      return steps;
    }
    return 0;
  }

  std::int64_t walk_vectors(std::int64_t tile_steps, Scalar (&state)[tiles], std::int64_t next) const {
    if constexpr (has_host_vectors<Scalar>) {
      if (a_stride != stride) return 0;
      using Vector = HostVector<Scalar>;
      constexpr int lanes = Vector::lanes;
      const std::int64_t steps = tile_steps / lanes * lanes;
      const std::int64_t soon = next < 0 ? 0 : problem.time(stride > 0 ? next : next + tiles * steps - 1);
      Vector states[tiles / lanes];
      for (int g = 0; g < tiles / lanes; ++g) states[g].read(state + g * lanes);
      for (std::int64_t i = 0; i < steps; i += lanes) {
        if (next >= 0) {
          // As many numbers as are walked meanwhile, wherever in those tiles.
          for (int n = 0; n < tiles * lanes; n += int(64 / sizeof(Scalar))) {
            read_soon(problem.a.data + soon + i * tiles + n);
            read_soon(problem.b + soon + i * tiles + n);
          }
        }
        for (int g = 0; g < tiles / lanes; ++g) {
          Vector factor[lanes], added[lanes];
          read_steps(a, g, i, factor);
          read_steps(b, g, i, added);
          for (int k = 0; k < lanes; ++k) {
            const int row = stride > 0 ? k : lanes - 1 - k;
            states[g].v = factor[row].v * states[g].v + added[row].v;
            added[row] = states[g];
          }
          transpose(added);
          for (int k = 0; k < lanes; ++k) added[k].write(first_of_steps(y[g * lanes + k], i, lanes));
        }
      }
      for (int g = 0; g < tiles / lanes; ++g) states[g].write(state + g * lanes);
      return steps;
    }
    return 0;
  }

  // Where steps i ... i + lanes - 1 of a tile begin in memory, forwards or backwards.
  template <class Number>
  Number* first_of_steps(Number* tile, std::int64_t i, int lanes) const {
    return stride > 0 ? tile + i : tile - i - (lanes - 1);
  }

  // Steps i ... of a group of tiles, a row a step.
  template <int lanes>
  void read_steps(const Scalar* const (&from)[tiles], int group, std::int64_t i, HostVector<Scalar> (&row)[lanes]) const {
    for (int k = 0; k < lanes; ++k) row[k].read(first_of_steps(from[group * lanes + k], i, lanes));
    transpose(row);
  }
#else
  std::int64_t fold_vectors(std::int64_t, Scalar (&)[tiles], Scalar (&)[tiles]) const { return 0; }
  std::int64_t walk_vectors(std::int64_t, Scalar (&)[tiles], std::int64_t) const { return 0; }
#endif
};

}  // namespace elaphos::impl

#endif
