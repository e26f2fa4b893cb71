// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_PACKED_WEIGHTS_HPP
#define ELAPHOS_SRC_CELLS_PACKED_WEIGHTS_HPP

#include <elaphos/cells/gated_cell.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Weights rearranged for the kernels: units padded to a compiled width with zeros (a padded unit stays at 0 and
/// touches nobody), and unit index fastest, so that neighbouring lanes read neighbouring numbers. One array of slabs
/// (gate, unit): a slab per k < width of hidden weights (what a unit takes from entry k of its head), then the
/// recurrent matrices' diagonals, a slab per input, the two biases, and behind them the units' own weights (number,
/// unit). Without recurrent weights there are no slabs for them.
template <class Scalar>
struct PackWeights {
  GatedWeights<Scalar> from;
  Scalar* to;
  int gates;
  int width;
  int unit_weights;
  bool recurrent;

  KOKKOS_FUNCTION std::int64_t slab_size() const { return std::int64_t(gates) * width; }
  KOKKOS_FUNCTION std::int64_t hidden_slabs() const { return recurrent ? width : 0; }
  KOKKOS_FUNCTION std::int64_t slabs() const { return hidden_slabs() + from.input_size + 3; }
  std::int64_t entries() const { return slabs() * slab_size() + std::int64_t(unit_weights) * width; }

  PackedWeights<Scalar> packed() const {
    const auto slab = [&](std::int64_t index) { return to + index * slab_size(); };
    const std::int64_t inputs = hidden_slabs() + 1;
    return {slab(0),
            slab(hidden_slabs()),
            slab(inputs),
            slab(inputs + from.input_size),
            slab(inputs + from.input_size + 1),
            slab(slabs()),
            from.hidden_weights,
            nullptr,
            from.hidden_size,
            from.input_size,
            from.hidden_size / from.heads};
  }

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    // Divisions of 64 bits, of which there would be some an entry, take many times as long.
    if (index <= Kokkos::Experimental::finite_max_v<std::int32_t>) {
      place(static_cast<std::int32_t>(index));
    } else {
      place(index);
    }
  }

 private:
  template <class Index>
  KOKKOS_FUNCTION void place(Index index) const {
    const Index row = index / width, slab = row / gates;
    const int unit = static_cast<int>(index - row * width), gate = static_cast<int>(row - slab * gates);
    to[index] = unit < from.hidden_size ? entry(slab, gate, unit, row) : Scalar(0);
  }

  KOKKOS_FUNCTION Scalar entry(std::int64_t slab, int gate, int unit, std::int64_t packed_row) const {
    const std::int64_t H = from.hidden_size, I = from.input_size, K = from.hidden_size / from.heads,
                       hidden = hidden_slabs();
    if (slab >= slabs()) {
      const std::int64_t number = packed_row - slabs() * gates;
      return from.unit_weights == nullptr ? Scalar(0) : from.unit_weights[number * H + unit];
    }
    if (gate < from.absent_gates) return Scalar(0);
    const std::int64_t row = (gate - from.absent_gates) * H + unit;
    if (slab < hidden) return slab < K ? from.hidden_weights[row * K + slab] : Scalar(0);
    if (slab == hidden) return recurrent ? from.hidden_weights[row * K + unit % static_cast<int>(K)] : Scalar(0);
    if (slab <= hidden + I) return from.input_weights[row * I + (slab - hidden - 1)];
    if (slab == hidden + 1 + I) return from.input_bias[row];
    return recurrent ? from.hidden_bias[row] : Scalar(0);
  }
};

}  // namespace elaphos::impl

#endif
