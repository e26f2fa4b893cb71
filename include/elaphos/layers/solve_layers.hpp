// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_SOLVE_LAYERS_HPP
#define ELAPHOS_LAYERS_SOLVE_LAYERS_HPP

#include <elaphos/impl/check_views.hpp>
#include <elaphos/impl/layers/check_layers.hpp>
#include <elaphos/impl/layers/layer_solver.hpp>
#include <elaphos/inputs.hpp>
#include <elaphos/layers/bidirectional.hpp>
#include <elaphos/layers/layer_options.hpp>
#include <elaphos/layers/layer_report.hpp>
#include <elaphos/layers/stack.hpp>
#include <elaphos/views.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace elaphos {

namespace impl {

template <class T>
struct IsLayerStack : std::false_type {};
template <class Layer>
struct IsLayerStack<Stack<Layer>> : std::true_type {};
template <class... Layers>
struct IsLayerStack<MixedStack<Layers...>> : std::true_type {};
template <class Cell>
struct IsLayerStack<Bidirectional<Cell>> : std::true_type {};

/// Checks the Views of a range when the caller's code is compiled; their shapes and their numbers when it runs.
template <class ExecutionSpace, class Scalar, class Pointer, class States>
void collect_states(const char* name, const States& states, std::vector<ArrayShape>& shapes,
                    std::vector<Pointer>& numbers) {
  for (const auto& view : states) {
    static_assert(ViewCheck<ExecutionSpace, Scalar, 2, std::remove_cvref_t<decltype(view)>>::passed);
    shapes.push_back(shape_of(name, view));
    numbers.push_back(view.data());
  }
}

}  // namespace impl

/// \brief Layers that `solve` takes: a `Stack`, a `MixedStack`, or one `Bidirectional`.
template <class T>
concept LayerStack = impl::IsLayerStack<T>::value;

/// \brief Evaluates layers on one another, each by `solve`, so that in exact mode the bits are those of the loops.
///
/// \param exec          runs all kernels; it is waited for before the report is returned
/// \param y0            a range of Views (B, D_l), such as a `std::vector` of `StateView`s: the initial state of
///                      each layer, of a bidirectional one the forward, then the backward state. D_l is the cell's
///                      state size: of an LSTM h, then c
/// \param x             inputs of the first layer (T, B, I), or `inputs(...)`: features in several Views, packed or
///                      masked sequences, resets, as every layer's solve then takes them. Of packed sequences states
///                      are (sequences, D_l), and B is 1
/// \param y             output of the last layer: (T, B, H), or (T, B, 2 H) if it is bidirectional; apart from all
///                      others
/// \param final_states  Views as y0's, and may be those: the states after the last step, PyTorch's h_n and c_n; of a
///                      packed sequence after its own last step, or y0's where it has none. As
///                      y0 of the next call they continue the sequence, in exact mode with the bits of one call,
///                      whatever the lengths; `options.dropout.first_step` then advances too. Bidirectional layers
///                      cannot be continued
/// \param workspace     memory to reuse; also holds the outputs between layers, at most three arrays (T, B, widest
///                      layer)
/// \return a report for each state. When the observer stops a solve the list ends with it, and no final state is
/// written
/// \throws InvalidArgument for shapes, options or overlaps that make no sense, before y or a final state is written
template <class ExecutionSpace, LayerStack L, class InitialStates, class InputView, class OutputView, class FinalStates>
LayerReport solve(const ExecutionSpace& exec, const L& layers, const InitialStates& y0, const InputView& x,
                  const OutputView& y, const FinalStates& final_states, const LayerOptions& options,
                  Workspace<ExecutionSpace>& workspace) {
  using Scalar = typename L::scalar_type;
  static_assert(Kokkos::is_execution_space<ExecutionSpace>::value,
                "Elaphos: the first argument of solve is an execution space instance");
  static_assert(impl::InputCheck<ExecutionSpace, Scalar, InputView>::passed);
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, OutputView>::passed);
  static_assert(!std::is_const_v<typename OutputView::value_type>, "Elaphos: y is written: its View must not be const");
  impl::LayerShapes shapes{{}, impl::as_inputs(x).arrays(), impl::shape_of("y", y), {}};
  impl::LayerProblem<Scalar> problem{
      {}, shapes.x, y.data(), {}, static_cast<std::int64_t>(y.extent(0)), static_cast<std::int64_t>(y.extent(1)), 0};
  impl::collect_states<ExecutionSpace, Scalar>("y0", y0, shapes.y0, problem.y0);
  impl::collect_states<ExecutionSpace, Scalar>("final_states", final_states, shapes.final_states, problem.final_states);
  const std::vector<impl::LayerSizes> sizes = impl::sizes_of_layers(layers);
  problem.sequences = impl::check_layer_shapes(shapes, sizes, options);

  impl::LayerSolver<ExecutionSpace, Scalar> solver(exec, std::move(problem), sizes, options, workspace);
  const bool complete = layers.for_each([&solver](const auto& layer) { return solver.run(layer); });
  if (complete) solver.hand_out_final_states(sizes);
  exec.fence("Elaphos::end_of_layers");
  return solver.take_report();
}

/// \brief The same with a workspace of its own: allocates and frees in every call.
template <class ExecutionSpace, LayerStack L, class InitialStates, class InputView, class OutputView, class FinalStates>
LayerReport solve(const ExecutionSpace& exec, const L& layers, const InitialStates& y0, const InputView& x,
                  const OutputView& y, const FinalStates& final_states, const LayerOptions& options = {}) {
  Workspace<ExecutionSpace> workspace;
  return solve(exec, layers, y0, x, y, final_states, options, workspace);
}

/// \brief A state (B, D_l) of zeros for every direction of every layer: PyTorch's default, and room for final states.
/// For packed sequences B is their number.
template <class ExecutionSpace, LayerStack L>
auto zero_states(const ExecutionSpace& exec, const L& layers, std::int64_t batch) {
  using View = StateView<typename L::scalar_type, typename L::memory_space>;
  std::vector<View> states;
  for (const impl::LayerSizes& layer : impl::sizes_of_layers(layers)) {
    for (int direction = 0; direction < layer.directions; ++direction) {
      states.emplace_back(Kokkos::view_alloc(exec, "Elaphos::state"), static_cast<std::size_t>(batch),
                          static_cast<std::size_t>(layer.state_size));
    }
  }
  return states;
}

}  // namespace elaphos

#endif
