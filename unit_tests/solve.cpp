// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The promise of an exact solve, bits of the sequential loop, over shapes, sensitivities and scalars; and what a solve
// says when it cannot keep a promise.
#include "support/layers.hpp"
#include "support/systems.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <array>
#include <cmath>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

namespace {

using elaphos::AtLimit;
using elaphos::Merge;
using elaphos::Sensitivity;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using elaphos::SolveStatus;
using test::Exec;
using test::Memory;

template <class Scalar>
test::LayerProblem<Scalar> random_problem(test::CellKind kind, int D, int I, std::int64_t T, std::int64_t B,
                                          std::uint64_t seed, double gain = 1) {
  std::mt19937_64 generator(seed);
  const test::Layer layer = test::random_layer(kind, D, I, generator, gain);
  const auto y0 = test::uniform(generator, static_cast<std::size_t>(B * D), 1);
  return {layer, T, B, y0, test::normal(generator, static_cast<std::size_t>(T * B * I))};
}

template <class Scalar>
void check_exact(test::LayerProblem<Scalar>& problem, std::int64_t segments, Sensitivity sensitivity) {
  CAPTURE(problem.layer.D, problem.T, problem.B, segments, to_string(sensitivity));
  const std::vector<Scalar> sequential = problem.sequential();
  SolveOptions options;
  options.segments = segments;
  options.sensitivity = sensitivity;
  const SolveReport report = problem.solve(options);
  CHECK(report.converged());
  CHECK(report.max_residual == 0);
  CHECK(report.plan.segments <= problem.T);
  CHECK(report.total_steps == problem.T * problem.B);
  CHECK(report.work_factor() >= 1);
  CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
}

template <class R>
struct System {
  R recurrence;
  std::int64_t T;
  std::int64_t B;
  std::vector<double> y0;
  std::vector<double> x;
  std::vector<double> p;
  std::vector<double> y = {};

  SolveReport solve(const SolveOptions& options) {
    const auto y0_device = test::to_device<elaphos::StateView<double, Memory>>(y0, B, R::state_size);
    const auto x_device = test::to_device<elaphos::SequenceView<double, Memory>>(x, T, B, R::input_size);
    const auto y_device = test::to_device<elaphos::SequenceView<double, Memory>>(
        std::vector<double>(static_cast<std::size_t>(T * B * R::state_size), NAN), T, B, R::state_size);
    SolveReport report;
    if constexpr (elaphos::parameter_size_of<R>() > 0) {
      const auto p_device = test::to_device<elaphos::VectorView<double, Memory>>(p, p.size());
      report = elaphos::solve(Exec(), elaphos::bind_parameters(recurrence, p_device), y0_device, x_device, y_device,
                              options);
    } else {
      report = elaphos::solve(Exec(), recurrence, y0_device, x_device, y_device, options);
    }
    y = test::to_host(y_device);
    return report;
  }

  std::vector<double> sequential() {
    SolveOptions options;
    options.segments = 1;
    solve(options);
    return y;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("solve: exact bits over shapes of a GRU", "", float, double) {
  for (const int D : {1, 3, 17, 32, 33, 128}) {
    for (const std::int64_t T : {1, 2, 255, 256, 257}) {
      auto problem = random_problem<TestType>(test::CellKind::gru, D, D == 128 ? 1 : 5, T, T == 257 ? 3 : 1,
                                              static_cast<std::uint64_t>(D * 1000 + T));
      for (const std::int64_t segments : {std::int64_t(2), T}) {
        if (D > 33 && segments > 2) continue;
        for (const auto sensitivity : {Sensitivity::none, Sensitivity::diagonal}) {
          check_exact(problem, segments, sensitivity);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("solve: exact bits with dense sensitivities", "", float, double) {
  for (const int D : {1, 3, 17, 32, 33}) {
    // On a device a team's scratch holds no dense Jacobian wider than 64 in double.
    for (const std::int64_t segments : {2, 40, 131}) {
      auto problem =
          random_problem<TestType>(test::CellKind::gru, D, 2, 131, 2, static_cast<std::uint64_t>(D), 2.0);
      check_exact(problem, segments, Sensitivity::dense);
    }
  }
}

TEMPLATE_TEST_CASE("solve: exact bits of an Elman cell, many sequences", "", float, double) {
  auto problem = random_problem<TestType>(test::CellKind::elman, 5, 3, 300, 1000, 7);
  for (const std::int64_t segments : {2, 3, 10}) check_exact(problem, segments, Sensitivity::diagonal);
}

TEST_CASE("solve: exact bits of a million steps") {
  auto problem = random_problem<float>(test::CellKind::gru, 4, 1, 1'000'000, 1, 11);
  check_exact(problem, 4096, Sensitivity::none);
  check_exact(problem, 0, Sensitivity::automatic);
}

TEST_CASE("solve: the planner's own choice is exact at lengths around a power of two") {
  for (const std::int64_t T : {127, 128, 129, 511, 512, 513, 65'537}) {
    auto problem = random_problem<double>(test::CellKind::gru, 3, 2, T, 2, static_cast<std::uint64_t>(T));
    check_exact(problem, 0, Sensitivity::automatic);
  }
}

TEST_CASE("solve: an empty sequence and an empty batch are valid") {
  for (const auto& [T, B] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {3, 0}}) {
    auto problem = random_problem<double>(test::CellKind::gru, 3, 2, T, B, 1);
    const SolveReport report = problem.solve({});
    CHECK(report.converged());
    CHECK(report.iterations() == 0);
    CHECK(report.work_factor() == 1);
  }
}

TEST_CASE("solve: a workspace that was used for something larger gives the same bits") {
  auto small = random_problem<double>(test::CellKind::gru, 3, 2, 200, 2, 5);
  const std::vector<double> expected = small.sequential();
  auto large = random_problem<double>(test::CellKind::gru, 8, 2, 500, 3, 6);
  elaphos::Workspace<Exec> workspace;
  SolveOptions options;
  options.segments = 9;
  options.sensitivity = Sensitivity::dense;
  for (auto* problem : {&large, &small}) {
    elaphos::solve(Exec(), elaphos::Gru(test::weights_on_device<double>(problem->layer)), problem->y0, problem->x,
                   problem->y, options, workspace);
  }
  CHECK(test::different_bits(test::to_host(small.y), expected) == 0);
}

TEST_CASE("solve: a user's recurrence without a Jacobian") {
  System<test::VanDerPol> system{{}, 1000, 2, {1, 0, 0.5, -1}, {}, {0.01, 1.5}};
  const std::vector<double> sequential = system.sequential();
  CHECK(test::largest_difference(sequential, test::host_loop(system.recurrence, 1000, 2, system.y0, {}, system.p)) <
        1e-9);
  SolveOptions options;
  options.segments = 10;
  CHECK(system.solve(options).converged());
  CHECK(test::different_bits(system.y, sequential) == 0);
}

TEST_CASE("solve: growing errors do not spoil the answer") {
  // A tree scan in state form gives y[63] = 0 here.
  for (const std::int64_t T : {64, 257, 1000}) {
    for (const auto sensitivity : {Sensitivity::none, Sensitivity::diagonal, Sensitivity::dense}) {
      System<test::Doubling<double>> system{{}, T, 1, {1}, {}, {}};
      SolveOptions options;
      options.steps_per_segment = 1;
      options.sensitivity = sensitivity;
      options.verify = true;
      const SolveReport report = system.solve(options);
      CHECK(report.converged());
      CHECK(report.verified_residual == 0.0);
      CHECK(test::largest_difference(system.y, std::vector<double>(static_cast<std::size_t>(T), 1.0)) == 0);
    }
  }
}

TEST_CASE("solve: chaos is exact all the same, at the latest after as many passes as segments") {
  const double r = GENERATE(2.5, 3.7, 4.0);
  for (const auto& [T, steps_per_segment] : {std::pair<std::int64_t, std::int64_t>{64, 1}, {256, 1}, {1024, 8}}) {
    for (const auto sensitivity : {Sensitivity::none, Sensitivity::diagonal, Sensitivity::dense}) {
      for (const Merge merge : {Merge::exact, Merge::tolerance}) {
        CAPTURE(r, T, to_string(sensitivity), to_string(merge));
        System<test::LogisticMap> system{{}, T, 1, {0.3}, {}, {r}};
        const std::vector<double> sequential = system.sequential();
        SolveOptions options;
        options.steps_per_segment = steps_per_segment;
        options.sensitivity = sensitivity;
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

TEST_CASE("solve: the iteration limit is kept and said") {
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

TEST_CASE("solve: passes that stop paying are given up for the loop") {
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
  auto wide = random_problem<float>(test::CellKind::gru, 128, 1, 20'000, 1, 3);
  const std::vector<float> expected = wide.sequential();
  options.segments = 100;
  report = wide.solve(options);
  CHECK(report.status == SolveStatus::completed_sequentially);
  CHECK(report.iterations() <= 3);
  CHECK(test::different_bits(test::to_host(wide.y), expected) == 0);

  // Patience all the same where passes still gain.
  auto narrow = random_problem<float>(test::CellKind::gru, 16, 1, 20'000, 1, 3);
  const std::vector<float> narrow_expected = narrow.sequential();
  report = narrow.solve(options);
  CHECK(report.status == SolveStatus::converged);
  CHECK_FALSE(report.stalled);
  CHECK(test::different_bits(test::to_host(narrow.y), narrow_expected) == 0);
}

TEST_CASE("solve: a long memory is not mistaken for convergence") {
  // Node jumps under 1e-5 hide an error of 1e-2 here.
  System<test::LeakyIntegrator> system{{1e-7}, 100'000, 1, {0}, std::vector<double>(100'000, 1.0), {}};
  const std::vector<double> truth = test::host_loop(system.recurrence, system.T, 1, system.y0, system.x, {});
  for (const auto sensitivity : {Sensitivity::none, Sensitivity::diagonal, Sensitivity::dense, Sensitivity::automatic}) {
    CAPTURE(to_string(sensitivity));
    SolveOptions options;
    options.steps_per_segment = 100;
    options.sensitivity = sensitivity;
    options.merge = Merge::tolerance;
    options.tolerance = elaphos::Tolerance{1e-5, 0};
    const SolveReport report = system.solve(options);
    CHECK(report.converged());
    CHECK(report.iterations() <= 5);
    CHECK(test::largest_difference(system.y, truth) <= 1e-5);
  }
}

TEST_CASE("solve: a difference that shrinks and grows again is no merge within tolerance") {
  // 0.5 forty times, then 1.6 forty times: under 1e-6 on the way, 1.3e-4 at the end.
  System<test::Breathing> system{{40, 0.5, 1.6}, 800, 1, {0}, {}, {}};
  const std::vector<double> sequential = system.sequential();
  SolveOptions options;
  options.merge = Merge::tolerance;
  options.tolerance = elaphos::Tolerance{1e-5, 0};
  for (const std::int64_t steps_per_segment : {80, 160}) {
    options.steps_per_segment = steps_per_segment;
    options.sensitivity = Sensitivity::diagonal;
    CHECK(system.solve(options).converged());
    CHECK(test::largest_difference(system.y, sequential) <= 1e-5);
  }
}

TEST_CASE("solve: tolerance merges save work and stay within tolerance") {
  auto problem = random_problem<double>(test::CellKind::gru, 16, 4, 20'000, 2, 3);
  const std::vector<double> sequential = problem.sequential();
  SolveOptions options;
  options.segments = 50;
  options.sensitivity = Sensitivity::diagonal;
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

TEST_CASE("solve: coupled states are within tolerance with the planner's sensitivity") {
  // Diagonal sensitivities take the two states for independent and end 3e-5 off here.
  for (const auto& [damping, force, frequency] : {std::array{3.0, 1.2, 0.7}, {1.0, 5.0, 1.0}}) {
    System<test::DrivenVanDerPol> system{{0.01, damping, force, frequency}, 200'000, 2, {0, 1, 3.3, -2}, {}, {}};
    const std::vector<double> sequential = system.sequential();
    SolveOptions options;
    options.segments = 16;
    options.merge = Merge::tolerance;
    const SolveReport report = system.solve(options);
    CHECK(report.plan.sensitivity == Sensitivity::dense);
    CHECK(report.converged());
    CHECK(test::largest_difference(system.y, sequential) <= 1e-6);
  }
}

TEST_CASE("solve: one chaotic sequence does not hold back the others") {
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

TEST_CASE("solve: numbers that are not finite are the loop's own, and the first is named") {
  std::vector<double> x(2 * 400, 0.1);
  for (std::size_t t = 150; t < 400; ++t) x[2 * t + 1] = 1.0;  // sequence 1 blows up after step 150
  System<test::Riccati> system{{}, 400, 2, {0, 0}, x, {}};
  const std::vector<double> sequential = system.sequential();
  std::int64_t first = 0;
  while (std::isfinite(sequential[static_cast<std::size_t>(first)])) ++first;
  for (const auto sensitivity : {Sensitivity::none, Sensitivity::diagonal, Sensitivity::dense}) {
    for (const std::int64_t segments : {1, 7, 400}) {
      CAPTURE(to_string(sensitivity), segments);
      SolveOptions options;
      options.segments = segments;
      options.sensitivity = sensitivity;
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

TEST_CASE("solve: the sequential loop is a plain loop") {
  for (const auto kind : {test::CellKind::elman, test::CellKind::gru}) {
    for (const int D : {1, 3, 17, 32, 33, 128}) {
      CAPTURE(D);
      auto problem = random_problem<double>(kind, D, 3, 60, 2, static_cast<std::uint64_t>(D));
      const auto expected = test::plain_loop(problem.layer, problem.T, problem.B, problem.y0_host, problem.x_host);
      CHECK(test::largest_difference(problem.sequential(), expected) <= 1e-13);
      auto in_float = random_problem<float>(kind, D, 3, 60, 2, static_cast<std::uint64_t>(D));
      CHECK(test::largest_difference(in_float.sequential(), expected) <= 1e-5);
    }
  }
}

TEST_CASE("solve: the report can be printed and adds up") {
  auto problem = random_problem<double>(test::CellKind::gru, 4, 2, 1000, 3, 9);
  SolveOptions options;
  options.segments = 8;
  options.measure_time = true;
  const SolveReport report = problem.solve(options);
  std::int64_t steps = 0, path = 0;
  for (const auto& pass : report.passes) {
    CHECK(pass.longest_run <= report.plan.steps_per_segment);
    CHECK(pass.steps <= pass.active_segments * pass.longest_run);
    steps += pass.steps;
    path += pass.longest_run;
  }
  CHECK(report.passes.front().steps == report.total_steps);
  CHECK(report.work_factor() == static_cast<double>(steps) / static_cast<double>(report.total_steps));
  CHECK(report.critical_path() == path);
  REQUIRE(report.seconds.has_value());
  CHECK(report.seconds->propagate > 0);
  std::ostringstream text;
  text << report;
  CHECK(text.str().find("8 segments of 125 steps") != std::string::npos);
  CHECK(text.str().find("steps of 1000\n") != std::string::npos);
  CHECK(text.str().find("propagate") != std::string::npos);
  CHECK_FALSE(problem.solve({}).seconds.has_value());
}
