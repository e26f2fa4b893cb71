// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_PACKED_WEIGHTS_HPP
#define ELAPHOS_SRC_CELLS_PACKED_WEIGHTS_HPP

#include <elaphos/cells/gated_cell.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Weights rearranged for the kernels: units padded to a compiled width with zeros (a padded unit stays at 0 and touches
/// nobody), and unit index fastest, so that neighbouring lanes read neighbouring numbers. One array of slabs (gate, unit):
/// a slab per k < width of hidden weights, then the recurrent matrices' diagonals, a slab per input, and the two biases.
template <class Scalar>
struct PackWeights {
  GatedWeights<Scalar> from;
  Scalar* to;
  int gates;
  int width;

  KOKKOS_FUNCTION std::int64_t slab_size() const { return std::int64_t(gates) * width; }
  std::int64_t entries() const { return (std::int64_t(width) + from.input_size + 3) * slab_size(); }

  PackedWeights<Scalar> packed() const {
    const auto slab = [&](std::int64_t index) { return to + index * slab_size(); };
    return {slab(0),
            slab(width),
            slab(width + 1),
            slab(width + 1 + from.input_size),
            slab(width + 2 + from.input_size),
            from.hidden_size,
            from.input_size};
  }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const int unit = static_cast<int>(index % width);
    const int gate = static_cast<int>(index / width % gates);
    to[index] = unit < from.hidden_size ? entry(index / slab_size(), gate, unit) : Scalar(0);
  }

 private:
  KOKKOS_FUNCTION Scalar entry(std::int64_t slab, int gate, int unit) const {
    const int D = from.hidden_size, I = from.input_size;
    const std::int64_t row = std::int64_t(gate) * D + unit;
    if (slab < width) return slab < D ? from.hidden_weights[row * D + slab] : Scalar(0);
    if (slab == width) return from.hidden_weights[row * D + unit];
    if (slab <= width + I) return from.input_weights[row * I + (slab - width - 1)];
    return slab == width + 1 + I ? from.input_bias[row] : from.hidden_bias[row];
  }
};

}  // namespace elaphos::impl

#endif
