// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SOLVE_HPP
#define ELAPHOS_SOLVE_HPP

#include <elaphos/batched_recurrence.hpp>
#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/errors.hpp>
#include <elaphos/impl/batched_propagator.hpp>
#include <elaphos/impl/check_views.hpp>
#include <elaphos/impl/input_arrays.hpp>
#include <elaphos/impl/lane_propagator.hpp>
#include <elaphos/impl/solve_segments.hpp>
#include <elaphos/impl/team_propagator.hpp>
#include <elaphos/inputs.hpp>
#include <elaphos/options.hpp>
#include <elaphos/recurrence.hpp>
#include <elaphos/report.hpp>
#include <elaphos/team_recurrence.hpp>
#include <elaphos/views.hpp>
#include <elaphos/warm_start.hpp>
#include <elaphos/workspace.hpp>

#include <string>
#include <type_traits>

namespace elaphos {

namespace impl {

// One overload a kind of recurrence: its sizes, and the propagator that advances its segments.

template <Recurrence R>
struct RecurrenceTraits {
  using scalar_type = typename R::scalar_type;
  static int state_size(const R&) { return R::state_size; }
  static int input_size(const R&) { return R::input_size; }

  template <class ExecutionSpace>
  static auto propagator(const ExecutionSpace&, const R& recurrence, Workspace<ExecutionSpace>&) {
    static_assert(parameter_size_of<R>() == 0,
                  "Elaphos: this recurrence has parameters; pass elaphos::bind_parameters(recurrence, parameters)");
    return LanePropagator<ExecutionSpace, R>(recurrence, nullptr);
  }
};

template <class R>
struct TraitsOf : RecurrenceTraits<R> {};

template <class R, class ParameterView>
struct TraitsOf<BoundRecurrence<R, ParameterView>> {
  using Bound = BoundRecurrence<R, ParameterView>;
  using scalar_type = typename R::scalar_type;
  static int state_size(const Bound&) { return R::state_size; }
  static int input_size(const Bound&) { return R::input_size; }

  template <class ExecutionSpace>
  static auto propagator(const ExecutionSpace&, const Bound& bound, Workspace<ExecutionSpace>&) {
    static_assert(ViewCheck<ExecutionSpace, scalar_type, 1, ParameterView>::passed);
    if (bound.parameters.extent(0) < static_cast<std::size_t>(R::parameter_size)) {
      throw InvalidArgument("parameters", std::to_string(bound.parameters.extent(0)) + " numbers",
                            "at least parameter_size = " + std::to_string(R::parameter_size));
    }
    return LanePropagator<ExecutionSpace, R>(bound.recurrence, bound.parameters.data());
  }
};

template <GatedCell Cell>
struct TraitsOf<Cell> {
  using scalar_type = typename Cell::scalar_type;
  static int state_size(const Cell& cell) { return cell.state_size(); }
  static int input_size(const Cell& cell) { return cell.input_size(); }

  template <class ExecutionSpace>
  static auto propagator(const ExecutionSpace& exec, const Cell& cell, Workspace<ExecutionSpace>& workspace) {
    static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename Cell::memory_space>::accessible,
                  "Elaphos: the execution space cannot reach this cell's weights; make the cell in the space's memory");
    return GatedPropagator<ExecutionSpace, typename Cell::gates, scalar_type>(exec, cell.weights(), cell.unit(),
                                                                                workspace);
  }
};

template <HasRunTimeSizes R>
struct TraitsOf<R> {
  using scalar_type = typename R::scalar_type;
  static int state_size(const R& recurrence) { return recurrence.state_size(); }
  static int input_size(const R& recurrence) { return recurrence.input_size(); }

  template <class ExecutionSpace>
  static auto propagator(const ExecutionSpace&, const R& recurrence, Workspace<ExecutionSpace>& workspace) {
    return BatchedPropagator<ExecutionSpace, R>(recurrence, workspace);
  }
};

template <TeamRecurrence R>
struct TraitsOf<R> {
  using scalar_type = typename R::scalar_type;
  static int state_size(const R& recurrence) { return recurrence.state_size(); }
  static int input_size(const R& recurrence) { return recurrence.input_size(); }

  template <class ExecutionSpace>
  static auto propagator(const ExecutionSpace&, const R& recurrence, Workspace<ExecutionSpace>&) {
    return TeamPropagator<ExecutionSpace, R>(recurrence);
  }
};

// Checks at the door: types when the caller's code is compiled, shapes when it runs.
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
auto problem_of(const R& recurrence, const InitialView& y0, const InputView& x, const OutputView& y,
                const SolveOptions& options) {
  using Traits = TraitsOf<R>;
  using Scalar = typename Traits::scalar_type;
  static_assert(Kokkos::is_execution_space<ExecutionSpace>::value,
                "Elaphos: the first argument of solve is an execution space instance");
  static_assert(ViewCheck<ExecutionSpace, Scalar, 2, InitialView>::passed);
  static_assert(InputCheck<ExecutionSpace, Scalar, InputView>::passed);
  static_assert(ViewCheck<ExecutionSpace, Scalar, 3, OutputView>::passed);
  static_assert(!std::is_const_v<typename OutputView::value_type>, "Elaphos: y is written: its View must not be const");
  const int state_size = Traits::state_size(recurrence);
  const int input_size = Traits::input_size(recurrence);
  const InputArrays arrays = as_inputs(x).arrays();
  const std::int64_t steps =
      check_problem_shapes(shape_of("y0", y0), arrays, shape_of("y", y), state_size, input_size, options);
  return Problem<Scalar>{y0.data(),
                         input_blocks<Scalar>(arrays),
                         y.data(),
                         0,
                         steps,
                         static_cast<std::int64_t>(y.extent(1)),
                         state_size,
                         time_division<Scalar>(arrays, y0.data())};
}

template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
SolveReport solve_views(
    const ExecutionSpace& exec, const R& recurrence, const InitialView& y0, const InputView& x, const OutputView& y,
    const SolveOptions& options, Workspace<ExecutionSpace>& workspace,
    std::type_identity_t<WarmStart<ExecutionSpace, typename TraitsOf<R>::scalar_type>*> warm_start) {
  using Traits = TraitsOf<R>;
  check_options(options);
  const auto problem = problem_of<ExecutionSpace>(recurrence, y0, x, y, options);
  const auto propagator = Traits::propagator(exec, recurrence, workspace);
  return solve_segments<ExecutionSpace, typename Traits::scalar_type>(exec, propagator, problem, options, workspace,
                                                                      warm_start);
}

}  // namespace impl

/// \brief What the planner needs to know, for `make_plan` and `explain`, of T steps of B sequences.
template <class ExecutionSpace, class R>
PlanRequest plan_request(const ExecutionSpace& exec, const R& recurrence, std::int64_t steps, std::int64_t batch) {
  Workspace<ExecutionSpace> workspace;
  const auto propagator = impl::TraitsOf<R>::propagator(exec, recurrence, workspace);
  return impl::request_of(exec, propagator, steps, batch, impl::TraitsOf<R>::state_size(recurrence));
}

/// \brief Evaluates y_t = f(y_{t-1}, x_t), t = 1..T, for B sequences, in parallel over time.
///
/// Cuts time into segments, propagates all of them at once from guessed entry states (nodes), corrects the nodes by
/// Newton's method (one step per segment with dense sensitivities is DEER, Lim et al., ICLR 2024) and repeats where a
/// node moved, until segments meet their stored trajectories. With `Merge::exact`, the default, the answer has the bits
/// of the sequential loop on the same execution space.
///
/// \param exec        runs all kernels; it is waited for (nothing else is) before the report is returned
/// \param recurrence  a library cell, a user's `Recurrence`, `bind_parameters(recurrence, p)`, a `TeamRecurrence`
///                    or a `BatchedRecurrence`
/// \param y0          initial states (B, D)
/// \param x           inputs (T, B, I), empty for a recurrence without inputs; or `inputs(...)`: features in several Views,
///                    packed or masked sequences, resets
/// \param y           output (T, B, D), or fewer states with `options.keep_every`; must not overlap x or y0. T = 0 is a
///                    valid empty solve
/// \param workspace   memory to reuse; one per solve in flight
/// \return what was done and how far to trust it; running out of iterations is a status, not an exception
/// \throws InvalidArgument for shapes, options or overlaps that make no sense, before anything is written
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
SolveReport solve(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0, const InputView& x,
                  const OutputView& y, const SolveOptions& options, Workspace<ExecutionSpace>& workspace) {
  return impl::solve_views(exec, recurrence, y0, x, y, options, workspace, nullptr);
}

/// \brief The same from the nodes of the solve before, which it replaces by its own.
///
/// \param warm_start  of the recurrence's scalar; empty at first. Comes before `options.initial_guess`
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView, class Scalar>
SolveReport solve(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0, const InputView& x,
                  const OutputView& y, const SolveOptions& options, Workspace<ExecutionSpace>& workspace,
                  WarmStart<ExecutionSpace, Scalar>& warm_start) {
  static_assert(std::is_same_v<Scalar, typename impl::TraitsOf<R>::scalar_type>,
                "Elaphos: the warm start must have the recurrence's scalar");
  return impl::solve_views(exec, recurrence, y0, x, y, options, workspace, &warm_start);
}

/// \brief The same with a workspace of its own: allocates and frees in every call.
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
SolveReport solve(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0, const InputView& x,
                  const OutputView& y, const SolveOptions& options = {}) {
  Workspace<ExecutionSpace> workspace;
  return solve(exec, recurrence, y0, x, y, options, workspace);
}

/// \brief The sequential loop: one segment per sequence, the same compiled step. Bitwise what an exact solve gives.
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
SolveReport solve_sequentially(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0,
                               const InputView& x, const OutputView& y, Workspace<ExecutionSpace>& workspace) {
  SolveOptions options;
  options.segments = 1;
  return solve(exec, recurrence, y0, x, y, options, workspace);
}

/// \brief The same with a workspace of its own.
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
SolveReport solve_sequentially(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0,
                               const InputView& x, const OutputView& y) {
  Workspace<ExecutionSpace> workspace;
  return solve_sequentially(exec, recurrence, y0, x, y, workspace);
}

}  // namespace elaphos

#endif
