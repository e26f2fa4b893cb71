// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plain_gru.hpp"

#include <cmath>
#include <cstring>

namespace perf {

namespace {

// exp to about 2e-7, as textbooks have it: 2^(i + f), a polynomial for 2^f.
inline float quick_exp(float x) {
  x = x < -80.0f ? -80.0f : (x > 80.0f ? 80.0f : x);
  const float whole = std::rint(x * 1.44269504f), f = x * 1.44269504f - whole;
  const float p =
      1.0f + f * (0.69314718f + f * (0.24022651f + f * (0.05550411f + f * (0.00961813f + f * 0.00133336f))));
  const std::int32_t bits = (static_cast<std::int32_t>(whole) + 127) << 23;
  float power;
  std::memcpy(&power, &bits, sizeof power);
  return p * power;
}

inline float quick_sigmoid(float x) { return 1.0f / (1.0f + quick_exp(-x)); }
inline float quick_tanh(float x) { return 1.0f - 2.0f / (1.0f + quick_exp(2.0f * x)); }

template <int D>
void loop(const PlainGruWeights& weights, const float* x, std::int64_t T, float* y) {
  constexpr int rows = 3 * D;
  alignas(64) float h[D] = {};
  for (std::int64_t t = 0; t < T; ++t) {
    alignas(64) float in[rows], out[rows];
    for (int j = 0; j < rows; ++j) in[j] = weights.input_bias[j];
    for (int k = 0; k < D; ++k) {
      const float own = x[t * D + k];
      for (int j = 0; j < rows; ++j) in[j] += own * weights.input[k * rows + j];
    }
    for (int j = 0; j < rows; ++j) out[j] = weights.hidden_bias[j];
    for (int k = 0; k < D; ++k) {
      const float own = h[k];
      for (int j = 0; j < rows; ++j) out[j] += own * weights.hidden[k * rows + j];
    }
    for (int j = 0; j < D; ++j) {
      const float reset = quick_sigmoid(in[j] + out[j]), update = quick_sigmoid(in[D + j] + out[D + j]);
      const float candidate = quick_tanh(in[2 * D + j] + reset * out[2 * D + j]);
      h[j] = candidate + update * (h[j] - candidate);
    }
    std::memcpy(y + t * D, h, sizeof h);
  }
}

}  // namespace

void plain_gru(int D, const PlainGruWeights& weights, const float* x, std::int64_t T, float* y) {
  switch (D) {
    case 1: return loop<1>(weights, x, T, y);
    case 2: return loop<2>(weights, x, T, y);
    case 4: return loop<4>(weights, x, T, y);
    case 8: return loop<8>(weights, x, T, y);
    case 16: return loop<16>(weights, x, T, y);
    case 32: return loop<32>(weights, x, T, y);
    case 64: return loop<64>(weights, x, T, y);
    default: return;
  }
}

}  // namespace perf
