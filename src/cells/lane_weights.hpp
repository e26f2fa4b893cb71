// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_LANE_WEIGHTS_HPP
#define ELAPHOS_SRC_CELLS_LANE_WEIGHTS_HPP

#include <elaphos/cells/layer_weights.hpp>

#include <Kokkos_Core.hpp>

#include <bit>
#include <cstdint>

namespace elaphos::impl {

// Sums of a group of lanes that fit in the registers beside what they are made from.
#if defined(__AVX512F__)
inline constexpr int most_lane_sums = 12;
#else
inline constexpr int most_lane_sums = 3;
#endif

/// Neighbouring units whose sums `GatedLanesStep` makes together.
template <class Gates>
inline constexpr int units_of_lane_block = Gates::late > 0 || Gates::count > most_lane_sums
                                               ? 1
                                               : int(std::bit_floor(unsigned(most_lane_sums / Gates::count)));

/// Numbers of the state that a unit sees.
template <class Gates, class Scalar>
int lane_columns(const PackedWeights<Scalar>& weights) {
  return Gates::recurrent ? weights.head_size : 0;
}

/// Weights once more, as `GatedLanesStep` goes through them: (block, k, gate, unit of the block), where k counts inputs
/// and then what a unit sees of the state, and units behind the last whole block are blocks of their own.
template <class Scalar>
struct PackLaneWeights {
  PackedWeights<Scalar> from;
  int width;  // to which units are padded there
  int gates;
  int block;
  int columns;  // of the state
  Scalar* to;

  std::int64_t of_unit() const { return std::int64_t(gates) * (from.input_size + columns); }
  std::int64_t entries() const { return from.hidden_size * of_unit(); }

  /// All weights of a unit.
  void operator()(std::int64_t index) const {
    const int unit = static_cast<int>(index), in_blocks = from.hidden_size / block * block;
    const int size = unit < in_blocks ? block : 1, first = unit < in_blocks ? unit / block * block : unit;
    Scalar* const own = to + first * of_unit() + (unit - first);
    for (int k = 0; k < from.input_size + columns; ++k) {
      const Scalar* slab = k < from.input_size
                               ? from.input_weights + std::int64_t(k) * gates * width
                               : from.hidden_weights + std::int64_t(k - from.input_size) * gates * width;
      for (int g = 0; g < gates; ++g) own[(std::int64_t(k) * gates + g) * size] = slab[g * width + unit];
    }
  }
};

}  // namespace elaphos::impl

#endif
