// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_VARIANTS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_VARIANTS_HPP

#include "layers.hpp"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace test {

enum class VariantKind { elman_relu, gru, gru_reset_before, lstm, lem, min_gru, min_lstm };

/// A library cell with what its options make of it.
struct Variant {
  std::string name;
  VariantKind kind;
  int heads = 1;
  bool coupled = false;
  bool peepholes = false;
  double leak = 1;      ///< < 1: leaky
  double residual = 0;  ///< not 0: a residual step

  int gates() const {
    switch (kind) {
      case VariantKind::elman_relu:
        return 1;
      case VariantKind::min_gru:
        return 2;
      case VariantKind::lstm:
        return coupled ? 3 : 4;
      case VariantKind::lem:
        return 4;
      default:
        return 3;
    }
  }
  int states() const { return kind == VariantKind::lstm || kind == VariantKind::lem ? 2 : 1; }
  bool recurrent() const { return kind != VariantKind::min_gru && kind != VariantKind::min_lstm; }
};

inline constexpr double lem_time_step = 0.75;

/// The variant with weights: H units, I inputs, uniform within 1/sqrt(H / heads).
struct VariantLayer {
  Variant variant;
  int H, I;
  std::vector<double> w_ih, w_hh, b_ih, b_hh, peepholes;

  VariantLayer(const Variant& of, int hidden_size, int input_size, std::mt19937_64& generator)
      : variant(of), H(hidden_size), I(input_size) {
    const auto rows = static_cast<std::size_t>(of.gates() * H), K = static_cast<std::size_t>(H / of.heads);
    const double bound = 1 / std::sqrt(static_cast<double>(K));
    w_ih = uniform(generator, rows * static_cast<std::size_t>(I), bound);
    b_ih = uniform(generator, rows, bound);
    if (of.recurrent()) {
      w_hh = uniform(generator, rows * K, bound);
      b_hh = uniform(generator, rows, bound);
    }
    if (of.peepholes) peepholes = uniform(generator, static_cast<std::size_t>(3 * H), 1);
  }

  int state_size() const { return variant.states() * H; }

  /// A step written anew, for any kind of number, from `state` into `state`.
  template <class Number>
  void step(std::vector<Number>& state, const double* x) const {
    using Kokkos::exp, Kokkos::tanh;
    const auto sigmoid = [](const Number& v) { return Number(1) / (Number(1) + exp(-v)); };
    const auto units = static_cast<std::size_t>(H);
    const auto of_input = [&](int gate, std::size_t unit) {
      const std::size_t row = static_cast<std::size_t>(gate * H) + unit;
      Number sum = b_ih[row];
      for (std::size_t i = 0; i < static_cast<std::size_t>(I); ++i) {
        sum = sum + Number(w_ih[row * static_cast<std::size_t>(I) + i]) * Number(x[i]);
      }
      return sum;
    };
    const auto of_state = [&](int gate, std::size_t unit, const std::vector<Number>& h) {
      const std::size_t row = static_cast<std::size_t>(gate * H) + unit,
                        K = units / static_cast<std::size_t>(variant.heads);
      Number sum = b_hh[row];
      for (std::size_t k = 0; k < K; ++k) sum = sum + Number(w_hh[row * K + k]) * h[unit - unit % K + k];
      return sum;
    };
    const auto gate = [&](int g, std::size_t unit) { return of_input(g, unit) + of_state(g, unit, state); };
    const auto peephole = [&](int g, std::size_t unit) {
      return Number(variant.peepholes ? peepholes[static_cast<std::size_t>(g * H) + unit] : 0.0);
    };

    std::vector<Number> next(state.size()), between(units);
    if (variant.kind == VariantKind::gru_reset_before) {
      for (std::size_t j = 0; j < units; ++j) between[j] = sigmoid(gate(0, j)) * state[j];
    } else if (variant.kind == VariantKind::lem) {
      for (std::size_t j = 0; j < units; ++j) {
        const Number share = Number(lem_time_step) * sigmoid(gate(1, j));
        between[j] = (Number(1) - share) * state[units + j] + share * tanh(gate(2, j));
      }
    }
    for (std::size_t j = 0; j < units; ++j) {
      switch (variant.kind) {
        case VariantKind::elman_relu: {
          const Number sum = gate(0, j);
          next[j] = sum > Number(0) ? sum : Number(0);
          break;
        }
        case VariantKind::gru: {
          const Number update = sigmoid(gate(1, j));
          const Number candidate = tanh(of_input(2, j) + sigmoid(gate(0, j)) * of_state(2, j, state));
          next[j] = (Number(1) - update) * candidate + update * state[j];
          break;
        }
        case VariantKind::gru_reset_before: {
          const Number update = sigmoid(gate(1, j));
          const Number candidate = tanh(of_input(2, j) + of_state(2, j, between));
          next[j] = (Number(1) - update) * candidate + update * state[j];
          break;
        }
        case VariantKind::lstm: {
          const int first = variant.coupled ? 0 : 1;  // the forget gate
          const Number cell = state[units + j];
          const Number forget = sigmoid(gate(first, j) + peephole(1, j) * cell);
          const Number in = variant.coupled ? Number(1) - forget : sigmoid(gate(0, j) + peephole(0, j) * cell);
          next[units + j] = forget * cell + in * tanh(gate(first + 1, j));
          next[j] = sigmoid(gate(first + 2, j) + peephole(2, j) * next[units + j]) * tanh(next[units + j]);
          break;
        }
        case VariantKind::lem: {
          const Number share = Number(lem_time_step) * sigmoid(gate(0, j));
          next[j] = (Number(1) - share) * state[j] + share * tanh(of_input(3, j) + of_state(3, j, between));
          next[units + j] = between[j];
          break;
        }
        case VariantKind::min_gru: {
          const Number update = sigmoid(of_input(0, j));
          next[j] = (Number(1) - update) * state[j] + update * of_input(1, j);
          break;
        }
        case VariantKind::min_lstm: {
          const Number in = sigmoid(of_input(0, j)), forget = sigmoid(of_input(1, j));
          next[j] = (forget * state[j] + in * of_input(2, j)) / (forget + in);
        }
      }
    }
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (variant.residual != 0) {
        next[i] = state[i] + Number(variant.residual) * next[i];
      } else if (variant.leak < 1) {
        next[i] = Number(1 - variant.leak) * state[i] + Number(variant.leak) * next[i];
      }
    }
    state = next;
  }

  /// Calls `work` with the library's cell.
  template <class Scalar, class Work>
  void with_cell(const Work& work) const {
    const int rows = variant.gates() * H, K = H / variant.heads;
    elaphos::LayerWeights<Scalar, Memory> weights;
    weights.input_weights = to_device<elaphos::MatrixView<const Scalar, Memory>>(w_ih, rows, I);
    weights.input_bias = to_device<elaphos::VectorView<const Scalar, Memory>>(b_ih, rows);
    if (variant.recurrent()) {
      weights.hidden_weights = to_device<elaphos::MatrixView<const Scalar, Memory>>(w_hh, rows, K);
      weights.hidden_bias = to_device<elaphos::VectorView<const Scalar, Memory>>(b_hh, rows);
      weights.heads = variant.heads;
    }
    const auto blended = [&](const auto& cell) {
      if (variant.residual != 0) return work(elaphos::residual(cell, variant.residual));
      work(variant.leak < 1 ? elaphos::leaky(cell, variant.leak) : cell);
    };
    switch (variant.kind) {
      case VariantKind::elman_relu:
        return blended(elaphos::Elman(weights, elaphos::Activation::relu));
      case VariantKind::gru:
        return blended(elaphos::Gru(weights));
      case VariantKind::gru_reset_before:
        return blended(elaphos::GruResetBefore(weights));
      case VariantKind::lem:
        return blended(elaphos::Lem(weights, lem_time_step));
      case VariantKind::min_gru:
        return blended(elaphos::MinGru(weights));
      case VariantKind::min_lstm:
        return blended(elaphos::MinLstm(weights));
      case VariantKind::lstm:
        break;
    }
    elaphos::LstmOptions<Scalar, Memory> options;
    options.coupled = variant.coupled;
    if (variant.peepholes) options.peepholes = to_device<elaphos::MatrixView<const Scalar, Memory>>(peepholes, 3, H);
    blended(elaphos::Lstm(weights, options));
  }
};

}  // namespace test

#endif
