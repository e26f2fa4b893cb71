// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_STACK_HPP
#define ELAPHOS_LAYERS_STACK_HPP

#include <elaphos/impl/layers/check_layers.hpp>
#include <elaphos/layers/bidirectional.hpp>
#include <elaphos/layers/layer_cell.hpp>

#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace elaphos {

/// \brief Layers of one type on one another: a layer's input is the output h of the one before.
///
/// `Layer` is a cell, or a `Bidirectional` of one; sizes may differ. Layers are copied, which share their weights'
/// Views. Throws `InvalidArgument` for no layers, and where an input size is not the output size of the layer before.
template <class Layer>
class Stack {
 public:
  using scalar_type = typename Layer::scalar_type;
  using memory_space = typename Layer::memory_space;

  explicit Stack(std::vector<Layer> layers) : m_layers(std::move(layers)) {
    impl::check_layers_fit(impl::sizes_of_layers(*this));
  }

  std::size_t size() const { return m_layers.size(); }
  const Layer& operator[](std::size_t layer) const { return m_layers[layer]; }

  /// \brief Calls `visit(layer)` from the first layer on while it returns true.
  template <class Visitor>
  bool for_each(const Visitor& visit) const {
    for (const Layer& layer : m_layers) {
      if (!visit(layer)) return false;
    }
    return true;
  }

 private:
  std::vector<Layer> m_layers;
};

/// \brief The same of layers of different types, such as a `Gru` on a `Bidirectional<Lstm<float>>`, whose number is
/// known when the caller's code is compiled.
template <class... Layers>
class MixedStack {
 public:
  using first_layer = std::tuple_element_t<0, std::tuple<Layers...>>;
  using scalar_type = typename first_layer::scalar_type;
  using memory_space = typename first_layer::memory_space;
  static_assert((std::is_same_v<scalar_type, typename Layers::scalar_type> && ...),
                "Elaphos: the layers of a stack must have the same scalar type");

  explicit MixedStack(const Layers&... layers) : m_layers(layers...) {
    impl::check_layers_fit(impl::sizes_of_layers(*this));
  }

  std::size_t size() const { return sizeof...(Layers); }

  /// \brief Calls `visit(layer)` from the first layer on while it returns true.
  template <class Visitor>
  bool for_each(const Visitor& visit) const {
    return std::apply([&visit](const Layers&... layers) { return (visit(layers) && ...); }, m_layers);
  }

 private:
  std::tuple<Layers...> m_layers;
};

}  // namespace elaphos

#endif
