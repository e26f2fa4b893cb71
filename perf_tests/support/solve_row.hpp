// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_SOLVE_ROW_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_SOLVE_ROW_HPP

#include "data.hpp"
#include "session.hpp"
#include "timing.hpp"

#include <elaphos/elaphos.hpp>

#include <benchmark/benchmark.h>

#include <string>

namespace perf {

/// One problem, ready to be solved as often as it takes.
template <class R>
struct SolveProblem {
  using Scalar = typename elaphos::impl::TraitsOf<R>::scalar_type;
  R recurrence;
  elaphos::StateView<Scalar, Memory> y0;
  elaphos::SequenceView<Scalar, Memory> x;
  std::int64_t T, B;
  int D;
  SweepModel sweep;
};

/// Measures a solve. Counters: `ns_per_step` (of T * B), `work_factor`, `passes`, `over_loop` (how many times faster than
/// the sequential loop, timed once in the same repetition), `floor_ms` and `over_floor`. The label says what the floor
/// is bound by and how the solve ended. An exact answer that is not the loop's, bit for bit, is an error.
template <class R>
void measure_solve(benchmark::State& state, Session& session, const SolveProblem<R>& problem,
                   const elaphos::SolveOptions& options) {
  using Scalar = typename SolveProblem<R>::Scalar;
  const Exec exec;
  elaphos::Workspace<Exec> workspace;
  // Written once before anything is timed, so that all pages are there.
  const elaphos::SequenceView<Scalar, Memory> y("perf::y", std::size_t(problem.T), std::size_t(problem.B),
                                                std::size_t(problem.D)),
      y_loop("perf::y_loop", std::size_t(problem.T), std::size_t(problem.B), std::size_t(problem.D));
  elaphos::SolveReport report;
  const auto solve = [&] {
    report = elaphos::solve(exec, problem.recurrence, problem.y0, problem.x, y, options, workspace);
  };
  const auto loop = [&] {
    elaphos::solve_sequentially(exec, problem.recurrence, problem.y0, problem.x, y_loop, workspace);
  };
  solve();  // warms up: the loop runs the same kernels
  const double loop_seconds = seconds_of(exec, loop);
  const double seconds = mean_seconds(state, exec, solve);

  const double difference = largest_difference(y, y_loop);
  if (!report.converged()) return state.SkipWithError("not converged: " + to_string(report.status));
  if (report.plan.merge == elaphos::Merge::exact && difference != 0) {
    return state.SkipWithError("exact, but off by " + std::to_string(difference));
  }
  const Floor floor = session.ceilings.floor<Scalar>(problem.sweep);
  const double steps = static_cast<double>(problem.T) * static_cast<double>(problem.B);
  state.counters["ns_per_step"] = seconds / steps * 1e9;
  state.counters["work_factor"] = report.work_factor();
  state.counters["passes"] = report.iterations();
  state.counters["over_loop"] = loop_seconds / seconds;
  state.counters["floor_ms"] = floor.seconds * 1e3;
  state.counters["over_floor"] = seconds / floor.seconds;
  state.SetLabel("floor: " + floor.bound_by + "; " + to_string(report.status) + ", " +
                 to_string(report.plan.sensitivity) + ", N = " + std::to_string(report.plan.segments));
}

/// Registers a row: its problem is made anew in each repetition by `make_problem(session)`.
template <class MakeProblem>
void add_solve_row(Session& session, const std::string& name, const elaphos::SolveOptions& options,
                   const MakeProblem& make_problem) {
  benchmark::RegisterBenchmark(name,
                               [&session, options, make_problem](benchmark::State& state) {
                                 measure_solve(state, session, make_problem(session), options);
                               })
      ->UseManualTime()
      ->Unit(benchmark::kMillisecond)
      ->Iterations(5);
}

}  // namespace perf

#endif
