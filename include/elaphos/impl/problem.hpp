// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_PROBLEM_HPP
#define ELAPHOS_IMPL_PROBLEM_HPP

#include <elaphos/impl/input_blocks.hpp>
#include <elaphos/impl/time_division.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Arrays and sizes of one solve, as kernels see them. Time-major and contiguous: x(t, b, i), y(t, b, d), y0(b, d).
template <class Scalar>
struct Problem {
  const Scalar* y0;
  InputBlocks<Scalar> inputs;
  Scalar* y;
  std::int64_t first_step;  ///< of the whole solve, where this is a window of one
  std::int64_t steps;
  std::int64_t batch;
  int state_size;
  TimeDivision<Scalar> division;

  /// What step t of sequence b starts from, unless it begins a sequence of its own: D numbers, as they are stored.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* state_before(std::int64_t t, std::int64_t b) const {
    return t == 0 ? y0 + b * state_size : y + ((t - 1) * batch + b) * state_size;
  }
};

}  // namespace elaphos::impl

#endif
