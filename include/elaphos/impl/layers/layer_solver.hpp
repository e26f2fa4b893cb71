// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_LAYER_SOLVER_HPP
#define ELAPHOS_IMPL_LAYERS_LAYER_SOLVER_HPP

#include <elaphos/impl/layers/copy_rows.hpp>
#include <elaphos/impl/layers/layer_routes.hpp>
#include <elaphos/impl/layers/layer_traits.hpp>
#include <elaphos/layers/layer_options.hpp>
#include <elaphos/layers/layer_report.hpp>
#include <elaphos/solve.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace elaphos::impl {

/// Arrays and sizes of a solve of layers; states in the order of layers, then directions.
template <class Scalar>
struct LayerProblem {
  std::vector<const Scalar*> y0;
  const Scalar* x;
  Scalar* y;
  std::vector<Scalar*> final_states;
  std::int64_t steps;
  std::int64_t batch;
};

/// Solves one layer after another.
///
/// Besides the solves, a row (t, b) costs: nothing for a layer whose state is its output, without dropout; 2 H words
/// where the output is copied; for two directions 2 I words for the reversed input and 4 H for the joined output. Final
/// states are kept aside until all layers are done, so that an exception in any of them leaves the caller's as they
/// were.
template <class ExecutionSpace, class Scalar>
class LayerSolver {
 public:
  LayerSolver(const ExecutionSpace& exec, LayerProblem<Scalar> problem, const std::vector<LayerSizes>& layers,
              const LayerOptions& options, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec),
        m_problem(std::move(problem)),
        m_options(options),
        m_workspace(workspace),
        m_routes(layer_routes(layers, options.dropout.probability > 0)),
        m_places{nullptr, nullptr, m_problem.y},
        m_input(m_problem.x) {
    const std::int64_t rows = m_problem.steps * m_problem.batch;
    m_places[0] = reserve(Buffer::layer_output, rows * m_routes.widths[0]);
    m_places[1] = reserve(Buffer::layer_states, rows * m_routes.widths[1]);
    m_reversed = reserve(Buffer::layer_reversed, rows * m_routes.reversed_width);
    m_final = reserve(Buffer::layer_final_states, m_problem.batch * m_routes.state_numbers);
  }

  /// Solves the next layer; returns whether to go on, which the observer may not want.
  template <class Layer>
  bool run(const Layer& layer) {
    const LayerSizes sizes = sizes_of(layer);
    const LayerRoute route = m_routes.layers[m_layer];
    const bool is_last = m_layer + 1 == m_routes.layers.size();
    const DropoutMask<Scalar> mask = is_last ? DropoutMask<Scalar>() : DropoutMask<Scalar>(m_options.dropout, m_layer);
    Scalar* const states = m_places[route.states];
    Scalar* const output = m_places[route.output];
    if (sizes.directions == 2) {
      copy(m_input, m_reversed, sizes.input_size, sizes.input_size, sizes.input_size, 0, true, {});
    }
    for (int direction = 0; direction < sizes.directions; ++direction) {
      const bool backwards = direction == 1;
      if (!solve_one(LayerTraits<Layer>::cell(layer, direction), backwards ? m_reversed : m_input, states))
        return false;
      if (!route.copies()) continue;
      copy(states, output, sizes.state_size, sizes.output_size(), sizes.hidden_size, direction * sizes.hidden_size,
           backwards, mask);
    }
    m_input = output;
    ++m_layer;
    return true;
  }

  /// After all layers: hands the final states out.
  void hand_out_final_states(const std::vector<LayerSizes>& layers) const {
    std::size_t state = 0;
    const Scalar* from = m_final;
    for (const LayerSizes& layer : layers) {
      for (int direction = 0; direction < layer.directions; ++direction) {
        copy_states(from, m_problem.final_states[state++], layer.state_size);
        from += m_problem.batch * layer.state_size;
      }
    }
  }

  LayerReport take_report() { return std::move(m_report); }

 private:
  Scalar* reserve(Buffer buffer, std::int64_t numbers) {
    return m_workspace.template reserve<Scalar>(m_exec, buffer, static_cast<std::size_t>(numbers));
  }

  // As Views of one type, whatever the caller's are: a cell's solve is compiled once.
  template <class Pointer>
  using Unmanaged = Kokkos::View<Pointer, Kokkos::LayoutRight, typename ExecutionSpace::memory_space,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  template <class Cell>
  bool solve_one(const Cell& cell, const Scalar* input, Scalar* states) {
    const std::size_t T = static_cast<std::size_t>(m_problem.steps), B = static_cast<std::size_t>(m_problem.batch);
    const std::size_t D = static_cast<std::size_t>(cell.state_size()), I = static_cast<std::size_t>(cell.input_size());
    const Scalar* const y0 = m_problem.y0[m_report.solves.size()];
    m_report.solves.push_back(elaphos::solve(m_exec, cell, Unmanaged<const Scalar**>(y0, B, D),
                                             Unmanaged<const Scalar***>(input, T, B, I),
                                             Unmanaged<Scalar***>(states, T, B, D), m_options.solve, m_workspace));
    if (m_report.solves.back().status == SolveStatus::stopped) return false;
    const std::int64_t numbers = m_problem.batch * cell.state_size();
    copy_states(m_problem.steps == 0 ? y0 : states + (m_problem.steps - 1) * numbers, m_final + m_final_numbers,
                cell.state_size());
    m_final_numbers += numbers;
    return true;
  }

  void copy_states(const Scalar* from, Scalar* to, int width) const {
    copy_rows(m_exec, RowCopy<Scalar>{from, to, 1, m_problem.batch, width, width, width}, {});
  }

  void copy(const Scalar* from, Scalar* to, int from_width, int to_width, int count, int offset, bool reversed,
            const DropoutMask<Scalar>& mask) const {
    copy_rows(
        m_exec,
        RowCopy<Scalar>{from, to, m_problem.steps, m_problem.batch, from_width, to_width, count, offset, reversed},
        mask);
  }

  const ExecutionSpace& m_exec;
  LayerProblem<Scalar> m_problem;
  const LayerOptions& m_options;
  Workspace<ExecutionSpace>& m_workspace;
  LayerRoutes m_routes;
  Scalar* m_places[3];
  Scalar* m_reversed = nullptr;
  Scalar* m_final = nullptr;
  const Scalar* m_input;
  std::size_t m_layer = 0;
  std::int64_t m_final_numbers = 0;
  LayerReport m_report;
};

}  // namespace elaphos::impl

#endif
