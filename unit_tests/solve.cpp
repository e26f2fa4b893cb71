// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The promise of an exact solve, bits of the sequential loop, over shapes, sensitivities and scalars.
#include "support/layers.hpp"
#include "support/systems.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <random>
#include <sstream>
#include <utility>
#include <vector>

namespace {

using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using test::Exec;

template <class Scalar>
void check_exact(test::LayerProblem<Scalar>& problem, std::int64_t segments, Method method) {
  CAPTURE(problem.layer.D, problem.T, problem.B, segments, to_string(method));
  const std::vector<Scalar> sequential = problem.sequential();
  SolveOptions options;
  options.segments = segments;
  options.method = method;
  const SolveReport report = problem.solve(options);
  CHECK(report.converged());
  CHECK(report.max_residual == 0);
  CHECK(report.plan.segments <= problem.T);
  CHECK(report.total_steps == problem.T * problem.B);
  CHECK(report.work_factor() >= 1);
  CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("solve: exact bits over shapes of a GRU", "", float, double) {
  for (const int D : {1, 3, 17, 32, 33, 128}) {
    for (const std::int64_t T : {1, 2, 255, 256, 257}) {
      auto problem = test::random_problem<TestType>(test::CellKind::gru, D, D == 128 ? 1 : 5, T, T == 257 ? 3 : 1,
                                              static_cast<std::uint64_t>(D * 1000 + T));
      for (const std::int64_t segments : {std::int64_t(2), T}) {
        if (D > 33 && segments > 2) continue;
        for (const auto method : {Method::jacobi, Method::quasi_newton}) {
          check_exact(problem, segments, method);
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
          test::random_problem<TestType>(test::CellKind::gru, D, 2, 131, 2, static_cast<std::uint64_t>(D), 2.0);
      check_exact(problem, segments, Method::newton);
    }
  }
}

TEMPLATE_TEST_CASE("solve: exact bits of an Elman cell, many sequences", "", float, double) {
  auto problem = test::random_problem<TestType>(test::CellKind::elman, 5, 3, 300, 1000, 7);
  for (const std::int64_t segments : {2, 3, 10}) check_exact(problem, segments, Method::quasi_newton);
}

TEST_CASE("solve: exact bits of a million steps") {
  auto problem = test::random_problem<float>(test::CellKind::gru, 4, 1, 1'000'000, 1, 11);
  check_exact(problem, 4096, Method::jacobi);
  check_exact(problem, 0, Method::automatic);
}

TEST_CASE("solve: the planner's own choice is exact at lengths around a power of two") {
  for (const std::int64_t T : {127, 128, 129, 511, 512, 513, 65'537}) {
    auto problem = test::random_problem<double>(test::CellKind::gru, 3, 2, T, 1, static_cast<std::uint64_t>(T));
    check_exact(problem, 0, Method::automatic);
  }
}

TEST_CASE("solve: an empty sequence and an empty batch are valid") {
  for (const auto& [T, B] : {std::pair<std::int64_t, std::int64_t>{0, 2}, {3, 0}}) {
    auto problem = test::random_problem<double>(test::CellKind::gru, 3, 2, T, B, 1);
    const SolveReport report = problem.solve({});
    CHECK(report.converged());
    CHECK(report.iterations() == 0);
    CHECK(report.work_factor() == 1);
  }
}

TEST_CASE("solve: a workspace that was used for something larger gives the same bits") {
  auto small = test::random_problem<double>(test::CellKind::gru, 3, 2, 200, 2, 5);
  const std::vector<double> expected = small.sequential();
  auto large = test::random_problem<double>(test::CellKind::gru, 8, 2, 500, 3, 6);
  elaphos::Workspace<Exec> workspace;
  SolveOptions options;
  options.segments = 9;
  options.method = Method::newton;
  for (auto* problem : {&large, &small}) {
    elaphos::solve(Exec(), elaphos::Gru(test::weights_on_device<double>(problem->layer)), problem->y0, problem->x,
                   problem->y, options, workspace);
  }
  CHECK(test::different_bits(test::to_host(small.y), expected) == 0);
}

TEST_CASE("solve: a user's recurrence without a Jacobian") {
  test::System<test::VanDerPol> system{{}, 1000, 2, {1, 0, 0.5, -1}, {}, {0.01, 1.5}};
  const std::vector<double> sequential = system.sequential();
  CHECK(test::largest_difference(sequential, test::host_loop(system.recurrence, 1000, 2, system.y0, {}, system.p)) <
        1e-9);
  SolveOptions options;
  options.segments = 10;
  CHECK(system.solve(options).converged());
  CHECK(test::different_bits(system.y, sequential) == 0);
}

TEST_CASE("solve: the sequential loop is a plain loop") {
  for (const auto kind : {test::CellKind::elman, test::CellKind::gru}) {
    for (const int D : {1, 3, 17, 32, 33, 128}) {
      CAPTURE(D);
      auto problem = test::random_problem<double>(kind, D, 3, 60, 2, static_cast<std::uint64_t>(D));
      const auto expected = test::plain_loop(problem.layer, problem.T, problem.B, problem.y0_host, problem.x_host);
      CHECK(test::largest_difference(problem.sequential(), expected) <= 1e-13);
      auto in_float = test::random_problem<float>(kind, D, 3, 60, 2, static_cast<std::uint64_t>(D));
      CHECK(test::largest_difference(in_float.sequential(), expected) <= 1e-5);
    }
  }
}

TEST_CASE("solve: the report can be printed and adds up") {
  auto problem = test::random_problem<double>(test::CellKind::gru, 4, 2, 1000, 3, 9);
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
