// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_GATED_CELL_HPP
#define ELAPHOS_CELLS_GATED_CELL_HPP

#include <elaphos/batched_recurrence.hpp>
#include <elaphos/cells/gated_unit.hpp>
#include <elaphos/cells/layer_weights.hpp>
#include <elaphos/impl/propagator.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <memory>

namespace elaphos {

namespace impl {

/// What all cells share whose gates are W_ih x + b_ih and W_hh h + b_hh: sizes, checks, raw arrays.
///
/// A unit has `Gates::states` numbers; number k of unit u is y's entry k H + u. The first, h, enters the products.
template <class Gates, class Scalar, class MemorySpace>
class GatedLayer {
 public:
  using gates = Gates;
  using scalar_type = Scalar;
  using memory_space = MemorySpace;

  explicit GatedLayer(const LayerWeights<Scalar, MemorySpace>& weights, const Gates& gates_of = {})
      : m_weights(weights), m_hidden_size(hidden_size_of(weights)) {
    m_unit.of = gates_of;
    check_layer_weights(Gates::name, {Gates::count - gates_of.absent_gates(), weights.heads, Gates::recurrent},
                        {weights.input_weights.extent(0), weights.input_weights.extent(1)},
                        {weights.hidden_weights.extent(0), weights.hidden_weights.extent(1)},
                        weights.input_bias.extent(0), weights.hidden_bias.extent(0));
  }

  /// \brief H, the number of units.
  int hidden_size() const { return m_hidden_size; }
  /// \brief D, the numbers of a state: H times those of a unit.
  int state_size() const { return Gates::states * hidden_size(); }
  /// \brief I.
  int input_size() const { return static_cast<int>(m_weights.input_weights.extent(1)); }

  GatedWeights<Scalar> weights() const {
    return {m_weights.input_weights.data(),
            m_weights.hidden_weights.data(),
            m_weights.input_bias.data(),
            m_weights.hidden_bias.data(),
            m_unit_weights.data(),
            m_hidden_size,
            input_size(),
            m_weights.heads,
            m_unit.of.absent_gates()};
  }

  const GatedUnit<Gates, Scalar>& unit() const { return m_unit; }

  /// Makes the new state keep * the one before + scale * the cell's.
  void blend(Scalar keep, Scalar scale) {
    m_unit.keep = keep;
    m_unit.scale = scale;
    m_unit.blended = true;
  }

 protected:
  void set_unit_weights(const char* name, const MatrixView<const Scalar, MemorySpace>& weights) {
    check_unit_weights(Gates::name, name, {weights.extent(0), weights.extent(1)},
                       {static_cast<std::size_t>(Gates::unit_weights), static_cast<std::size_t>(m_hidden_size)});
    m_unit_weights = weights;
  }

 private:
  static int hidden_size_of(const LayerWeights<Scalar, MemorySpace>& weights) {
    if constexpr (!Gates::recurrent) return static_cast<int>(weights.input_weights.extent(0)) / Gates::count;
    return static_cast<int>(weights.hidden_weights.extent(1)) * weights.heads;
  }

  LayerWeights<Scalar, MemorySpace> m_weights;
  int m_hidden_size;
  MatrixView<const Scalar, MemorySpace> m_unit_weights{};
  GatedUnit<Gates, Scalar> m_unit{};
};

/// Advances segments of a gated cell. Compiled in the library; users pay no template compile time for it.
template <class ExecutionSpace, class Gates, class Scalar>
class GatedPropagator final : public Propagator<ExecutionSpace, Scalar> {
 public:
  /// Enqueues the packing of the weights into `workspace`, which must outlive the propagator.
  GatedPropagator(const ExecutionSpace& exec, const GatedWeights<Scalar>& weights, const GatedUnit<Gates, Scalar>& unit,
                  Workspace<ExecutionSpace>& workspace);

  bool has_jacobian() const override { return m_wide == nullptr; }
  bool has_jacobian_diagonal() const override { return m_wide != nullptr && m_wide->has_jacobian_diagonal(); }
  bool steps_by_host() const override { return m_wide != nullptr; }
  JacobianBlocks jacobian_blocks() const override;
  std::int64_t parallel_workers(const ExecutionSpace& exec) const override;
  Lockstep lockstep() const override;
  void check_sensitivity(Sensitivity sensitivity) const override;
  void run(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const override;

 private:
  template <class Work>
  void with_width(const Work& work) const;

  PackedWeights<Scalar> m_packed;
  GatedUnit<Gates, Scalar> m_unit;
  int m_width;
  std::unique_ptr<Propagator<ExecutionSpace, Scalar>> m_wide;  ///< for more units than kernels are compiled for
};

}  // namespace impl

/// \brief A library cell: a recurrent layer made of gates.
template <class Cell>
concept GatedCell = impl::HasRunTimeSizes<Cell> && requires(const Cell& cell) {
  typename Cell::gates;
  typename Cell::memory_space;
  { cell.hidden_size() } -> std::same_as<int>;
  cell.weights();
  cell.unit();
};

}  // namespace elaphos

#endif
