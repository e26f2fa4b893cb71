// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Methods by name: what each carries, that none changes the answer, and what each is better at than its neighbours.
#include "support/methods.hpp"
#include "support/systems.hpp"
#include "truth/systems.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <random>

namespace {

using elaphos::Merge;
using elaphos::Method;
using elaphos::Sensitivity;
using elaphos::SolveOptions;
using elaphos::SolveStatus;
using test::System;

// Integer counters in blocks, each turned by a quarter (size 2) or moved on by one place (3 and 4), plus input: all states
// are exact, and nothing outside of a block couples.
template <int size, int stride>
struct TurningBlocks {
  using scalar_type = double;
  static constexpr elaphos::JacobianBlocks jacobian_blocks{size, stride};
  static constexpr int state_size = 2 * size * stride, input_size = state_size;
  // Within a block, state k is made from state (k + 1) % size.
  KOKKOS_FUNCTION static int place(int block, int k) {
    return block / stride * size * stride + block % stride + k * stride;
  }
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    for (int block = 0; block < state_size / size; ++block) {
      for (int k = 0; k < size; ++k) {
        const double from = y[place(block, (k + 1) % size)];
        next[place(block, k)] = (k == 0 ? -from : from) + x[place(block, k)];
      }
    }
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const {
    for (int i = 0; i < state_size; ++i) {
      for (int j = 0; j < state_size; ++j) J(i, j) = 0;
    }
    for (int block = 0; block < state_size / size; ++block) {
      for (int k = 0; k < size; ++k) J(place(block, k), place(block, (k + 1) % size)) = k == 0 ? -1 : 1;
    }
  }
};

std::vector<double> integers(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> out(count);
  for (double& number : out) number = static_cast<double>(static_cast<std::int64_t>(generator() % 21) - 10);
  return out;
}

// One correction is exact, whatever the tiles of the node scan.
template <int size, int stride>
void check_blocks() {
  for (const std::int64_t T : {5, 1000, 10'000}) {
    for (const std::int64_t S : {1, 3}) {
      using Blocks = TurningBlocks<size, stride>;
      constexpr int D = Blocks::state_size;
      const std::int64_t B = 3;
      System<Blocks> system{{}, T, B, integers(B * D, 1), integers(static_cast<std::size_t>(T * B * D), 2), {}};
      const auto expected = test::host_loop(system.recurrence, T, B, system.y0, system.x, {});
      SolveOptions options;
      options.method = Method::block_quasi_newton;
      options.steps_per_segment = S;
      options.stop_when_stalled = false;
      const auto report = system.solve(options);
      CAPTURE(size, stride, T, S, report.iterations());
      CHECK(report.plan.sensitivity == Sensitivity::block);
      CHECK(report.status == SolveStatus::converged);
      CHECK(report.iterations() <= 2);
      CHECK(system.y == expected);
    }
  }
}

// Five slow relaxations with a weak tie to their neighbours.
struct WeaklyCoupled {
  using scalar_type = double;
  static constexpr int state_size = 5, input_size = 1;
  static constexpr double decay = 0.999, tie = 1e-5;
  KOKKOS_FUNCTION static double slope(double y) {
    const double f = Kokkos::tanh(y);
    return tie * (1 - f * f);
  }
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    for (int i = 0; i < 5; ++i) next[i] = decay * y[i] + tie * Kokkos::tanh(y[(i + 1) % 5]) + 0.001 * x[0];
  }
};

struct WithJacobian : WeaklyCoupled {
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto, auto, auto J) const {
    for (int i = 0; i < 5; ++i) {
      for (int j = 0; j < 5; ++j) J(i, j) = i == j ? decay : 0.0;
      J(i, (i + 1) % 5) = slope(y[(i + 1) % 5]);
    }
  }
};

struct WithJacobianTimes : WeaklyCoupled {
  KOKKOS_FUNCTION void jacobian_times(elaphos::StepContext, auto y, auto, auto, auto v, auto out) const {
    for (int i = 0; i < 5; ++i) out[i] = decay * v[i] + slope(y[(i + 1) % 5]) * v[(i + 1) % 5];
  }
};

// A flow that forgets slowly, by one step of Euler: states are coupled, and DEER's iterates run away.
System<truth::Differentiated<truth::EulerFlow<truth::RoesslerFlow>>> roessler() {
  return {{}, 3000, 1, {6.5134412, 0.4772013, 0.34164294}, {}, {}};
}

SolveOptions tolerant(Method method) {
  SolveOptions options;
  options.merge = Merge::tolerance;
  options.method = method;
  options.steps_per_segment = 1;
  options.at_limit = elaphos::AtLimit::return_iterate;
  options.verify = true;
  return options;
}

}  // namespace

TEST_CASE("methods: each name has its sensitivity") {
  const elaphos::PlanRequest request{10'000, 1, 4, 8, true, false, true};
  const auto plan = [&](Method method) {
    SolveOptions options;
    options.method = method;
    return elaphos::make_plan(request, options);
  };
  CHECK(plan(Method::jacobi).sensitivity == Sensitivity::none);
  CHECK(plan(Method::quasi_newton).sensitivity == Sensitivity::diagonal);
  CHECK(plan(Method::block_quasi_newton).sensitivity == Sensitivity::block);
  CHECK(plan(Method::newton).sensitivity == Sensitivity::dense);
  CHECK_FALSE(plan(Method::newton).damped);
  CHECK(plan(Method::levenberg_marquardt).sensitivity == Sensitivity::dense);
  CHECK(plan(Method::levenberg_marquardt).damped);
  CHECK(plan(Method::quasi_levenberg_marquardt).sensitivity == Sensitivity::diagonal);
  CHECK(plan(Method::quasi_levenberg_marquardt).damped);
  CHECK(to_string(Method::quasi_levenberg_marquardt) == "quasi_levenberg_marquardt");
}

TEST_CASE("methods: blocks are refused where the recurrence names none") {
  System<test::LogisticMap> system{{}, 100, 1, {0.3}, {}, {2.5}};
  SolveOptions options;
  options.method = Method::block_quasi_newton;
  CHECK_THROWS_WITH(system.solve(options), Catch::Matchers::ContainsSubstring("options.method is block_quasi_newton") &&
                                               Catch::Matchers::ContainsSubstring("jacobian_blocks"));
}

TEST_CASE("methods: block_quasi_newton solves in one correction what couples in blocks only") {
  check_blocks<2, 1>();
  check_blocks<2, 4>();
  check_blocks<3, 1>();
  check_blocks<3, 2>();
  check_blocks<4, 1>();
  check_blocks<4, 3>();
}

TEST_CASE("methods: a diagonal is estimated from products with random signs") {
  // Weakly coupled: its diagonal says nearly all. Newton by exact diagonals needs as many passes, give or take a few.
  const std::int64_t T = 3000;
  std::vector<double> x(static_cast<std::size_t>(T));
  for (std::size_t t = 0; t < x.size(); ++t) x[t] = std::sin(0.01 * static_cast<double>(t));
  const std::vector<double> y0(5, 0.5);
  System<WithJacobian> exact{{}, T, 1, y0, x, {}};
  System<WithJacobianTimes> estimated{{}, T, 1, y0, x, {}};
  const auto expected = exact.sequential();
  SolveOptions options = tolerant(Method::quasi_newton);
  options.max_iterations = 100;
  const auto with_diagonal = exact.solve(options), with_signs = estimated.solve(options);
  options.method = Method::jacobi;
  options.merge = Merge::exact;
  const auto without = estimated.solve(options);
  CAPTURE(with_diagonal.iterations(), with_signs.iterations(), without.iterations());
  CHECK(with_signs.status == SolveStatus::converged);
  CHECK(with_signs.iterations() <= with_diagonal.iterations() + 6);
  CHECK_FALSE(without.converged());
  options = tolerant(Method::quasi_newton);
  options.max_iterations = 100;
  estimated.solve(options);
  const auto once = estimated.y;
  estimated.solve(options);
  CHECK(estimated.y == once);
  for (std::size_t i = 0; i < expected.size(); ++i) REQUIRE(std::abs(once[i] - expected[i]) < 1e-5);
  options.method = Method::newton;
  CHECK_THROWS_WITH(estimated.solve(options), Catch::Matchers::ContainsSubstring("only the diagonal"));
}

TEST_CASE("methods: exact answers have the loop's bits") {
  const std::int64_t T = 257, B = 2;
  System<TurningBlocks<2, 1>> system{{}, T, B, integers(B * 4, 3), integers(T * B * 4, 4), {}};
  const auto expected = system.sequential();
  for (const std::int64_t segments : {2, 5, 257}) {
    for (const Method method : test::methods_with_blocks) {
      SolveOptions options;
      options.method = method;
      options.segments = segments;
      const auto report = system.solve(options);
      CAPTURE(segments, to_string(method), report.iterations());
      CHECK(report.converged());
      CHECK(system.y == expected);
    }
  }
}

TEST_CASE("methods: levenberg_marquardt converges where Newton's iterates run away") {
  auto system = roessler();
  const auto expected = system.sequential();
  SolveOptions options = tolerant(Method::newton);
  CHECK(system.solve(options).status == SolveStatus::iteration_limit);
  options.method = Method::levenberg_marquardt;
  const auto report = system.solve(options);
  CAPTURE(report.iterations());
  CHECK(report.status == SolveStatus::converged);
  CHECK(*report.verified_residual < 1e-5);
}

TEST_CASE("methods: automatic turns to damping where passes only creep") {
  auto system = roessler();
  const auto report = system.solve(tolerant(Method::automatic));
  CAPTURE(report.iterations());
  CHECK(report.status == SolveStatus::converged);
  CHECK(*report.verified_residual < 1e-5);
  REQUIRE(report.escalations.size() == 1);
  CHECK(report.escalations[0].after <= 8);
  CHECK(report.escalations[0].damped);
  CHECK(report.plan.damped);

  // Not where the method was asked for, nor in exact mode.
  CHECK(system.solve(tolerant(Method::newton)).escalations.empty());
  SolveOptions exact = tolerant(Method::automatic);
  exact.merge = Merge::exact;
  CHECK(system.solve(exact).escalations.empty());
}

TEST_CASE("methods: escalations by windows are counted from the first pass") {
  auto system = roessler();
  SolveOptions options = tolerant(Method::automatic);
  options.window_steps = 1500;
  const auto report = system.solve(options);
  CHECK(report.windows == 2);
  for (std::size_t i = 1; i < report.escalations.size(); ++i) {
    CHECK(report.escalations[i].after > report.escalations[i - 1].after);
  }
  CHECK(report.escalations.size() >= 1);
}

TEST_CASE("methods: a damped correction does not pass for a small error") {
  // Node jumps under the tolerance hide an error of 1e-2 here, and damping would hide it from the corrections too.
  const std::int64_t T = 100'000;
  std::mt19937_64 generator(3);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  std::vector<double> x(static_cast<std::size_t>(T));
  for (double& number : x) number = uniform(generator);
  for (const Method method : {Method::levenberg_marquardt, Method::quasi_levenberg_marquardt}) {
    System<test::LeakyIntegrator> system{{1e-7}, T, 1, {0}, x, {}};
    const auto expected = system.sequential();
    for (const std::int64_t S : {1, 100}) {
      SolveOptions options = tolerant(method);
      options.steps_per_segment = S;
      const auto report = system.solve(options);
      CAPTURE(to_string(method), S, report.iterations());
      CHECK(report.status == SolveStatus::converged);
      double error = 0;
      for (std::size_t t = 0; t < expected.size(); ++t) error = std::max(error, std::abs(expected[t] - system.y[t]));
      CHECK(error < 2e-6);
    }
  }
}

TEST_CASE("methods: damping is a sequence's own") {
  // A chaotic map beside one that forgets: together each does what it does alone.
  const auto solve = [](std::vector<double> y0, std::vector<double> x) {
    const std::int64_t B = static_cast<std::int64_t>(y0.size());
    System<test::Riccati> system{{}, 500, B, y0, x, {}};
    SolveOptions options = tolerant(Method::levenberg_marquardt);
    options.max_iterations = 12;
    system.solve(options);
    return system.y;
  };
  std::vector<double> wild(500), calm(500), both(1000);
  std::mt19937_64 generator(5);
  std::uniform_real_distribution<double> uniform(0, 0.4);
  for (std::size_t t = 0; t < 500; ++t) {
    wild[t] = -3.9;  // y^2 - 1.95: chaotic
    calm[t] = uniform(generator);
    both[2 * t] = wild[t];
    both[2 * t + 1] = calm[t];
  }
  const auto together = solve({0.3, 0}, both), alone = solve({0}, calm), chaos = solve({0.3}, wild);
  double off = 0;
  for (std::size_t t = 0; t < 500; ++t) off = std::max(off, std::abs(together[2 * t + 1] - alone[t]));
  CHECK(off < 1e-5);
  for (std::size_t t = 0; t < 12; ++t) CHECK(together[2 * t] == chaos[t]);
}
