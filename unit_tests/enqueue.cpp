// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves that are launched and not waited for: the same bits, and the report on the device says what `solve` would.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/rings.hpp"
#include "support/systems.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>
#include <vector>

namespace {

using elaphos::AtLimit;
using elaphos::Merge;
using elaphos::Method;
using elaphos::QueuedReport;
using elaphos::SolveOptions;
using elaphos::SolveStatus;
using test::Exec;
using test::Memory;

using ReportView = Kokkos::View<QueuedReport, Memory>;

QueuedReport read(const ReportView& view) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view)();
}

/// y and the report of an enqueued solve, after a fence of its instance; y is poisoned first.
template <class R, class InitialView, class InputView, class OutputView>
QueuedReport enqueue_and_wait(const R& recurrence, const InitialView& y0, const InputView& x, const OutputView& y,
                              const SolveOptions& options) {
  const Exec exec;
  elaphos::Workspace<Exec> workspace;
  const ReportView report("test::report");
  Kokkos::deep_copy(y, typename OutputView::value_type(NAN));
  elaphos::enqueue_solve(exec, recurrence, y0, x, y, report, options, workspace);
  exec.fence();
  return read(report);
}

void check_alike(const QueuedReport& queued, const elaphos::SolveReport& waited) {
  CHECK(queued.status == waited.status);
  CHECK(queued.iterations == waited.iterations());
  CHECK(queued.steps_evaluated == static_cast<std::int64_t>(waited.work_factor() * double(waited.total_steps) + 0.5));
  CHECK(queued.critical_path == waited.critical_path());
  CHECK(queued.completion_steps == waited.completion_steps);
  CHECK(queued.max_residual == waited.max_residual);
  CHECK(queued.error_estimate == waited.error_estimate);
  CHECK(queued.converged() == waited.converged());
}

template <class Scalar>
void check_cell(test::CellKind kind, int D, std::int64_t T, std::int64_t B, SolveOptions options) {
  CAPTURE(D, T, B, options.segments, to_string(options.method), to_string(options.merge), options.max_iterations);
  auto problem = test::random_problem<Scalar>(kind, D, 2, T, B, 5);
  options.stop_when_stalled = false;  // an enqueued solve does not look for it
  const elaphos::SolveReport waited = problem.solve(options);
  const auto expected = test::to_host(problem.y);
  const auto weights = test::weights_on_device<Scalar>(problem.layer);
  const QueuedReport queued =
      kind == test::CellKind::gru
          ? enqueue_and_wait(elaphos::Gru(weights), problem.y0, problem.x, problem.y, options)
          : enqueue_and_wait(elaphos::Elman(weights), problem.y0, problem.x, problem.y, options);
  check_alike(queued, waited);
  CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
}

/// The logistic map at r from 0.3: the loop's bits, and what is left of them.
struct Logistic {
  elaphos::StateView<double, Memory> y0{"test::y0", 1, 1};
  elaphos::SequenceView<double, Memory> nothing, y;
  elaphos::VectorView<double, Memory> r{"test::r", 1};
  std::vector<double> loop;

  Logistic(double rate, std::size_t T) : y("test::y", T, 1, 1) {
    Kokkos::deep_copy(y0, 0.3);
    Kokkos::deep_copy(r, rate);
    elaphos::solve_sequentially(Exec(), elaphos::bind_parameters(test::LogisticMap{}, r), y0, nothing, y);
    loop = test::to_host(y);
  }

  QueuedReport enqueue(const SolveOptions& options) const {
    return enqueue_and_wait(elaphos::bind_parameters(test::LogisticMap{}, r), y0, nothing, y, options);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("enqueue: bits and report are those of a solve that waits", "", float, double) {
  for (const auto kind : {test::CellKind::elman, test::CellKind::gru}) {
    for (const std::int64_t T : {1, 2, 700}) {
      for (const std::int64_t segments : {1, 2, 20}) {
        SolveOptions options;
        options.segments = segments;
        options.max_iterations = 5;
        check_cell<TestType>(kind, 3, T, 3, options);
      }
    }
  }
}

TEST_CASE("enqueue: every method and merge, enough passes and too few") {
  for (const Method method : {Method::newton, Method::quasi_newton, Method::jacobi}) {
    for (const Merge merge : {Merge::exact, Merge::tolerance}) {
      // A tolerance cannot be judged without sensitivities; a solve that waits then takes to others.
      if (method == Method::jacobi && merge == Merge::tolerance) continue;
      for (const int limit : {1, 2, 40}) {
        SolveOptions options;
        options.segments = 35;
        options.method = method;
        options.merge = merge;
        options.max_iterations = limit;
        check_cell<double>(test::CellKind::gru, 5, 700, 2, options);
      }
    }
  }
}

TEST_CASE("enqueue: a team's step") {
  const auto x = test::to_device<elaphos::SequenceView<double, Memory>>(std::vector<double>(2 * 500 * 2, 0.25), 500, 2, 2);
  const elaphos::StateView<double, Memory> y0("test::y0", 2, 7);
  const elaphos::SequenceView<double, Memory> y("test::y", 500, 2, 7);
  const test::TeamRing<double> ring{7, 2};
  elaphos::solve_sequentially(Exec(), ring, y0, x, y);
  const auto expected = test::to_host(y);
  SolveOptions options;
  options.segments = 4;
  const QueuedReport report = enqueue_and_wait(ring, y0, x, y, options);
  CHECK(report.status == SolveStatus::converged);
  CHECK(test::different_bits(test::to_host(y), expected) == 0);
}

TEST_CASE("enqueue: chaos is completed by the loop, or reported") {
  const Logistic chaos(4, 1000);
  SolveOptions options;
  options.segments = 50;
  options.max_iterations = 3;
  options.verify = true;
  const QueuedReport completed = chaos.enqueue(options);
  CHECK(completed.status == SolveStatus::completed_sequentially);
  CHECK(completed.iterations == 3);
  CHECK(completed.completion_steps == 1000 - 3 * 20);
  CHECK(completed.max_residual == 0);
  CHECK(completed.verified_residual == 0);
  CHECK(test::different_bits(test::to_host(chaos.y), chaos.loop) == 0);

  options.at_limit = AtLimit::return_iterate;
  const QueuedReport left = chaos.enqueue(options);
  CHECK(left.status == SolveStatus::iteration_limit);
  CHECK_FALSE(left.converged());
  CHECK(left.max_residual > 0.01);
  CHECK(left.verified_residual > 0.01);
  CHECK(test::different_bits(test::to_host(chaos.y), chaos.loop) > 0);
}

TEST_CASE("enqueue: passes that are not needed do nothing") {
  const Logistic settled(2.5, 4000);
  SolveOptions few, many;
  few.segments = many.segments = 8;
  few.max_iterations = 4;
  many.max_iterations = 60;
  for (const Merge merge : {Merge::exact, Merge::tolerance}) {
    few.merge = many.merge = merge;
    if (merge == Merge::tolerance) few.method = many.method = Method::newton;
    CAPTURE(to_string(merge));
    const QueuedReport one = settled.enqueue(few);
    const auto expected = test::to_host(settled.y);
    const QueuedReport other = settled.enqueue(many);
    CHECK(one.converged());
    CHECK(one.iterations == other.iterations);
    CHECK(one.steps_evaluated == other.steps_evaluated);
    CHECK(one.max_residual == other.max_residual);
    CHECK(test::different_bits(test::to_host(settled.y), expected) == 0);
  }
}

TEST_CASE("enqueue: the first number that is not finite is named") {
  auto problem = test::random_problem<double>(test::CellKind::gru, 3, 2, 300, 4, 8);
  auto x = problem.x_host;
  x[static_cast<std::size_t>((123 * 4 + 2) * 2)] = NAN;
  problem.x = test::to_device<elaphos::SequenceView<double, Memory>>(x, 300, 4, 2);
  SolveOptions options;
  options.segments = 10;
  const QueuedReport report = enqueue_and_wait(elaphos::Gru(test::weights_on_device<double>(problem.layer)), problem.y0,
                                               problem.x, problem.y, options);
  CHECK(report.converged());
  CHECK(report.first_non_finite.t == 123);
  CHECK(report.first_non_finite.b == 2);
}

TEST_CASE("enqueue: nothing to solve is converged") {
  const elaphos::StateView<double, Memory> y0("test::y0", 2, 3), no_y0("test::y0", 0, 3);
  const elaphos::SequenceView<double, Memory> x("test::x", 0, 2, 3), y("test::y", 0, 2, 3);
  CHECK(enqueue_and_wait(test::AlternatingSigns{}, y0, x, y, {}).status == SolveStatus::converged);
  const elaphos::SequenceView<double, Memory> no_x("test::x", 5, 0, 3), no_y("test::y", 5, 0, 3);
  const QueuedReport report = enqueue_and_wait(test::AlternatingSigns{}, no_y0, no_x, no_y, {});
  CHECK(report.status == SolveStatus::converged);
  CHECK(report.iterations == 0);
  CHECK(report.first_non_finite.t == -1);
}

TEST_CASE("enqueue: solves follow one another on an instance, and other instances do not mind") {
  const auto instances = Kokkos::Experimental::partition_space(Exec(), 1, 1);
  std::vector<test::LayerProblem<float>> problems;
  std::vector<elaphos::Workspace<Exec>> workspaces(4);
  std::vector<ReportView> reports;
  SolveOptions options;
  options.segments = 12;
  options.max_iterations = 4;
  for (std::size_t i = 0; i < 4; ++i) {
    problems.push_back(test::random_problem<float>(test::CellKind::gru, 5, 2, 900, 2, 40 + i));
    reports.emplace_back("test::report");
    const auto& [problem, weights] = std::pair(problems[i], test::weights_on_device<float>(problems[i].layer));
    Kokkos::fence();
    elaphos::enqueue_solve(instances[i % 2], elaphos::Gru(weights), problem.y0, problem.x, problem.y, reports[i], options,
                           workspaces[i]);
  }
  Kokkos::fence();
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(read(reports[i]).converged());
    const auto parallel = test::to_host(problems[i].y);
    CHECK(test::different_bits(parallel, problems[i].sequential()) == 0);
  }
}

TEST_CASE("enqueue: what takes a host that waits is refused before anything is written") {
  const Logistic map(2.5, 100);
  const auto refuse = [&](const std::string& name, const SolveOptions& options) {
    CAPTURE(name);
    CHECK_THROWS_MATCHES(map.enqueue(options), elaphos::InvalidArgument,
                         Catch::Matchers::MessageMatches(Catch::Matchers::ContainsSubstring(name)));
    CHECK(std::isnan(test::to_host(map.y).front()));
  };
  SolveOptions options;
  options.method = Method::levenberg_marquardt;
  refuse("options.method", options);
  options = {};
  options.at_limit = AtLimit::throw_exception;
  refuse("options.at_limit", options);
  options = {};
  options.sensitivity_limit = 10;
  refuse("options.sensitivity_limit", options);
  options = {};
  options.window_steps = 10;
  refuse("options.window_steps", options);
  options = {};
  options.observer = [](const elaphos::SolveReport&) { return true; };
  refuse("options.observer", options);
  options = {};
  options.estimate_growth = true;
  refuse("options.estimate_growth", options);
  options = {};
  options.measure_time = true;
  refuse("options.measure_time", options);
  options = {};
  options.max_iterations = 0;
  refuse("options.max_iterations", options);
}
