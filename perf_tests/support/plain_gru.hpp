// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_PLAIN_GRU_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_PLAIN_GRU_HPP

#include <cstdint>

namespace perf {

/// Weights of a GRU with D = I, columns side by side: (D, 3 D) each, and biases (3 D).
struct PlainGruWeights {
  const float* input;
  const float* hidden;
  const float* input_bias;
  const float* hidden_bias;
};

/// What a programmer writes for one sequence without a library: a loop over steps whose inner loops the compiler turns
/// into vector code (compiled with -ffast-math and for this processor), D known to the compiler. Of D in 1, 2, 4, 8, 16,
/// 32, 64; x and y are (T, D).
void plain_gru(int D, const PlainGruWeights& weights, const float* x, std::int64_t T, float* y);

}  // namespace perf

#endif
