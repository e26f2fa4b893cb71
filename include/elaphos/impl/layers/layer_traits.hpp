// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_LAYER_TRAITS_HPP
#define ELAPHOS_IMPL_LAYERS_LAYER_TRAITS_HPP

namespace elaphos::impl {

/// A kind of layer: its number of directions, and the cell of each. A specialisation beside each kind.
template <class Layer>
struct LayerTraits;

/// What a solve of layers needs to know of one. All directions have the same sizes.
struct LayerSizes {
  int input_size;
  int state_size;
  int hidden_size;
  int directions;

  int output_size() const { return directions * hidden_size; }
};

template <class Layer>
LayerSizes sizes_of(const Layer& layer) {
  const auto& cell = LayerTraits<Layer>::cell(layer, 0);
  return {cell.input_size(), cell.state_size(), cell.hidden_size(), LayerTraits<Layer>::directions};
}

}  // namespace elaphos::impl

#endif
