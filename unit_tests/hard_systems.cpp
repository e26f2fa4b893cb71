// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Systems that resist: chaos, long memories, blow-up. The answer is right, or the report says that it is not.
#include "support/cost.hpp"
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/systems.hpp"
#include "truth/systems.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <cmath>
#include <utility>
#include <vector>

namespace {

using elaphos::AtLimit;
using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using elaphos::SolveStatus;
using test::System;

/// Counts how often it is called.
struct CountedIntegrateAndFire : truth::IntegrateAndFire {
  std::int64_t* calls;
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto x, auto p, auto next) const {
    Kokkos::atomic_inc(calls);
    truth::IntegrateAndFire::step(at, y, x, p, next);
  }
};

}  // namespace

TEST_CASE("hard systems: growing errors do not spoil the answer") {
  // A tree scan in state form gives y[63] = 0 here.
  for (const std::int64_t T : {64, 257, 1000}) {
    for (const auto method : test::methods) {
      System<test::Doubling<double>> system{{}, T, 1, {1}, {}, {}};
      SolveOptions options;
      options.steps_per_segment = 1;
      options.method = method;
      options.verify = true;
      const SolveReport report = system.solve(options);
      CHECK(report.converged());
      CHECK(report.verified_residual == 0.0);
      CHECK(test::largest_difference(system.y, std::vector<double>(static_cast<std::size_t>(T), 1.0)) == 0);
    }
  }
}

TEST_CASE("hard systems: chaos is exact all the same, at the latest after as many passes as segments") {
  const double r = GENERATE(2.5, 3.7, 4.0);
  for (const auto& [T, steps_per_segment] : {std::pair<std::int64_t, std::int64_t>{64, 1}, {256, 1}, {1024, 8}}) {
    for (const auto method : test::methods) {
      for (const Merge merge : {Merge::exact, Merge::tolerance}) {
        CAPTURE(r, T, to_string(method), to_string(merge));
        System<test::LogisticMap> system{{}, T, 1, {0.3}, {}, {r}};
        const std::vector<double> sequential = system.sequential();
        // No multiply is followed by an add, so any compiler and any number of threads has these bits.
        CHECK(test::different_bits(sequential, test::host_loop(system.recurrence, T, 1, {0.3}, {}, {r})) == 0);
        SolveOptions options;
        options.steps_per_segment = steps_per_segment;
        options.method = method;
        options.merge = merge;
        options.max_iterations = 2000;
        options.stop_when_stalled = false;
        options.verify = true;
        const SolveReport report = system.solve(options);
        CHECK(report.status == SolveStatus::converged);
        CHECK(report.iterations() <= report.plan.segments);
        CHECK(report.verified_residual <= 2e-6);
        if (merge == Merge::exact) CHECK(test::different_bits(system.y, sequential) == 0);
      }
    }
  }
}

TEST_CASE("hard systems: the iteration limit is kept and said") {
  System<test::LogisticMap> system{{}, 4096, 1, {0.3}, {}, {4.0}};
  const std::vector<double> sequential = system.sequential();
  SolveOptions options;
  options.segments = 64;
  options.max_iterations = 3;
  options.stop_when_stalled = false;
  options.verify = true;
  const SolveReport completed = system.solve(options);
  CHECK(completed.status == SolveStatus::completed_sequentially);
  CHECK(completed.converged());
  CHECK_FALSE(completed.stalled);
  CHECK(completed.iterations() == 3);
  CHECK(completed.completion_steps > 0);
  CHECK(completed.completion_steps < 4096);
  CHECK(completed.verified_residual == 0.0);
  CHECK(test::different_bits(system.y, sequential) == 0);

  options.at_limit = AtLimit::return_iterate;
  const SolveReport stopped = system.solve(options);
  CHECK(stopped.status == SolveStatus::iteration_limit);
  CHECK_FALSE(stopped.converged());
  CHECK(stopped.max_residual > 1e-3);
  // The jump at a node, up to one step's growth, which is 4 at most here.
  CHECK(stopped.verified_residual.value() > 1e-3);
  CHECK(stopped.verified_residual.value() <= 4 * stopped.max_residual);
  CHECK(test::different_bits(system.y, sequential) > 0);
}

TEST_CASE("hard systems: passes that stop paying are given up for the loop") {
  // Chaos: only the frontier moves.
  System<test::LogisticMap> chaos{{}, 64'000, 1, {0.3}, {}, {4.0}};
  std::vector<double> sequential = chaos.sequential();
  SolveOptions options;
  options.segments = 64 * 1024;
  SolveReport report = chaos.solve(options);
  CHECK(report.status == SolveStatus::completed_sequentially);
  CHECK(report.stalled);
  CHECK(report.iterations() <= 3);
  CHECK(test::different_bits(chaos.y, sequential) == 0);

  // A wide state flickers in its last bits and never meets the stored trajectory.
  auto wide = test::random_problem<float>(test::CellKind::gru, 128, 1, 20'000, 1, 3);
  const std::vector<float> expected = wide.sequential();
  options.segments = 100;
  report = wide.solve(options);
  CHECK(report.status == SolveStatus::completed_sequentially);
  test::check_cost_without_gain(report);
  CHECK(test::different_bits(test::to_host(wide.y), expected) == 0);

  // Patience all the same where passes still gain.
  auto narrow = test::random_problem<float>(test::CellKind::gru, 16, 1, 20'000, 1, 3);
  const std::vector<float> narrow_expected = narrow.sequential();
  report = narrow.solve(options);
  CHECK(report.status == SolveStatus::converged);
  CHECK_FALSE(report.stalled);
  CHECK(test::different_bits(test::to_host(narrow.y), narrow_expected) == 0);
}

TEST_CASE("hard systems: a long memory is not mistaken for convergence") {
  // Node jumps under 1e-5 hide an error of 1e-2 here.
  System<test::LeakyIntegrator> system{{1e-7}, 100'000, 1, {0}, std::vector<double>(100'000, 1.0), {}};
  const std::vector<double> truth = test::host_loop(system.recurrence, system.T, 1, system.y0, system.x, {});
  for (const auto method : {Method::jacobi, Method::quasi_newton, Method::newton, Method::automatic}) {
    CAPTURE(to_string(method));
    SolveOptions options;
    options.steps_per_segment = 100;
    options.method = method;
    options.merge = Merge::tolerance;
    options.tolerance = elaphos::Tolerance{1e-5, 0};
    const SolveReport report = system.solve(options);
    CHECK(report.converged());
    CHECK(report.iterations() <= 5);
    CHECK(test::largest_difference(system.y, truth) <= 1e-5);
  }
}

TEST_CASE("hard systems: a difference that shrinks and grows again is no merge within tolerance") {
  // 0.5 forty times, then 1.6 forty times: under 1e-6 on the way, 1.3e-4 at the end.
  System<test::Breathing> system{{40, 0.5, 1.6}, 800, 1, {0}, {}, {}};
  const std::vector<double> sequential = system.sequential();
  SolveOptions options;
  options.merge = Merge::tolerance;
  options.tolerance = elaphos::Tolerance{1e-5, 0};
  for (const std::int64_t steps_per_segment : {80, 160}) {
    options.steps_per_segment = steps_per_segment;
    options.method = Method::quasi_newton;
    CHECK(system.solve(options).converged());
    CHECK(test::largest_difference(system.y, sequential) <= 1e-5);
  }
}

TEST_CASE("hard systems: tolerance merges save work and stay within tolerance") {
  auto problem = test::random_problem<double>(test::CellKind::gru, 16, 4, 20'000, 2, 3);
  const std::vector<double> sequential = problem.sequential();
  SolveOptions options;
  options.segments = 50;
  options.method = Method::quasi_newton;
  const SolveReport exact = problem.solve(options);
  options.merge = Merge::tolerance;
  options.tolerance = elaphos::Tolerance{1e-5, 1e-5};
  options.verify = true;
  const SolveReport loose = problem.solve(options);
  CHECK(loose.converged());
  CHECK(loose.work_factor() < exact.work_factor());
  CHECK(loose.max_residual <= 1.1e-5);
  CHECK(loose.verified_residual <= 1.1e-5);
  CHECK(test::largest_difference(test::to_host(problem.y), sequential) <= 1e-5);
}

TEST_CASE("hard systems: a hard threshold is right, and the report says what it cost") {
  // What the Jacobian leaves out, a jump back to rest, happens every 40 steps or so.
  const std::int64_t T = 20'000;
  std::mt19937_64 generator(24);
  const std::vector<double> x = test::uniform(generator, T, 1);
  std::vector<double> expected;
  std::int64_t spikes = 0;
  System<CountedIntegrateAndFire> system{{}, T, 1, {0}, {}, {}};
  long double charge = 0;
  for (const double drive : x) {
    system.x.push_back(drive + 0.7);
    charge = 0.98L * charge + 0.05L * system.x.back();
    if (charge >= 1) charge = 0, ++spikes;
    expected.push_back(static_cast<double>(charge));
  }
  REQUIRE(spikes > T / 60);
  const Kokkos::View<std::int64_t, test::Memory> calls("test::calls");
  system.recurrence.calls = calls.data();
  for (const auto method : test::methods) {
    for (const std::int64_t steps_per_segment : {1, 200, 2000}) {
      for (const Merge merge : {Merge::exact, Merge::tolerance}) {
        SolveOptions options;
        options.method = method;
        options.merge = merge;
        options.steps_per_segment = steps_per_segment;
        Kokkos::deep_copy(calls, 0);
        const SolveReport report = system.solve(options);
        std::int64_t called = 0;
        Kokkos::deep_copy(called, calls);
        CAPTURE(to_string(method), to_string(merge), steps_per_segment, report.iterations(), called);
        CHECK(report.converged());
        CHECK(test::largest_difference(system.y, expected) <= (merge == Merge::exact ? 1e-13 : 1e-5));
        CHECK(std::abs(report.work_factor() * double(T) - double(called)) < 0.5);
        CHECK(report.work_factor() > 1);
        CHECK(report.critical_path() >= steps_per_segment);
        CHECK(report.critical_path() * report.plan.segments >= called);
      }
    }
  }
}

TEST_CASE("hard systems: coupled states are within tolerance with the planner's sensitivity") {
  // Diagonal sensitivities take the two states for independent and end 3e-5 off here.
  for (const auto& [damping, force, frequency] : {std::array{3.0, 1.2, 0.7}, {1.0, 5.0, 1.0}}) {
    System<test::DrivenVanDerPol> system{{0.01, damping, force, frequency}, 200'000, 2, {0, 1, 3.3, -2}, {}, {}};
    const std::vector<double> sequential = system.sequential();
    SolveOptions options;
    options.segments = 16;
    options.merge = Merge::tolerance;
    const SolveReport report = system.solve(options);
    CHECK(report.plan.sensitivity == elaphos::Sensitivity::dense);
    CHECK(report.converged());
    CHECK(test::largest_difference(system.y, sequential) <= 1e-6);
  }
}

TEST_CASE("hard systems: one chaotic sequence does not hold back the others") {
  // Both in one batch: the second forgets at once.
  System<test::LogisticMap> together{{}, 2048, 2, {0.3, 0.0}, {}, {4.0}};
  SolveOptions options;
  options.segments = 32;
  options.stop_when_stalled = false;
  const SolveReport report = together.solve(options);
  CHECK(report.converged());
  // The sequence at rest is done after the pass that meets its stored trajectory.
  REQUIRE(report.iterations() > 4);
  CHECK(report.passes[3].active_segments <= 32);
}

TEST_CASE("hard systems: numbers that are not finite are the loop's own, and the first is named") {
  std::vector<double> x(2 * 400, 0.1);
  for (std::size_t t = 150; t < 400; ++t) x[2 * t + 1] = 1.0;  // sequence 1 blows up after step 150
  System<test::Riccati> system{{}, 400, 2, {0, 0}, x, {}};
  const std::vector<double> sequential = system.sequential();
  std::int64_t first = 0;
  while (std::isfinite(sequential[static_cast<std::size_t>(first)])) ++first;
  for (const auto method : test::methods) {
    for (const std::int64_t segments : {1, 7, 400}) {
      CAPTURE(to_string(method), segments);
      SolveOptions options;
      options.segments = segments;
      options.method = method;
      options.max_iterations = 400;
      options.stop_when_stalled = false;
      const SolveReport report = system.solve(options);
      CHECK(report.converged());
      REQUIRE(report.first_non_finite.has_value());
      CHECK(report.first_non_finite->t == first / 2);
      CHECK(report.first_non_finite->b == first % 2);
      CHECK(test::different_bits(system.y, sequential) == 0);
    }
  }
}
