// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_GATED_CELL_HPP
#define ELAPHOS_CELLS_GATED_CELL_HPP

#include <elaphos/batched_recurrence.hpp>
#include <elaphos/impl/propagator.hpp>
#include <elaphos/views.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>

namespace elaphos {

/// \brief Weights of a recurrent layer in PyTorch's layout: gates stacked along the rows, in the cell's gate order.
///
/// With G gates, H units and input size I: `input_weights` (G H, I), `hidden_weights` (G H, H), `input_bias` (G H) and
/// `hidden_bias` (G H); in PyTorch weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0. The Views are shared, not
/// copied: every solve reads what they hold at that moment.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
struct LayerWeights {
  MatrixView<const Scalar, MemorySpace> input_weights;
  MatrixView<const Scalar, MemorySpace> hidden_weights;
  VectorView<const Scalar, MemorySpace> input_bias;
  VectorView<const Scalar, MemorySpace> hidden_bias;
};

namespace impl {

/// Weights as raw arrays, for kernels.
template <class Scalar>
struct GatedWeights {
  const Scalar* input_weights;
  const Scalar* hidden_weights;
  const Scalar* input_bias;
  const Scalar* hidden_bias;
  int hidden_size;
  int input_size;
};

/// The same rearranged for kernels; see PackWeights in the sources. Padded to a compiled width, unit index fastest.
template <class Scalar>
struct PackedWeights {
  const Scalar* hidden_weights;
  const Scalar* hidden_diagonal;
  const Scalar* input_weights;
  const Scalar* input_bias;
  const Scalar* hidden_bias;
  int hidden_size;
  int input_size;
};

struct MatrixShape {
  std::size_t rows;
  std::size_t columns;
};

/// Throws `InvalidArgument` unless the four shapes fit one another and `gates`.
void check_layer_weights(const char* cell, int gates, MatrixShape input_weights, MatrixShape hidden_weights,
                         std::size_t input_bias, std::size_t hidden_bias);

/// What all cells share whose gates are W_ih x + b_ih and W_hh h + b_hh: sizes, checks, raw arrays.
///
/// A unit has `Gates::states` numbers; number k of unit u is y's entry k H + u. The first, h, enters the products.
template <class Gates, class Scalar, class MemorySpace>
class GatedLayer {
 public:
  using gates = Gates;
  using scalar_type = Scalar;
  using memory_space = MemorySpace;

  explicit GatedLayer(const LayerWeights<Scalar, MemorySpace>& weights) : m_weights(weights) {
    check_layer_weights(Gates::name, Gates::count, {weights.input_weights.extent(0), weights.input_weights.extent(1)},
                        {weights.hidden_weights.extent(0), weights.hidden_weights.extent(1)},
                        weights.input_bias.extent(0), weights.hidden_bias.extent(0));
  }

  /// \brief H, the number of units.
  int hidden_size() const { return static_cast<int>(m_weights.hidden_weights.extent(1)); }
  /// \brief D, the numbers of a state: H times those of a unit.
  int state_size() const { return Gates::states * hidden_size(); }
  /// \brief I.
  int input_size() const { return static_cast<int>(m_weights.input_weights.extent(1)); }

  GatedWeights<Scalar> weights() const {
    return {m_weights.input_weights.data(), m_weights.hidden_weights.data(), m_weights.input_bias.data(),
            m_weights.hidden_bias.data(),   hidden_size(),                   input_size()};
  }

 private:
  LayerWeights<Scalar, MemorySpace> m_weights;
};

/// Advances segments of a gated cell. Compiled in the library; users pay no template compile time for it.
template <class ExecutionSpace, class Gates, class Scalar>
class GatedPropagator final : public Propagator<ExecutionSpace, Scalar> {
 public:
  /// Enqueues the packing of the weights into `workspace`. Throws `InvalidArgument` for a hidden size over the widest
  /// compiled one.
  GatedPropagator(const ExecutionSpace& exec, const GatedWeights<Scalar>& weights,
                  Workspace<ExecutionSpace>& workspace);

  bool has_jacobian() const override { return true; }
  JacobianBlocks jacobian_blocks() const override;
  std::int64_t parallel_workers(const ExecutionSpace& exec) const override;
  void check_sensitivity(Sensitivity sensitivity) const override;
  void run(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const override;

 private:
  PackedWeights<Scalar> m_packed;
  int m_width;
};

}  // namespace impl

/// \brief A library cell: a recurrent layer made of gates.
template <class Cell>
concept GatedCell = impl::HasRunTimeSizes<Cell> && requires(const Cell& cell) {
  typename Cell::gates;
  typename Cell::memory_space;
  { cell.hidden_size() } -> std::same_as<int>;
  cell.weights();
};

}  // namespace elaphos

#endif
