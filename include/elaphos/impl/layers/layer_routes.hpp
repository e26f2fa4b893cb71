// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_LAYER_ROUTES_HPP
#define ELAPHOS_IMPL_LAYERS_LAYER_ROUTES_HPP

#include <elaphos/impl/layers/layer_traits.hpp>

#include <cstdint>
#include <vector>

namespace elaphos::impl {

/// Where a layer's states and its output go: one of two buffers, or the caller's y.
struct LayerRoute {
  static constexpr int result = 2;
  int states;
  int output;

  /// Whether the output is not the states themselves, but copied from them.
  bool copies() const { return states != output; }
};

/// The routes of all layers, and the numbers a row (t, b) that each buffer must hold.
struct LayerRoutes {
  std::vector<LayerRoute> layers;
  std::int64_t widths[2] = {0, 0};
  std::int64_t reversed_width = 0;
  std::int64_t state_numbers = 0;  ///< of all layers together, for one sequence
};

/// Two buffers do for any number of layers. A layer reads one and leaves its states in the other; where they are more
/// than its output (an LSTM's c), or go through dropout, or are one of two directions, the output is then copied to the
/// first, whose contents nobody needs any more. A backward direction reads a reversed copy of the input.
LayerRoutes layer_routes(const std::vector<LayerSizes>& layers, bool dropout);

}  // namespace elaphos::impl

#endif
