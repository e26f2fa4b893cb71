// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Growth estimates against systems whose largest Lyapunov exponent is known.
#include "support/systems.hpp"
#include "truth/systems.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>

#include <cmath>

namespace {

using Catch::Matchers::WithinAbs;
using elaphos::Method;
using elaphos::SolveOptions;

// Lorenz' flow by one classical Runge-Kutta step of 0.01. (By Euler's it is another system: 1.03 a unit of time.)
struct LorenzStep {
  using scalar_type = double;
  static constexpr int state_size = 3, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const {
    truth::runge_kutta_step<3, truth::LorenzFlow>(y, next);
  }
};

SolveOptions growing(std::int64_t steps_per_segment) {
  SolveOptions options;
  options.method = Method::newton;
  options.steps_per_segment = steps_per_segment;
  options.max_iterations = 1'000'000;  // chaos moves on by a segment a pass
  options.stop_when_stalled = false;
  options.estimate_growth = true;
  return options;
}

template <class System>
double rate_of(System system, std::int64_t steps_per_segment = 10) {
  const auto report = system.solve(growing(steps_per_segment));
  REQUIRE(report.growth_rate.has_value());
  return *report.growth_rate;
}

}  // namespace

TEST_CASE("growth: linear maps") {
  using test::System;
  CHECK_THAT(rate_of(System<test::LeakyIntegrator>{{0.25}, 1000, 2, {1, 2}, std::vector<double>(2000, 1.0), {}}),
             WithinAbs(std::log(0.75), 1e-12));
  CHECK_THAT(rate_of(System<test::Doubling<double>>{{}, 500, 1, {1}, {}, {}}), WithinAbs(std::log(2.0), 1e-12));
  // Half of the steps shrink, half grow.
  CHECK_THAT(rate_of(System<test::Breathing>{{10, 0.5, 1.5}, 1000, 1, {1}, {}, {}}),
             WithinAbs(std::log(0.75) / 2, 1e-12));
  // Quarter turns keep lengths.
  CHECK_THAT(rate_of(System<test::AlternatingIntegerMap>{{}, 500, 1, {1, 2, 3}, std::vector<double>(1500, 1.0), {}}),
             WithinAbs(0, 1e-12));
}

TEST_CASE("growth: the logistic map at r = 4 doubles differences") {
  CHECK_THAT(rate_of(test::System<test::LogisticMap>{{}, 20'000, 1, {0.3}, {}, {4}}, 20), WithinAbs(std::log(2.0), 0.01));
  // At r = 2.5 the fixed point 0.6 has the derivative -1/2.
  CHECK_THAT(rate_of(test::System<test::LogisticMap>{{}, 5000, 1, {0.3}, {}, {2.5}}), WithinAbs(-std::log(2.0), 0.01));
}

TEST_CASE("growth: Lorenz' flow has the exponent 0.906 a unit of time") {
  // 0.9056 in Sprott, Chaos and Time-Series Analysis, Oxford University Press, 2003.
  const double rate = rate_of(
      test::System<truth::Differentiated<LorenzStep>>{{}, 100'000, 1, {-9.7869288, -15.03852, 20.533978}, {}, {}}, 200);
  CHECK_THAT(rate / 0.01, WithinAbs(0.906, 0.03));
}

TEST_CASE("growth: the pendulum without friction neither grows nor forgets") {
  CHECK_THAT(rate_of(test::System<truth::Differentiated<truth::Pendulum>>{{}, 50'000, 1, {1, 0}, {}, {}}, 100),
             WithinAbs(0, 1e-3));
}

TEST_CASE("growth: the largest of a batch counts") {
  CHECK_THAT(rate_of(test::System<test::Riccati>{{}, 2000, 2, {0.2, 0.1}, std::vector<double>(4000, 0.4), {}}),
             WithinAbs(std::log(1 - std::sqrt(1 - 0.8)), 1e-3));
}

TEST_CASE("growth: unknown where nothing was carried, or products leave the numbers' range") {
  test::System<test::LeakyIntegrator> system{{0.25}, 20'000, 1, {1}, std::vector<double>(20'000, 1.0), {}};
  SolveOptions options = growing(10'000);  // 0.75^10000 is 0
  CHECK_FALSE(system.solve(options).growth_rate.has_value());
  options = growing(10);
  options.method = Method::quasi_newton;
  CHECK_FALSE(system.solve(options).growth_rate.has_value());
  options = growing(10);
  options.estimate_growth = false;
  CHECK_FALSE(system.solve(options).growth_rate.has_value());
  options = growing(10);
  options.window_steps = 5000;
  const auto windows = system.solve(options);
  REQUIRE(windows.growth_rate.has_value());
  CHECK_THAT(*windows.growth_rate, WithinAbs(std::log(0.75), 1e-12));
}
