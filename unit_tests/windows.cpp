// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves by windows, and outputs that are not all kept: the same states in less memory.
#include "support/layers.hpp"
#include "support/rings.hpp"
#include "support/systems.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>

namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;
using elaphos::InvalidArgument;
using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using elaphos::SolveStatus;
using test::Exec;
using test::Memory;

}  // namespace

TEST_CASE("windows: exact answers have the loop's bits, whatever the window") {
  // Its factor depends on t, so that a window that told its own t would be found out.
  const test::Breathing breathing{7, 0.5, 1.2};
  const std::int64_t T = 1000, B = 3;
  test::System<test::Breathing> system{breathing, T, B, {1, 2, 3}, {}, {}};
  const auto expected = test::host_loop(breathing, T, B, system.y0, {}, {});
  for (const std::int64_t window : {1, 7, 256, 999, 1000, 1001}) {
    for (const Method method : {Method::automatic, Method::newton}) {
      SolveOptions options;
      options.window_steps = window;
      options.method = method;
      options.verify = true;
      const SolveReport report = system.solve(options);
      CAPTURE(window, to_string(method));
      CHECK(report.converged());
      CHECK(report.windows == (window >= T ? 1 : (T + window - 1) / window));
      CHECK(report.steps == T);
      CHECK(report.total_steps == T * B);
      CHECK(report.critical_path() <= 2 * T + 2 * window);
      CHECK(*report.verified_residual < 1e-14);
      REQUIRE(system.y.size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(std::abs(system.y[i] - expected[i]) <= 1e-12);
    }
  }
}

TEST_CASE("windows: a layer's states, all and every k-th") {
  const std::int64_t T = 3000;
  auto problem = test::random_problem<double>(test::CellKind::gru, 8, 3, T, 2, 21);
  const auto expected = problem.sequential();
  SolveOptions options;
  options.window_steps = 1000;
  CHECK(problem.solve(options).windows == 3);
  CHECK(test::to_host(problem.y) == expected);
}

TEST_CASE("windows: every k-th state and the final one") {
  const std::int64_t T = 1003, B = 2;
  const test::LeakyIntegrator leaky{0.2};
  std::vector<double> x(static_cast<std::size_t>(T * B));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.1 * static_cast<double>(i));
  test::System<test::LeakyIntegrator> system{leaky, T, B, {0.5, -1}, x, {}};
  const auto all = system.sequential();
  for (const std::int64_t every : {2, 3, 10, 1002, 1003, 5000}) {
    for (const std::int64_t window : {0, 1, 9, 100, 5000}) {
      SolveOptions options;
      options.keep_every = every;
      options.window_steps = window;
      CAPTURE(every, window);
      CHECK(system.solve(options).converged());
      CHECK(system.y == test::kept_of(all, T, B, static_cast<std::size_t>(every)));
    }
  }
}

TEST_CASE("windows: without input the options say how many steps") {
  test::System<test::Breathing> system{{7, 0.5, 1.2}, 1000, 1, {1}, {}, {}};
  const auto all = system.sequential();
  SolveOptions options;
  options.keep_every = 100;
  CHECK_THROWS_MATCHES(system.solve(options), InvalidArgument, MessageMatches(ContainsSubstring("options.steps is 0")));
  options.steps = 1000;
  system.solve(options);
  CHECK(system.y == test::kept_of(all, 1000, 1, 100));
  options.steps = 999;  // 10 states too, the last of them another
  system.solve(options);
  CHECK(system.y.back() != all.back());
}

TEST_CASE("windows: what makes no sense is refused") {
  const test::LeakyIntegrator leaky{0.2};
  const std::vector<double> x(100, 1.0);
  test::System<test::LeakyIntegrator> system{leaky, 100, 1, {0}, x, {}};
  const auto refused = [&](const SolveOptions& options, const char* text) {
    CHECK_THROWS_MATCHES(system.solve(options), InvalidArgument, MessageMatches(ContainsSubstring(text)));
  };
  SolveOptions options;
  options.window_steps = -1;
  refused(options, "options.window_steps is -1");
  options = {};
  options.steps = -5;
  refused(options, "options.steps is -5");
  options = {};
  options.steps = 50;
  refused(options, "50 steps");
  options = {};
  options.keep_every = 3;
  options.initial_guess = elaphos::InitialGuess::trajectory;
  refused(options, "y does not hold every state");
  const elaphos::StateView<double, Memory> y0("y0", 1, 1);
  const elaphos::SequenceView<double, Memory> input("x", 100, 1, 1), y("y", 100, 1, 1);
  options = {};
  options.keep_every = 0;
  CHECK_THROWS_MATCHES(elaphos::solve(Exec(), leaky, y0, input, y, options), InvalidArgument,
                       MessageMatches(ContainsSubstring("options.keep_every is 0")));
  options.keep_every = 2;  // y has room for all
  CHECK_THROWS_MATCHES(elaphos::solve(Exec(), leaky, y0, input, y, options), InvalidArgument,
                       MessageMatches(ContainsSubstring("50 states")));
  options = {};
  options.window_steps = 10;
  elaphos::WarmStart<Exec, double> warm_start;
  elaphos::Workspace<Exec> workspace;
  CHECK_THROWS_MATCHES(elaphos::solve(Exec(), leaky, y0, input, y, options, workspace, warm_start), InvalidArgument,
                       MessageMatches(ContainsSubstring("warm_start")));
}

TEST_CASE("windows: memory does not grow with the number of steps") {
  const test::LeakyIntegrator leaky{0.2};
  const auto bytes = [&](std::int64_t T) {
    const elaphos::StateView<double, Memory> y0("y0", 1, 1);
    const elaphos::SequenceView<double, Memory> x("x", T, 1, 1), y("y", 1, 1, 1);
    SolveOptions options;
    options.keep_every = T;
    options.window_steps = 10'000;
    elaphos::Workspace<Exec> workspace;
    elaphos::solve(Exec(), leaky, y0, x, y, options, workspace);
    return workspace.bytes();
  };
  CHECK(bytes(100'000) == bytes(1'000'000));
}

TEST_CASE("windows: stopping, limits and non-finite states are told as of all steps") {
  const std::int64_t T = 2000;
  test::System<test::Riccati> system{{}, T, 1, {0}, std::vector<double>(static_cast<std::size_t>(T), 0.6), {}};
  const auto expected = system.sequential();
  std::int64_t first = 0;
  while (std::isfinite(expected[static_cast<std::size_t>(first)])) ++first;
  SolveOptions options;
  options.window_steps = 5;
  const SolveReport blown = system.solve(options);
  REQUIRE(blown.first_non_finite);
  CHECK(blown.first_non_finite->t == first);

  test::System<test::LeakyIntegrator> leaky{{0.2}, T, 1, {0}, std::vector<double>(static_cast<std::size_t>(T), 1.0), {}};
  options.window_steps = 500;
  int calls = 0;
  options.observer = [&](const SolveReport&) { return ++calls < 3; };
  options.segments = 4;
  const SolveReport stopped = leaky.solve(options);
  CHECK(stopped.status == SolveStatus::stopped);
  CHECK(stopped.windows <= 3);
  CHECK_FALSE(stopped.converged());
}

TEST_CASE("limit: an exception where one is asked for, with the report") {
  test::System<test::LogisticMap> system{{}, 500, 1, {0.3}, {}, {4}};
  SolveOptions options;
  options.at_limit = elaphos::AtLimit::throw_exception;
  options.max_iterations = 2;
  options.steps_per_segment = 10;
  for (const std::int64_t window : {0, 100}) {
    options.window_steps = window;
    CAPTURE(window);
    try {
      system.solve(options);
      FAIL("nothing was thrown");
    } catch (const elaphos::NotConverged& error) {
      CHECK(error.report.status == SolveStatus::iteration_limit);
      CHECK_FALSE(error.report.passes.empty());
      CHECK_THAT(error.what(), ContainsSubstring("not converged after"));
    }
  }
  options.max_iterations = 100;
  options.window_steps = 0;
  CHECK_NOTHROW(system.solve(options));
}

TEST_CASE("windows: steps by teams and of kernels are told the step of the whole") {
  const test::RingProblem<double> problem(257, 3, 17, 2);
  const auto expected = problem.expected();
  for (const std::int64_t window : {1, 50, 256}) {
    SolveOptions options;
    options.window_steps = window;
    options.verify = true;
    CAPTURE(window);
    CHECK(problem.solve(problem.batched(), options).verified_residual == 0.0);
    CHECK(test::to_host(problem.y) == expected);
    Kokkos::deep_copy(problem.y, -77.0);
    CHECK(problem.solve(problem.team(), options).verified_residual == 0.0);
    CHECK(test::to_host(problem.y) == expected);
  }
}
