// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a caller has in hand besides the plan: where a solve starts from, when it stops, and how it reports.
#include "support/layers.hpp"
#include "support/systems.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using elaphos::InitialGuess;
using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using elaphos::SolveStatus;
using test::Exec;
using test::LayerProblem;

SolveOptions in_segments(std::int64_t segments) {
  SolveOptions options;
  options.segments = segments;
  return options;
}

/// Solves with what is in `problem.y` at that time, unlike LayerProblem::solve.
template <class Scalar, class... More>
SolveReport solve_from_there(const LayerProblem<Scalar>& problem, const SolveOptions& options, More&... more) {
  return elaphos::solve(Exec(), elaphos::Gru(test::weights_on_device<Scalar>(problem.layer)), problem.y0, problem.x,
                        problem.y, options, more...);
}

}  // namespace

TEMPLATE_TEST_CASE("steering: the answer does not depend on the guess, the passes do", "", float, double) {
  auto problem = test::random_problem<TestType>(test::CellKind::gru, 5, 2, 3000, 2, 41);
  const std::vector<TestType> expected = problem.sequential();
  SolveOptions options = in_segments(8);

  options.initial_guess = InitialGuess::trajectory;
  SolveReport report = solve_from_there(problem, options);
  CHECK(report.iterations() == 1);
  CHECK(report.work_factor() == 1);
  CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);

  for (const InitialGuess guess : {InitialGuess::initial_state, InitialGuess::zeros, InitialGuess::trajectory}) {
    for (const TestType before : {TestType(0.1), TestType(1e30), TestType(NAN), TestType(INFINITY)}) {
      CAPTURE(to_string(guess), before);
      Kokkos::deep_copy(problem.y, before);
      options.initial_guess = guess;
      report = solve_from_there(problem, options);
      CHECK(report.converged());
      CHECK(report.iterations() > 1);
      CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("steering: a warm start", "", float, double) {
  auto problem = test::random_problem<TestType>(test::CellKind::gru, 5, 2, 3000, 2, 43);
  const std::vector<TestType> expected = problem.sequential();
  const auto check = [&expected](const LayerProblem<TestType>& solved, const SolveReport& report) {
    CHECK(report.converged());
    CHECK(test::different_bits(test::to_host(solved.y), expected) == 0);
  };
  elaphos::Workspace<Exec> workspace;
  elaphos::WarmStart<Exec, TestType> nodes;
  CHECK(nodes.empty());
  const SolveReport cold = solve_from_there(problem, in_segments(8), workspace, nodes);
  check(problem, cold);
  CHECK(cold.iterations() > 1);
  CHECK(nodes.bytes() == sizeof(TestType) * 8 * 2 * 5);

  // The same problem: right at once.
  SolveReport report = solve_from_there(problem, in_segments(8), workspace, nodes);
  check(problem, report);
  CHECK(report.iterations() == 1);
  CHECK(report.work_factor() == 1);

  // Time cut otherwise: guesses from near by, bits as ever.
  for (const std::int64_t segments : {1, 3, 16, 3000, 8}) {
    CAPTURE(segments);
    check(problem, solve_from_there(problem, in_segments(segments), workspace, nodes));
  }

  // Weights that have moved a little need no more passes than from a cold start, with a tolerance fewer.
  auto moved = problem;
  for (double& weight : moved.layer.w_hh) weight += 1e-7;
  SolveOptions tolerant = in_segments(8);
  tolerant.merge = Merge::tolerance;
  tolerant.method = Method::newton;
  const SolveReport from_cold = solve_from_there(moved, tolerant);
  const SolveReport from_warm = solve_from_there(moved, tolerant, workspace, nodes);
  CHECK(from_warm.converged());
  CHECK(from_warm.iterations() < from_cold.iterations());

  // Another batch: cold, and right.
  auto other = test::random_problem<TestType>(test::CellKind::gru, 5, 2, 3000, 3, 47);
  const std::vector<TestType> other_expected = other.sequential();
  report = solve_from_there(other, in_segments(8), workspace, nodes);
  CHECK(test::different_bits(test::to_host(other.y), other_expected) == 0);
  nodes.clear();
  CHECK(nodes.empty());
  CHECK(nodes.bytes() == 0);
}

TEST_CASE("steering: iterates go on from where they were left") {
  // One pass a call: the nodes' corrections are kept, so that calls add up to the solve that takes several.
  auto problem = test::random_problem<double>(test::CellKind::gru, 4, 2, 2000, 2, 67, 2.0);
  SolveOptions options = in_segments(40);
  options.merge = Merge::tolerance;
  options.method = Method::newton;
  options.at_limit = elaphos::AtLimit::return_iterate;
  const SolveReport at_once = solve_from_there(problem, options);
  REQUIRE(at_once.converged());
  options.max_iterations = 1;
  elaphos::Workspace<Exec> workspace;
  elaphos::WarmStart<Exec, double> nodes;
  int calls = 1;
  while (!solve_from_there(problem, options, workspace, nodes).converged() && calls < 50) ++calls;
  CHECK(calls <= at_once.iterations() + 2);  // without a past no segment can merge
}

TEST_CASE("steering: a warm start from an answer that is not finite") {
  // Blows up in finite time: y' = y^2 + x / 2.
  test::System<test::Riccati> system{{}, 64, 1, {0}, std::vector<double>(64, 4.0), {}};
  const std::vector<double> expected = system.sequential();
  REQUIRE(!std::isfinite(expected.back()));
  const auto y0 = test::to_device<elaphos::StateView<double, test::Memory>>(system.y0, 1, 1);
  const auto x = test::to_device<elaphos::SequenceView<double, test::Memory>>(system.x, 64, 1, 1);
  const elaphos::SequenceView<double, test::Memory> y("test::y", 64, 1, 1);
  elaphos::Workspace<Exec> workspace;
  elaphos::WarmStart<Exec, double> nodes;
  for (int repetition = 0; repetition < 3; ++repetition) {
    elaphos::solve(Exec(), system.recurrence, y0, x, y, in_segments(8), workspace, nodes);
    CHECK(test::different_bits(test::to_host(y), expected) == 0);
  }
}

TEST_CASE("steering: an observer sees every pass and may stop the solve") {
  // Chaotic: without the loop's help it takes as many passes as segments.
  test::System<test::LogisticMap> system{{}, 2000, 1, {0.3}, {}, {4.0}};
  const std::vector<double> expected = system.sequential();
  SolveOptions options = in_segments(20);
  options.stop_when_stalled = false;
  options.verify = true;
  std::vector<std::size_t> seen;
  bool early = false;
  options.observer = [&seen, &early](const SolveReport& so_far) {
    seen.push_back(so_far.passes.size());
    early = early || so_far.converged() != (so_far.max_residual == 0);
    return !so_far.converged();
  };
  SolveReport report = system.solve(options);
  CHECK(report.status == SolveStatus::converged);
  CHECK_FALSE(early);
  CHECK(test::different_bits(system.y, expected) == 0);
  REQUIRE(seen.size() == static_cast<std::size_t>(report.iterations()));
  for (std::size_t pass = 0; pass < seen.size(); ++pass) CHECK(seen[pass] == pass + 1);

  options.observer = [](const SolveReport& so_far) { return so_far.iterations() < 3; };
  report = system.solve(options);
  CHECK(report.status == SolveStatus::stopped);
  CHECK_FALSE(report.converged());
  CHECK(report.iterations() == 3);
  CHECK(report.max_residual > 0);
  CHECK(report.verified_residual > 0.0);

  // A stop that comes with the answer changes nothing, and one that comes with the limit is a stop.
  options.observer = [](const SolveReport& so_far) { return so_far.max_residual > 0; };
  CHECK(system.solve(options).status == SolveStatus::converged);
  options.max_iterations = 4;
  options.observer = [](const SolveReport& so_far) { return so_far.iterations() < 4; };
  report = system.solve(options);
  CHECK(report.status == SolveStatus::stopped);
  CHECK(report.completion_steps == 0);

  // Before a sequential completion nothing is settled.
  std::vector<SolveStatus> states;
  options.observer = [&states](const SolveReport& so_far) {
    states.push_back(so_far.status);
    return true;
  };
  report = system.solve(options);
  CHECK(report.status == SolveStatus::completed_sequentially);
  CHECK(states == std::vector<SolveStatus>(4, SolveStatus::running));
  CHECK(test::different_bits(system.y, expected) == 0);
}

TEST_CASE("steering: an observer that throws leaves a workspace that can be used") {
  auto problem = test::random_problem<double>(test::CellKind::gru, 5, 2, 3000, 2, 53);
  const std::vector<double> expected = problem.sequential();
  elaphos::Workspace<Exec> workspace;
  SolveOptions options = in_segments(16);
  for (const int when : {1, 2}) {
    options.observer = [when](const SolveReport& so_far) -> bool {
      if (so_far.iterations() == when) throw std::runtime_error("enough");
      return true;
    };
    CHECK_THROWS_AS(solve_from_there(problem, options, workspace), std::runtime_error);
  }
  options.observer = {};
  CHECK(solve_from_there(problem, options, workspace).converged());
  CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
}

TEST_CASE("steering: DEER as published") {
  const SolveOptions deer = elaphos::deer_defaults();
  auto problem = test::random_problem<double>(test::CellKind::gru, 4, 2, 1000, 2, 59);
  const std::vector<double> expected = problem.sequential();
  const SolveReport report = problem.solve(deer);
  CHECK(report.status == SolveStatus::converged);
  CHECK(report.clamped == 0);
  CHECK(test::largest_difference(test::to_host(problem.y), expected) < 1e-5);

  SECTION("tolerance: the largest change of any state, not relative to it") {
    CHECK(deer.tolerance->absolute == 1e-5);
    CHECK(deer.tolerance->relative == 0);
    REQUIRE(report.iterations() > 1);
    CHECK(report.passes.back().max_correction <= 1e-5);
    CHECK(report.passes[report.passes.size() - 2].max_correction > 1e-5);
    // The guess is off by 5e-5 at states of a thousand.
    test::System<test::LeakyIntegrator> large{{0.5}, 400, 1, {1000}, std::vector<double>(400, 1000.0), {}};
    for (std::size_t t = 0; t < large.x.size(); ++t) large.x[t] += 1e-4 * static_cast<double>(t % 2);
    CHECK(large.solve(deer).iterations() > 1);
  }
  SECTION("merge: steps are not bound to end in the loop's bits") {
    CHECK(deer.merge == Merge::tolerance);
    CHECK(report.plan.merge == Merge::tolerance);
    CHECK(test::different_bits(test::to_host(problem.y), expected) > 0);
  }
  SECTION("method: the whole Jacobian") {
    CHECK(deer.method == Method::newton);
    CHECK(report.plan.sensitivity == elaphos::Sensitivity::dense);
    CHECK_FALSE(report.plan.damped);
  }
  SECTION("steps_per_segment: one") {
    CHECK(deer.steps_per_segment == 1);
    CHECK(deer.segments == 0);
    CHECK(report.plan.segments == 1000);
  }
  SECTION("max_iterations: five") {
    CHECK(deer.max_iterations == 5);
    test::System<test::LogisticMap> chaos{{}, 300, 1, {0.3}, {}, {4.0}};
    CHECK(chaos.solve(deer).iterations() == 5);
  }
  SECTION("at_limit: the last iterate, whose residual says that it is wrong") {
    CHECK(deer.at_limit == elaphos::AtLimit::return_iterate);
    test::System<test::LogisticMap> chaos{{}, 300, 1, {0.3}, {}, {4.0}};
    const std::vector<double> loop = chaos.sequential();
    const SolveReport stopped = chaos.solve(deer);
    CHECK(stopped.status == SolveStatus::iteration_limit);
    CHECK_FALSE(stopped.converged());
    CHECK(stopped.completion_steps == 0);
    CHECK(stopped.max_residual > 1e-5);
    CHECK(test::different_bits(chaos.y, loop) > 0);
  }
  SECTION("sensitivity_limit: ten") {
    CHECK(deer.sensitivity_limit == 10);
    // The slope of y^2 + x / 2 is 2 y: 9.9 at the guess, then 10.1.
    for (const double start : {4.95, 5.05}) {
      test::System<test::Riccati> steep{{}, 10, 1, {start}, std::vector<double>(10, 2 * (start - start * start)), {}};
      CHECK(steep.solve(deer).clamped == (start < 5 ? 0 : 10));
    }
  }
  SECTION("all others are as in every solve") {
    const SolveOptions plain;
    CHECK(deer.correction_limit == plain.correction_limit);
    CHECK(deer.initial_guess == plain.initial_guess);
    CHECK(deer.window_steps == plain.window_steps);
    CHECK(deer.keep_every == plain.keep_every);
    CHECK(deer.steps == plain.steps);
    CHECK_FALSE(deer.observer);
    CHECK(deer.stop_when_stalled == plain.stop_when_stalled);
    CHECK_FALSE(deer.estimate_growth);
    CHECK_FALSE(deer.verify);
    CHECK_FALSE(deer.measure_time);
  }
}

TEST_CASE("steering: sensitivities are cut to a limit, counted, and the answer stays exact") {
  // y' = 2 y - 1 from 1: over 8 steps every sensitivity is 256.
  test::System<test::Doubling<double>> system{{}, 80, 3, {1, 1, 1}, {}, {}};
  const std::vector<double> expected = system.sequential();
  SolveOptions options = in_segments(10);
  for (const auto method : {Method::quasi_newton, Method::newton}) {
    options.method = method;
    options.sensitivity_limit = 256;
    SolveReport report = system.solve(options);
    CHECK(report.clamped == 0);
    options.sensitivity_limit = 100;
    report = system.solve(options);
    CHECK(report.clamped == 30);  // one pass: every guess, y_0, is right
    CHECK(report.iterations() == 1);
    CHECK(test::different_bits(system.y, expected) == 0);
  }
  for (const double wrong : {0.0, -1.0, double(NAN)}) {
    options.sensitivity_limit = wrong;
    CHECK_THROWS_AS(system.solve(options), elaphos::InvalidArgument);
  }

  // Cut to nearly nothing: slower, and right.
  auto problem = test::random_problem<double>(test::CellKind::gru, 3, 2, 500, 2, 61, 4.0);
  const std::vector<double> truth = problem.sequential();
  options = in_segments(50);
  options.method = Method::newton;
  options.sensitivity_limit = 1e-3;
  const SolveReport report = problem.solve(options);
  CHECK(report.clamped > 0);
  CHECK(report.converged());
  CHECK(test::different_bits(test::to_host(problem.y), truth) == 0);
}

TEST_CASE("steering: corrections are cut to a limit, counted, and do not pass for small errors") {
  // y' = y + 1 / 10 (x - y), one step a segment, from 0 towards 10: node n lacks the sum of all mismatches before it.
  test::System<test::LeakyIntegrator> slow{{0.1}, 100, 1, {0}, std::vector<double>(100, 10.0), {}};
  const std::vector<double> expected = slow.sequential();
  SolveOptions options = in_segments(100);
  options.method = Method::newton;
  SolveReport report = slow.solve(options);
  CHECK(report.clipped == 0);
  options.max_iterations = 1;
  options.at_limit = elaphos::AtLimit::return_iterate;
  options.correction_limit = 4;
  report = slow.solve(options);
  // Node n is 10 (1 - 0.9^n), 1 of it its predecessor's end: more than 4 is left from n = 7 on.
  CHECK(report.clipped == 99 - 6);
  options.max_iterations = 100;
  options.stop_when_stalled = false;
  report = slow.solve(options);
  CHECK(report.status == SolveStatus::converged);
  CHECK(test::different_bits(slow.y, expected) == 0);

  // Jumps and cut corrections are under the tolerance, the error is a thousand times over it.
  test::System<test::LeakyIntegrator> long_memory{{1e-7}, 20'000, 1, {0}, std::vector<double>(20'000, 1.0), {}};
  options = in_segments(20'000);
  options.method = Method::newton;
  options.merge = Merge::tolerance;
  options.at_limit = elaphos::AtLimit::return_iterate;
  options.correction_limit = 1e-7;
  options.max_iterations = 5;
  CHECK(long_memory.solve(options).status == SolveStatus::iteration_limit);

  for (const double wrong : {0.0, -1.0, double(NAN)}) {
    options.correction_limit = wrong;
    CHECK_THROWS_AS(slow.solve(options), elaphos::InvalidArgument);
  }
}

TEST_CASE("steering: a report as JSON") {
  SolveReport report;
  // All its members, and its passes'. A new one does not compile here: put it into the JSON below, and into this list.
  [[maybe_unused]] const auto& [status, plan, windows, passes, escalations, steps, total_steps, stalled,
                                completion_steps, longest_completion, clamped, clipped, max_residual,
                                error_estimate, verified_residual, growth_rate, first_non_finite,
                                seconds] = report;
  [[maybe_unused]] const auto& [active_segments, steps_of_pass, longest_run, max_correction] = elaphos::PassReport{};
  report.status = SolveStatus::completed_sequentially;
  report.stalled = true;
  report.plan = {4, 25, elaphos::Sensitivity::diagonal, false, Merge::tolerance};
  report.steps = 100;
  report.total_steps = 200;
  report.escalations = {{3, 4, elaphos::Sensitivity::dense, true}};
  report.passes = {{8, 150, 25, 0.5}, {3, 50, 20, std::numeric_limits<double>::infinity()}};
  report.completion_steps = 100;
  report.longest_completion = 50;
  report.clamped = 6;
  report.clipped = 9;
  report.max_residual = 1e-7;
  CHECK(to_json(report) ==
        R"({"status":"completed sequentially","stalled":true,"plan":{"segments":4,"steps_per_segment":25,)"
        R"("sensitivity":"diagonal","damped":false,"merge":"tolerance"},"windows":1,"iterations":2,"work_factor":1.5,"critical_path":95,)"
        R"("steps":100,"total_steps":200,"completion_steps":100,"longest_completion":50,"clamped":6,"clipped":9,"max_residual":1e-07,)"
        R"("error_estimate":0,"verified_residual":null,"growth_rate":null,"first_non_finite":null,"seconds":null,)"
        R"("escalations":[{"after":3,"segments":4,"sensitivity":"dense","damped":true}],)"
        R"("passes":[{"active_segments":8,"steps":150,"longest_run":25,"max_correction":0.5},)"
        R"({"active_segments":3,"steps":50,"longest_run":20,"max_correction":"inf"}]})");
  report.error_estimate = -std::numeric_limits<double>::quiet_NaN();
  CHECK(to_json(report).find(R"("error_estimate":"nan")") != std::string::npos);
  report.verified_residual = 0.25;
  report.first_non_finite = elaphos::NonFinite{7, 1};
  report.seconds = elaphos::PhaseSeconds{1, 2, 3, 4};
  CHECK(to_json(report).find(R"("verified_residual":0.25,"growth_rate":null,"first_non_finite":{"t":7,"b":1},)"
                             R"("seconds":{"propagate":1,"correct":2,"complete":3,"verify":4})") != std::string::npos);
}
