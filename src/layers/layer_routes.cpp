// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/impl/layers/layer_routes.hpp>

#include <algorithm>
#include <cstddef>

namespace elaphos::impl {

LayerRoutes layer_routes(const std::vector<LayerSizes>& layers, bool dropout) {
  LayerRoutes out;
  int read = 0;  // the buffer that holds the layer's input; the first layer's is the caller's
  for (std::size_t index = 0; index < layers.size(); ++index) {
    const LayerSizes& layer = layers[index];
    const bool is_last = index + 1 == layers.size();
    const bool copies = layer.directions > 1 || layer.state_size != layer.hidden_size || (dropout && !is_last);
    const int other = 1 - read;
    LayerRoute route{other, is_last ? LayerRoute::result : copies ? read : other};
    if (!copies) route.states = route.output;
    out.layers.push_back(route);

    const auto hold = [&out](int place, int width) {
      if (place != LayerRoute::result) out.widths[place] = std::max(out.widths[place], std::int64_t(width));
    };
    hold(route.states, layer.state_size);
    hold(route.output, layer.output_size());
    if (layer.directions > 1) out.reversed_width = std::max(out.reversed_width, std::int64_t(layer.input_size));
    out.state_numbers += std::int64_t(layer.directions) * layer.state_size;
    read = route.output;
  }
  return out;
}

}  // namespace elaphos::impl
