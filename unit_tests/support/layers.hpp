// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_LAYERS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_LAYERS_HPP

#include "transfer.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace test {

enum class CellKind { elman, gru, lstm };

inline int gate_count(CellKind kind) {
  switch (kind) {
    case CellKind::elman: return 1;
    case CellKind::gru: return 3;
    case CellKind::lstm: break;
  }
  return 4;
}

/// A recurrent layer of D units and its data on the host, in double.
struct Layer {
  CellKind kind;
  int D;
  int I;
  std::vector<double> w_ih, w_hh, b_ih, b_hh;

  /// Of an LSTM h, then c.
  int state_size() const { return kind == CellKind::lstm ? 2 * D : D; }
};

inline std::vector<double> uniform(std::mt19937_64& generator, std::size_t count, double bound) {
  std::uniform_real_distribution<double> distribution(-bound, bound);
  std::vector<double> out(count);
  for (double& number : out) number = distribution(generator);
  return out;
}

inline std::vector<double> normal(std::mt19937_64& generator, std::size_t count) {
  std::normal_distribution<double> distribution;
  std::vector<double> out(count);
  for (double& number : out) number = distribution(generator);
  return out;
}

/// PyTorch's default initialisation, uniform within 1/sqrt(D), with the recurrent weights times `gain`.
inline Layer random_layer(CellKind kind, int D, int I, std::mt19937_64& generator, double gain = 1) {
  const std::size_t rows = static_cast<std::size_t>(gate_count(kind) * D);
  const double bound = 1 / std::sqrt(static_cast<double>(D));
  Layer layer{kind, D, I, {}, {}, {}, {}};
  layer.w_ih = uniform(generator, rows * static_cast<std::size_t>(I), bound);
  layer.w_hh = uniform(generator, rows * static_cast<std::size_t>(D), gain * bound);
  layer.b_ih = uniform(generator, rows, bound);
  layer.b_hh = uniform(generator, rows, bound);
  return layer;
}

template <class Scalar>
elaphos::LayerWeights<Scalar, Memory> weights_on_device(const Layer& layer) {
  const int rows = gate_count(layer.kind) * layer.D;
  return {to_device<elaphos::MatrixView<const Scalar, Memory>>(layer.w_ih, rows, layer.I),
          to_device<elaphos::MatrixView<const Scalar, Memory>>(layer.w_hh, rows, layer.D),
          to_device<elaphos::VectorView<const Scalar, Memory>>(layer.b_ih, rows),
          to_device<elaphos::VectorView<const Scalar, Memory>>(layer.b_hh, rows)};
}

/// One step in long double, from `state` into `state`.
inline void plain_step(const Layer& layer, std::vector<long double>& state, const double* x) {
  using Real = long double;
  const auto sigmoid = [](Real v) { return 1 / (1 + std::exp(-v)); };
  const std::size_t D = static_cast<std::size_t>(layer.D), I = static_cast<std::size_t>(layer.I);
  const std::size_t rows = static_cast<std::size_t>(gate_count(layer.kind)) * D;
  std::vector<Real> input(rows), hidden(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    Real from_input = layer.b_ih[row], from_state = layer.b_hh[row];
    for (std::size_t i = 0; i < I; ++i) from_input += Real(layer.w_ih[row * I + i]) * x[i];
    for (std::size_t k = 0; k < D; ++k) from_state += Real(layer.w_hh[row * D + k]) * state[k];
    input[row] = from_input;
    hidden[row] = from_state;
  }
  for (std::size_t j = 0; j < D; ++j) {
    if (layer.kind == CellKind::elman) {
      state[j] = std::tanh(input[j] + hidden[j]);
    } else if (layer.kind == CellKind::gru) {
      const Real reset = sigmoid(input[j] + hidden[j]);
      const Real update = sigmoid(input[D + j] + hidden[D + j]);
      const Real candidate = std::tanh(input[2 * D + j] + reset * hidden[2 * D + j]);
      state[j] = (1 - update) * candidate + update * state[j];
    } else {
      const Real in = sigmoid(input[j] + hidden[j]);
      const Real forget = sigmoid(input[D + j] + hidden[D + j]);
      const Real candidate = std::tanh(input[2 * D + j] + hidden[2 * D + j]);
      const Real out = sigmoid(input[3 * D + j] + hidden[3 * D + j]);
      state[D + j] = forget * state[D + j] + in * candidate;
      state[j] = out * std::tanh(state[D + j]);
    }
  }
}

/// The oracle: a plain loop in long double.
inline std::vector<double> plain_loop(const Layer& layer, std::int64_t T, std::int64_t B, const std::vector<double>& y0,
                                      const std::vector<double>& x) {
  const std::size_t size = static_cast<std::size_t>(layer.state_size()), I = static_cast<std::size_t>(layer.I);
  std::vector<double> y(static_cast<std::size_t>(T * B) * size);
  std::vector<long double> state(size);
  for (std::size_t b = 0; b < static_cast<std::size_t>(B); ++b) {
    for (std::size_t i = 0; i < size; ++i) state[i] = y0[b * size + i];
    for (std::size_t t = 0; t < static_cast<std::size_t>(T); ++t) {
      const std::size_t entry = t * static_cast<std::size_t>(B) + b;
      plain_step(layer, state, x.data() + entry * I);
      for (std::size_t i = 0; i < size; ++i) y[entry * size + i] = static_cast<double>(state[i]);
    }
  }
  return y;
}

/// A layer with its data on the device, ready to be solved.
template <class Scalar>
struct LayerProblem {
  Layer layer;
  std::int64_t T, B;
  std::vector<double> y0_host, x_host;
  elaphos::StateView<Scalar, Memory> y0;
  elaphos::SequenceView<Scalar, Memory> x;
  elaphos::SequenceView<Scalar, Memory> y;

  LayerProblem(const Layer& of, std::int64_t steps, std::int64_t batch, const std::vector<double>& initial,
               const std::vector<double>& input)
      : layer(of), T(steps), B(batch), y0_host(initial), x_host(input) {
    y0 = to_device<elaphos::StateView<Scalar, Memory>>(y0_host, B, layer.state_size());
    x = to_device<elaphos::SequenceView<Scalar, Memory>>(x_host, T, B, layer.I);
    y = elaphos::SequenceView<Scalar, Memory>("test::y", static_cast<std::size_t>(T), static_cast<std::size_t>(B),
                                              static_cast<std::size_t>(layer.state_size()));
  }

  /// Solves into `y`, which is poisoned first: a number that nobody wrote shows.
  elaphos::SolveReport solve(const elaphos::SolveOptions& options) {
    Kokkos::deep_copy(y, Scalar(NAN));
    const auto weights = weights_on_device<Scalar>(layer);
    if (layer.kind == CellKind::elman) return elaphos::solve(Exec(), elaphos::Elman(weights), y0, x, y, options);
    if (layer.kind == CellKind::gru) return elaphos::solve(Exec(), elaphos::Gru(weights), y0, x, y, options);
    return elaphos::solve(Exec(), elaphos::Lstm(weights), y0, x, y, options);
  }

  std::vector<Scalar> sequential() {
    elaphos::SolveOptions options;
    options.segments = 1;
    solve(options);
    return to_host(y);
  }
};

/// A layer of random weights over random data.
template <class Scalar>
LayerProblem<Scalar> random_problem(CellKind kind, int D, int I, std::int64_t T, std::int64_t B,
                                          std::uint64_t seed, double gain = 1) {
  std::mt19937_64 generator(seed);
  const Layer layer = random_layer(kind, D, I, generator, gain);
  const auto y0 = uniform(generator, static_cast<std::size_t>(B * layer.state_size()), 1);
  return {layer, T, B, y0, normal(generator, static_cast<std::size_t>(T * B * I))};
}

}  // namespace test

#endif
