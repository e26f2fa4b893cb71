// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast the iteration converges, and that it does at sizes that need 64-bit care.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/systems.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;

SolveOptions newton_on_every_step() {
  SolveOptions options;
  options.method = Method::newton;
  options.steps_per_segment = 1;
  options.merge = Merge::tolerance;
  return options;
}

SolveOptions planned(Merge merge) {
  SolveOptions options;
  options.merge = merge;
  return options;
}

/// y' = y / 2 + t mod 7 in float: forgets its start within some 30 steps.
struct Settling {
  using scalar_type = float;
  static constexpr int state_size = 1, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto, auto, auto next) const {
    next[0] = Kokkos::fma(0.5f, y[0], static_cast<float>(at.t % 7));
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const { J(0, 0) = 0.5f; }
};

constexpr std::int64_t settled = 700;  // a multiple of the input's period, long after the start is forgotten

/// The same by a plain loop on the host, whose bits IEEE 754 gives: the start, and one period.
std::vector<float> settling_loop() {
  std::vector<float> out;
  float y = 0;
  for (std::int64_t t = 0; t < settled + 7; ++t) out.push_back(y = std::fma(0.5f, y, static_cast<float>(t % 7)));
  return out;
}

/// Once the start is forgotten, the period of the input is the period of the states, bit for bit. Row r of y is the
/// state after step min((r + 1) every, T).
struct CountWrong {
  const float* y;
  const float* loop;
  std::int64_t every, steps;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t& count) const {
    const std::int64_t after = (row + 1) * every, t = (after < steps ? after : steps) - 1;
    if (y[row] != loop[t < settled ? t : settled + t % 7]) ++count;
  }
};

SolveReport settle(std::int64_t T, SolveOptions options) {
  const std::int64_t every = options.keep_every, rows = (T + every - 1) / every;
  options.steps = T;
  const elaphos::StateView<float, test::Memory> y0("test::y0", 1, 1);
  const elaphos::SequenceView<float, test::Memory> x;
  const elaphos::SequenceView<float, test::Memory> y("test::y", static_cast<std::size_t>(rows), 1, 1);
  const SolveReport report = elaphos::solve(test::Exec(), Settling(), y0, x, y, options);
  const auto loop = test::to_device<elaphos::VectorView<float, test::Memory>>(settling_loop(), settled + 7);
  std::int64_t wrong = 0;
  Kokkos::parallel_reduce("test::count_wrong",
                          Kokkos::RangePolicy<test::Exec, Kokkos::IndexType<std::int64_t>>(0, rows),
                          CountWrong{y.data(), loop.data(), every, T}, wrong);
  CHECK(wrong == 0);
  CHECK(report.converged());
  CHECK(report.steps == T);
  return report;
}

SolveOptions keeping(std::int64_t every, std::int64_t window) {
  SolveOptions options;
  options.keep_every = every;
  options.window_steps = window;
  return options;
}

// From 1000 steps to `last`, each size `factor` times the one before, by `most` passes more; and right. A loop's one
// pass is no measure: it has no node to correct.
void check_growth(int D, std::int64_t last, std::int64_t factor, int most, const SolveOptions& options) {
  int before = 0;
  for (std::int64_t T = 1000; T <= last; T *= factor) {
    auto problem = test::random_problem<double>(test::CellKind::gru, D, 1, T, 1, 22);
    const SolveReport report = problem.solve(options);
    CAPTURE(D, T, before, report.iterations());
    CHECK(report.status == elaphos::SolveStatus::converged);
    const bool loop = report.plan.segments == 1;
    if (before > 0 && !loop) CHECK(report.iterations() <= before + most);
    const auto expected = test::plain_loop(problem.layer, T, 1, problem.y0_host, problem.x_host);
    CHECK(test::largest_difference(test::to_host(problem.y), expected) < 1e-6);
    if (!loop) before = report.iterations();
  }
}

}  // namespace

TEST_CASE("convergence: Newton on every step is quadratic") {
  for (const int D : {1, 8, 32}) {
    auto problem = test::random_problem<double>(test::CellKind::gru, D, D, 2000, 1, 21);
    SolveOptions options = newton_on_every_step();
    options.tolerance = elaphos::Tolerance{1e-14, 0};
    const SolveReport report = problem.solve(options);
    std::vector<double> moved;
    for (const auto& pass : report.passes) {
      if (pass.max_correction > 1e-13) moved.push_back(pass.max_correction);  // below is rounding
    }
    CAPTURE(D, moved);
    REQUIRE(moved.size() >= 3);
    CHECK(moved.back() < 1e-3);
    CHECK(std::log(moved.back()) / std::log(moved[moved.size() - 2]) >= 1.8);
  }
}

TEST_CASE("convergence: passes grow little with T") { check_growth(1, 256'000, 2, 1, newton_on_every_step()); }

// The last size takes one gigabyte with one state, two with two.
TEST_CASE("convergence: passes grow little with T, to ten million", "[.long]") {
  for (const int D : {1, 2}) check_growth(D, 10'000'000, 10, 3, newton_on_every_step());
}

TEST_CASE("convergence: passes over the planner's own segments grow as little") {
  check_growth(1, 256'000, 4, 1, planned(Merge::exact));
  check_growth(1, 256'000, 4, 1, planned(Merge::tolerance));
}

TEST_CASE("convergence: passes over the planner's own segments, to ten million", "[.long]") {
  for (const int D : {1, 2}) {
    check_growth(D, 10'000'000, 10, 1, planned(Merge::exact));
    check_growth(D, 10'000'000, 10, 1, planned(Merge::tolerance));
  }
}

TEST_CASE("convergence: a million segments") {
  SolveOptions options;
  options.segments = 1'000'000;
  const SolveReport report = settle(4'000'000, options);
  CHECK(report.plan.segments == 1'000'000);
}

// The node scan, over as many nodes.
TEST_CASE("convergence: a million segments, by each method", "[.long]") {
  for (const auto method : test::methods) {
    SolveOptions options;
    options.segments = 1'000'000;
    options.method = method;
    const SolveReport report = settle(4'000'000, options);
    CAPTURE(to_string(method));
    CHECK(report.plan.segments == 1'000'000);
  }
}

TEST_CASE("convergence: many steps by windows, of which few are kept") {
  CHECK(settle(2'000'000, keeping(1, 300'000)).windows == 7);
  CHECK(settle(2'000'000, keeping(1, 0)).windows == 1);
  // The first states that are kept of the windows come 1, 2, 3, ... steps after what goes before.
  CHECK(settle(2'000'000, keeping(1003, 1003 * 299 - 1)).windows == 7);
  // A window of the solver's own size: a device's is larger than all of it.
  CHECK(settle(2'000'000, keeping(2'000'000, 0)).windows >= 1);
}

TEST_CASE("convergence: a hundred million steps", "[.long]") { CHECK(settle(100'000'000, {}).work_factor() < 1.1); }

TEST_CASE("convergence: a hundred million steps by windows, of which few are kept", "[.long]") {
  CHECK(settle(100'000'000, keeping(1, 3'000'000)).windows == 34);
  CHECK(settle(100'000'000, keeping(1003, 1003 * 2991 - 1)).windows == 34);
  CHECK(settle(100'000'000, keeping(100'000'000, 0)).windows > 1);
}
