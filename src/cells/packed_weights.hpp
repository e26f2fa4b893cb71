// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_PACKED_WEIGHTS_HPP
#define ELAPHOS_SRC_CELLS_PACKED_WEIGHTS_HPP

#include <elaphos/cells/gated_cell.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Weights rearranged for the kernels: units padded to Width with zeros (a padded unit stays at 0 and touches nobody),
/// and unit index fastest, so that neighbouring lanes read neighbouring numbers:
/// hidden (k, g, j) for k < Width, input (i, g, j) for i < I, biases (g, j).
template <class Scalar>
struct PackWeights {
  GatedWeights<Scalar> from;
  Scalar* to;
  int gates;
  int width;

  static std::int64_t hidden_entries(int gates, int width) { return std::int64_t(width) * gates * width; }
  static std::int64_t input_entries(int gates, int width, int input_size) {
    return std::int64_t(input_size) * gates * width;
  }
  static std::int64_t bias_entries(int gates, int width) { return std::int64_t(gates) * width; }

  std::int64_t entries() const {
    return hidden_entries(gates, width) + input_entries(gates, width, from.input_size) +
           2 * bias_entries(gates, width);
  }

  /// The packed arrays, in the order hidden, input, input bias, hidden bias.
  GatedWeights<Scalar> packed() const {
    const Scalar* hidden = to;
    const Scalar* input = hidden + hidden_entries(gates, width);
    const Scalar* input_bias = input + input_entries(gates, width, from.input_size);
    return {input, hidden, input_bias, input_bias + bias_entries(gates, width), from.hidden_size, from.input_size};
  }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = std::int64_t(gates) * width;
    const int unit = static_cast<int>(index % width);
    const int gate = static_cast<int>(index / width % gates);
    const std::int64_t slab = index / row;
    const std::int64_t source_row = std::int64_t(gate) * from.hidden_size + unit;
    Scalar value = 0;
    if (unit < from.hidden_size) {
      if (slab < width) {
        if (slab < from.hidden_size) value = from.hidden_weights[source_row * from.hidden_size + slab];
      } else if (slab < width + from.input_size) {
        value = from.input_weights[source_row * from.input_size + (slab - width)];
      } else if (slab == width + from.input_size) {
        value = from.input_bias[source_row];
      } else {
        value = from.hidden_bias[source_row];
      }
    }
    to[index] = value;
  }
};

}  // namespace elaphos::impl

#endif
