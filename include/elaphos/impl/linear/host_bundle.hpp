// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_BUNDLE_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_BUNDLE_HPP

#include <elaphos/impl/linear/linear_problem.hpp>

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

  void fold(std::int64_t tile_steps, Scalar (&product)[tiles], Scalar (&offset)[tiles]) const {
    for (int j = 0; j < tiles; ++j) {
      product[j] = Scalar(1);
      offset[j] = Scalar(0);
    }
    for (std::int64_t i = 0; i < tile_steps; ++i) {
      for (int j = 0; j < tiles; ++j) {
        const Scalar factor = a[j][i * a_stride];
        product[j] = factor * product[j];
        offset[j] = multiply_add_any(factor, offset[j], b[j][i * stride]);
      }
    }
  }

  void walk(std::int64_t tile_steps, Scalar (&state)[tiles]) const {
    for (std::int64_t i = 0; i < tile_steps; ++i) {
      for (int j = 0; j < tiles; ++j) {
        state[j] = multiply_add_any(a[j][i * a_stride], state[j], b[j][i * stride]);
        y[j][i * stride] = state[j];
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
