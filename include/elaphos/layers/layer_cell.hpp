// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_LAYER_CELL_HPP
#define ELAPHOS_LAYERS_LAYER_CELL_HPP

#include <elaphos/impl/layers/layer_traits.hpp>

#include <concepts>

namespace elaphos {

/// \brief What can be a layer: a recurrence whose state begins with what it hands on, `hidden_size()` numbers.
///
/// All library cells are; so is a `TeamRecurrence` or `BatchedRecurrence` that says its `memory_space` and
/// `hidden_size()`.
template <class Cell>
concept LayerCell = requires(const Cell& cell) {
  typename Cell::scalar_type;
  typename Cell::memory_space;
  { cell.state_size() } -> std::convertible_to<int>;
  { cell.input_size() } -> std::convertible_to<int>;
  { cell.hidden_size() } -> std::convertible_to<int>;
};

namespace impl {

template <LayerCell Cell>
struct LayerTraits<Cell> {
  static constexpr int directions = 1;
  static const Cell& cell(const Cell& layer, int) { return layer; }
};

}  // namespace impl

}  // namespace elaphos

#endif
