// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_SOLVE_WINDOWS_HPP
#define ELAPHOS_SRC_SOLVER_SOLVE_WINDOWS_HPP

#include "segment_solver.hpp"

#include <elaphos/errors.hpp>

#include <algorithm>
#include <string>

namespace elaphos::impl {

/// Keeps rows of a window's trajectory, and its last state, from which the next window starts. One word in and one out
/// for each number kept.
template <class Scalar>
struct KeepRows {
  const Scalar* trajectory;  // (window, B, D)
  Scalar* kept;              // (ceil(T / every), B, D)
  Scalar* entry;             // (B, D)
  std::int64_t numbers;      // B D
  std::int64_t every, begin, end, steps;
  std::int64_t first_row;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = first_row + index / numbers, number = index % numbers;
    std::int64_t t = (row + 1) * every;
    if (t > steps) t = steps;
    if (t > begin && t <= end) {
      kept[row * numbers + number] = trajectory[(t - 1 - begin) * numbers + number];
    }
    if (row == first_row) entry[number] = trajectory[(end - 1 - begin) * numbers + number];
  }
};

/// Solves window after window, each from the last state of the one before; memory does not grow with T.
template <class ExecutionSpace, class Scalar>
class WindowSolver {
 public:
  WindowSolver(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
               const Problem<Scalar>& problem, const SolveOptions& options, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_propagator(propagator), m_problem(problem), m_options(options), m_workspace(workspace) {
    const std::int64_t wanted = options.window_steps > 0 ? options.window_steps : default_window();
    m_window = std::min(wanted, problem.steps);
    m_numbers = problem.batch * problem.state_size;
    if (options.observer) {
      m_options.observer = [this, &options](const SolveReport& so_far) { return m_go_on = options.observer(so_far); };
    }
    if (options.keep_every == 1) return;
    const std::size_t numbers = static_cast<std::size_t>(m_numbers);
    m_trajectory =
        workspace.template reserve<Scalar>(exec, Buffer::trajectory, static_cast<std::size_t>(m_window) * numbers);
    m_entry = workspace.template reserve<Scalar>(exec, Buffer::window_entry, numbers);
  }

  SolveReport run() {
    SolveReport all;
    all.windows = 0;
    for (std::int64_t begin = 0; begin < m_problem.steps; begin += m_window) {
      const Problem<Scalar> window = window_from(begin);
      append(all, solve_at_once<ExecutionSpace, Scalar>(m_exec, m_propagator, window, m_options, m_workspace, nullptr),
             begin);
      if (m_trajectory != nullptr) keep(begin, begin + window.steps);
      // Its last answer counts also where a window had just ended well: there are others to come.
      if (!m_go_on && begin + window.steps < m_problem.steps) all.status = SolveStatus::stopped;
      if (all.status == SolveStatus::stopped) break;
    }
    m_exec.fence("Elaphos::end_of_windows");
    return all;
  }

 private:
  // Room enough for many segments of useful length, and never more than some hundred megabytes.
  std::int64_t default_window() const {
    constexpr std::int64_t most_numbers = std::int64_t(1) << 26, least = 1024;
    const std::int64_t useful = std::max<std::int64_t>(65'536, 1024 * m_propagator.parallel_workers(m_exec));
    const std::int64_t room = most_numbers / std::max<std::int64_t>(1, m_problem.batch * m_problem.state_size);
    return std::max(least, std::min(useful, room));
  }

  Problem<Scalar> window_from(std::int64_t begin) const {
    Problem<Scalar> window = m_problem;
    window.first_step += begin;
    window.steps = std::min(m_window, m_problem.steps - begin);
    window.inputs = m_problem.inputs.from(begin * m_problem.batch);
    window.y = m_trajectory != nullptr ? m_trajectory : m_problem.y + begin * m_numbers;
    if (begin > 0) window.y0 = m_trajectory != nullptr ? m_entry : window.y - m_numbers;
    return window;
  }

  void keep(std::int64_t begin, std::int64_t end) {
    const std::int64_t first_row = begin / m_options.keep_every, rows = (end - 1) / m_options.keep_every - first_row + 1;
    Kokkos::parallel_for("Elaphos::keep_rows",
                         Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(m_exec, 0,
                                                                                             rows * m_numbers),
                         KeepRows<Scalar>{m_trajectory, m_problem.y, m_entry, m_numbers, m_options.keep_every, begin, end,
                                          m_problem.steps, first_row});
  }

  static void append(SolveReport& all, SolveReport window, std::int64_t begin) {
    if (all.windows == 0) all.plan = window.plan;
    ++all.windows;
    all.status = std::max(all.status, window.status);
    all.passes.insert(all.passes.end(), window.passes.begin(), window.passes.end());
    for (Escalation& to : window.escalations) to.after += static_cast<int>(all.passes.size() - window.passes.size());
    all.escalations.insert(all.escalations.end(), window.escalations.begin(), window.escalations.end());
    all.steps += window.steps;
    all.total_steps += window.total_steps;
    all.stalled = all.stalled || window.stalled;
    all.completion_steps += window.completion_steps;
    all.longest_completion += window.longest_completion;
    all.clamped += window.clamped;
    all.clipped += window.clipped;
    all.max_residual = std::max(all.max_residual, window.max_residual);
    all.error_estimate = std::max(all.error_estimate, window.error_estimate);
    if (window.verified_residual) {
      all.verified_residual = std::max(all.verified_residual.value_or(0), *window.verified_residual);
    }
    if (window.growth_rate) {
      // Windows count by their length; what one does not know is not made up.
      const double before = static_cast<double>(all.steps - window.steps), now = static_cast<double>(window.steps);
      if (begin == 0 || all.growth_rate) {
        all.growth_rate = (all.growth_rate.value_or(0) * before + *window.growth_rate * now) / (before + now);
      }
    } else {
      all.growth_rate.reset();
    }
    if (window.first_non_finite && !all.first_non_finite) {
      all.first_non_finite = NonFinite{window.first_non_finite->t + begin, window.first_non_finite->b};
    }
    if (window.seconds) {
      PhaseSeconds sum = all.seconds.value_or(PhaseSeconds{});
      for (const auto phase :
           {&PhaseSeconds::propagate, &PhaseSeconds::correct, &PhaseSeconds::complete, &PhaseSeconds::verify}) {
        sum.*phase += *window.seconds.*phase;
      }
      all.seconds = sum;
    }
  }

  const ExecutionSpace& m_exec;
  const Propagator<ExecutionSpace, Scalar>& m_propagator;
  const Problem<Scalar>& m_problem;
  SolveOptions m_options;  // a window's
  Workspace<ExecutionSpace>& m_workspace;
  bool m_go_on = true;
  std::int64_t m_window = 1;
  std::int64_t m_numbers = 1;
  Scalar* m_trajectory = nullptr;  // (window, B, D), where not all states are kept
  Scalar* m_entry = nullptr;       // (B, D)
};

template <class ExecutionSpace, class Scalar>
SolveReport solve_segments(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                           const Problem<Scalar>& problem, const SolveOptions& options,
                           Workspace<ExecutionSpace>& workspace, WarmStart<ExecutionSpace, Scalar>* warm_start) {
  const bool windows = (options.window_steps > 0 && options.window_steps < problem.steps) || options.keep_every > 1;
  if (windows && warm_start != nullptr) {
    throw InvalidArgument("warm_start", "given to a solve by windows", "none, or all steps at once and kept");
  }
  SolveReport report =
      windows && problem.steps > 0 && problem.batch > 0
          ? WindowSolver<ExecutionSpace, Scalar>(exec, propagator, problem, options, workspace).run()
          : solve_at_once<ExecutionSpace, Scalar>(exec, propagator, problem, options, workspace, warm_start);
  if (options.at_limit == AtLimit::throw_exception && report.status == SolveStatus::iteration_limit) {
    throw NotConverged(std::move(report));
  }
  return report;
}

}  // namespace elaphos::impl

#endif
