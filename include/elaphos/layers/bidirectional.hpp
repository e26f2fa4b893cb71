// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_BIDIRECTIONAL_HPP
#define ELAPHOS_LAYERS_BIDIRECTIONAL_HPP

#include <elaphos/impl/layers/check_layers.hpp>
#include <elaphos/layers/layer_cell.hpp>

#include <cstddef>

namespace elaphos {

/// \brief A layer of two cells, of which the second runs backwards in time: y_t is the first one's h_t, then the
/// second's, 2 H numbers (Schuster and Paliwal, 1997; PyTorch's `bidirectional`).
///
/// It has two states, in this order; the second's final one is that after step 0. It cannot be streamed: the first
/// output depends on the last input. Throws `InvalidArgument` unless both cells have the same sizes.
template <LayerCell Cell>
class Bidirectional {
 public:
  using scalar_type = typename Cell::scalar_type;
  using memory_space = typename Cell::memory_space;

  Bidirectional(const Cell& forward, const Cell& backward) : m_forward(forward), m_backward(backward) {
    impl::check_directions(impl::sizes_of(forward), impl::sizes_of(backward));
    impl::check_layers_fit(impl::sizes_of_layers(*this));
  }

  const Cell& forward() const { return m_forward; }
  const Cell& backward() const { return m_backward; }

  /// \brief As layers to solve it is a single one.
  std::size_t size() const { return 1; }
  /// \brief Calls `visit(layer)` while it returns true.
  template <class Visitor>
  bool for_each(const Visitor& visit) const {
    return visit(*this);
  }

 private:
  Cell m_forward;
  Cell m_backward;
};

namespace impl {

template <class Cell>
struct LayerTraits<Bidirectional<Cell>> {
  static constexpr int directions = 2;
  static const Cell& cell(const Bidirectional<Cell>& layer, int direction) {
    return direction == 0 ? layer.forward() : layer.backward();
  }
};

}  // namespace impl

}  // namespace elaphos

#endif
