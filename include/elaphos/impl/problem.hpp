// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_PROBLEM_HPP
#define ELAPHOS_IMPL_PROBLEM_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Arrays and sizes of one solve, as kernels see them. Time-major and contiguous: x(t, b, i), y(t, b, d), y0(b, d).
template <class Scalar>
struct Problem {
  const Scalar* y0;
  const Scalar* x;
  Scalar* y;
  std::int64_t first_step;  ///< what recurrences are told for t = 0
  std::int64_t steps;
  std::int64_t batch;
  int state_size;
  int input_size;

  /// What step t of sequence b starts from, as it is stored: D numbers.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* state_before(std::int64_t t, std::int64_t b) const {
    return t == 0 ? y0 + b * state_size : y + ((t - 1) * batch + b) * state_size;
  }
};

}  // namespace elaphos::impl

#endif
