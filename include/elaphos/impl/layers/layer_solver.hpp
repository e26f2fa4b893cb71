// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_LAYER_SOLVER_HPP
#define ELAPHOS_IMPL_LAYERS_LAYER_SOLVER_HPP

#include <elaphos/impl/array_shape.hpp>
#include <elaphos/impl/input_arrays.hpp>
#include <elaphos/impl/layers/copy_rows.hpp>
#include <elaphos/impl/layers/layer_routes.hpp>
#include <elaphos/impl/layers/layer_traits.hpp>
#include <elaphos/inputs.hpp>
#include <elaphos/layers/layer_options.hpp>
#include <elaphos/layers/layer_report.hpp>
#include <elaphos/solve.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace elaphos::impl {

/// Arrays and sizes of a solve of layers; states in the order of layers, then directions.
template <class Scalar>
struct LayerProblem {
  std::vector<const Scalar*> y0;
  InputArrays x;
  Scalar* y;
  std::vector<Scalar*> final_states;
  std::int64_t steps;
  std::int64_t batch;
  std::int64_t sequences;  ///< initial states: of packed sequences, or `batch`
};

/// Solves one layer after another.
///
/// Besides the solves, a row (t, b) costs: nothing for a layer whose state is its output, without dropout; 2 H words
/// where the output is copied; for two directions 2 I words for the reversed input and 4 H for the joined output. Flags
/// are reversed once for all layers, two bytes each. Final states are kept aside until all layers are done, so that an
/// exception in any of them leaves the caller's as they were.
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
        m_input(m_problem.x),
        m_reversed_input{{}, m_input.offsets, {}, {}} {
    const std::int64_t rows = m_problem.steps * m_problem.batch;
    m_places[0] = reserve<Scalar>(Buffer::layer_output, rows * m_routes.widths[0]);
    m_places[1] = reserve<Scalar>(Buffer::layer_states, rows * m_routes.widths[1]);
    m_reversed = reserve<Scalar>(Buffer::layer_reversed, rows * m_routes.reversed_width);
    m_final = reserve<Scalar>(Buffer::layer_final_states, m_problem.sequences * m_routes.state_numbers);
    if (std::ranges::any_of(layers, [](const LayerSizes& layer) { return layer.directions == 2; })) reverse_flags();
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
    if (sizes.directions == 2) reverse_input(sizes.input_size);
    for (int direction = 0; direction < sizes.directions; ++direction) {
      const bool backwards = direction == 1;
      const InputArrays& input = backwards ? m_reversed_input : m_input;
      if (!solve_one(LayerTraits<Layer>::cell(layer, direction), input, states)) return false;
      if (!route.copies()) continue;
      copy(states, output, sizes.state_size, sizes.output_size(), sizes.hidden_size, direction * sizes.hidden_size,
           backwards, mask);
    }
    m_input.blocks = {array_of(output, sizes.output_size())};
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
        from += m_problem.sequences * layer.state_size;
      }
    }
  }

  LayerReport take_report() { return std::move(m_report); }

 private:
  template <class Number>
  Number* reserve(Buffer buffer, std::int64_t numbers) {
    return m_workspace.template reserve<Number>(m_exec, buffer, static_cast<std::size_t>(numbers));
  }

  // As Views of one type, whatever the caller's are: a cell's solve is compiled once.
  template <class Pointer>
  using Unmanaged = Kokkos::View<Pointer, Kokkos::LayoutRight, typename ExecutionSpace::memory_space,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  template <class Number>
  Unmanaged<Number***> sequence_view(Number* numbers, int width) const {
    return Unmanaged<Number***>(numbers, static_cast<std::size_t>(m_problem.steps),
                                static_cast<std::size_t>(m_problem.batch), static_cast<std::size_t>(width));
  }

  ArrayShape array_of(const Scalar* numbers, int width) const { return shape_of("x", sequence_view(numbers, width)); }

  template <class Cell>
  bool solve_one(const Cell& cell, const InputArrays& input, Scalar* states) {
    const int D = cell.state_size();
    const Scalar* const y0 = m_problem.y0[m_report.solves.size()];
    const Unmanaged<const Scalar**> initial(y0, static_cast<std::size_t>(m_problem.sequences),
                                            static_cast<std::size_t>(D));
    m_report.solves.push_back(elaphos::solve(m_exec, cell, initial,
                                             Inputs<Scalar, typename ExecutionSpace::memory_space>(input),
                                             sequence_view(states, D), m_options.solve, m_workspace));
    if (m_report.solves.back().status == SolveStatus::stopped) return false;
    const std::int64_t numbers = m_problem.sequences * D;
    Scalar* const to = m_final + m_final_numbers;
    if (input.offsets) {
      const std::int64_t* const offsets = time_division<Scalar>(input, y0).offsets;
      copy_final_states(m_exec, FinalStateCopy<Scalar>{states, y0, to, offsets, m_problem.sequences, D});
    } else {
      copy_states(m_problem.steps == 0 ? y0 : states + (m_problem.steps - 1) * numbers, to, D);
    }
    m_final_numbers += numbers;
    return true;
  }

  // What the backward direction reads, in its order; features in several arrays become one.
  void reverse_input(int width) {
    const InputBlocks<Scalar> blocks = input_blocks<Scalar>(m_input);
    int offset = 0;
    for (int block = 0; block < blocks.count; ++block) {
      const int size = blocks.sizes[block];
      copy(blocks.data[block], m_reversed, size, width, size, offset, true, {});
      offset += size;
    }
    m_reversed_input.blocks = {array_of(m_reversed, width)};
  }

  void reverse_flags() {
    const std::int64_t flags = m_problem.steps * m_problem.batch;
    const auto room_for = [flags](const auto& given) { return given ? flags : 0; };
    bool* const mask = reserve<bool>(Buffer::layer_reversed_flags, room_for(m_input.mask) + room_for(m_input.resets));
    if (m_input.mask) m_reversed_input.mask = reversed_flags(*m_input.mask, mask, 0);
    // Where a sequence begins at step t, the one before it begins backwards: at step t - 1, which is T - t steps from
    // the end. The first step starts from y0 in any case.
    if (m_input.resets) m_reversed_input.resets = reversed_flags(*m_input.resets, mask + room_for(m_input.mask), 1);
  }

  // Flags (T, B) from step `first` on in opposite order, behind the others as they are.
  ArrayShape reversed_flags(const ArrayShape& flags, bool* to, std::int64_t first) const {
    const std::int64_t T = m_problem.steps, B = m_problem.batch, kept = std::min(first, T);
    const bool* const from = static_cast<const bool*>(flags.data);
    copy_rows(m_exec, RowCopy<bool>{from, to, kept, B, 1, 1, 1}, {});
    copy_rows(m_exec, RowCopy<bool>{from + kept * B, to + kept * B, T - kept, B, 1, 1, 1, 0, true}, {});
    ArrayShape out = flags;
    out.data = to;
    return out;
  }

  void copy_states(const Scalar* from, Scalar* to, int width) const {
    copy_rows(m_exec, RowCopy<Scalar>{from, to, 1, m_problem.sequences, width, width, width}, {});
  }

  void copy(const Scalar* from, Scalar* to, int from_width, int to_width, int count, int offset, bool reversed,
            const DropoutMask<Scalar>& mask) const {
    const TimeDivision<Scalar> division = time_division<Scalar>(m_input, nullptr);
    copy_rows(m_exec,
              RowCopy<Scalar>{from, to, m_problem.steps, m_problem.batch, from_width, to_width, count, offset, reversed,
                              division.offsets, division.sequences},
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
  InputArrays m_input;           // of the layer that is solved next
  InputArrays m_reversed_input;  // of its backward direction
  std::size_t m_layer = 0;
  std::int64_t m_final_numbers = 0;
  LayerReport m_report;
};

}  // namespace elaphos::impl

#endif
