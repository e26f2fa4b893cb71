// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_CHECK_LAYERS_HPP
#define ELAPHOS_IMPL_LAYERS_CHECK_LAYERS_HPP

#include <elaphos/impl/array_shape.hpp>
#include <elaphos/impl/input_arrays.hpp>
#include <elaphos/impl/layers/layer_traits.hpp>
#include <elaphos/layers/layer_options.hpp>

#include <cstdint>
#include <vector>

namespace elaphos::impl {

template <class Layers>
std::vector<LayerSizes> sizes_of_layers(const Layers& layers) {
  std::vector<LayerSizes> sizes;
  layers.for_each([&sizes](const auto& layer) {
    sizes.push_back(sizes_of(layer));
    return true;
  });
  return sizes;
}

/// Throws `InvalidArgument` unless the two cells of a bidirectional layer have the same sizes.
void check_directions(const LayerSizes& forward, const LayerSizes& backward);

/// Throws `InvalidArgument` unless there is a layer, and each takes what the one before hands on.
void check_layers_fit(const std::vector<LayerSizes>& layers);

/// What a solve of layers was passed.
struct LayerShapes {
  std::vector<ArrayShape> y0;
  InputArrays x;
  ArrayShape y;
  std::vector<ArrayShape> final_states;
};

/// Returns the number of initial states S: B, or that of packed sequences. Throws `InvalidArgument` unless x is as a
/// solve of the first layer takes it, y is (T, B, O) and there is a y0 and a final state (S, D) for every direction of
/// every layer, all contiguous; what is written must lie apart, but a final state may be any y0.
std::int64_t check_layer_shapes(const LayerShapes& shapes, const std::vector<LayerSizes>& layers,
                                const LayerOptions& options);

}  // namespace elaphos::impl

#endif
