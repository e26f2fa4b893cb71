// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_PROBLEM_HPP
#define ELAPHOS_IMPL_PROBLEM_HPP

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
};

}  // namespace elaphos::impl

#endif
