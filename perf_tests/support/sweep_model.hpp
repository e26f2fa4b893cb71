// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_SWEEP_MODEL_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_SWEEP_MODEL_HPP

#include <cstdint>

namespace perf {

/// What one sweep over a trajectory must do at least: every step once, every input read and every state written once.
struct SweepModel {
  double bytes;
  double multiply_adds;
  double activations;
};

/// T * B steps of a layer with G gates: W_ih x and W_hh h are G D (I + D) multiply-adds, each gate has D activations.
template <class Scalar>
SweepModel gated_sweep(int gates, int D, int I, std::int64_t T, std::int64_t B) {
  const double steps = static_cast<double>(T) * static_cast<double>(B);
  const double rows = double(gates) * D;
  const double numbers = steps * (I + D) + rows * (I + D + 2) + static_cast<double>(B) * D;
  return {sizeof(Scalar) * numbers, steps * rows * (I + D), steps * rows};
}

/// T * B steps of a recurrence that does `multiply_adds` a step (a lone sum or product counts as one).
template <class Scalar>
SweepModel plain_sweep(int multiply_adds, int D, int I, std::int64_t T, std::int64_t B) {
  const double steps = static_cast<double>(T) * static_cast<double>(B);
  return {sizeof(Scalar) * (steps * (I + D) + static_cast<double>(B) * D), steps * multiply_adds, 0};
}

}  // namespace perf

#endif
