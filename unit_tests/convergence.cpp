// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How fast the iteration converges, and that it does at sizes that need 64-bit care.
#include "support/layers.hpp"
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

/// y' = y / 2 + t mod 7 in float: forgets its start within some 30 steps.
struct Settling {
  using scalar_type = float;
  static constexpr int state_size = 1, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto, auto, auto next) const {
    next[0] = Kokkos::fma(0.5f, y[0], static_cast<float>(at.t % 7));
  }
};

/// The period of the input is the period of the states, bit for bit, once the start is forgotten.
struct CountUnsettled {
  const float* y;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& count) const {
    if (y[1000 + i] != y[1007 + i]) ++count;
  }
};

SolveReport settle(std::int64_t T, const SolveOptions& options) {
  elaphos::StateView<float, test::Memory> y0("test::y0", 1, 1);
  elaphos::SequenceView<float, test::Memory> x("test::x", static_cast<std::size_t>(T), 1, 0);
  elaphos::SequenceView<float, test::Memory> y("test::y", static_cast<std::size_t>(T), 1, 1);
  const SolveReport report = elaphos::solve(test::Exec(), Settling(), y0, x, y, options);
  std::int64_t different = 0;
  Kokkos::parallel_reduce("test::count_unsettled",
                          Kokkos::RangePolicy<test::Exec, Kokkos::IndexType<std::int64_t>>(0, T - 1007),
                          CountUnsettled{y.data()}, different);
  CHECK(different == 0);
  return report;
}

// From 1000 steps to `last`, each size `factor` times the one before, by `most` passes more.
void check_growth(std::int64_t last, std::int64_t factor, int most) {
  int before = 0;
  for (std::int64_t T = 1000; T <= last; T *= factor) {
    auto problem = test::random_problem<double>(test::CellKind::gru, 1, 1, T, 1, 22);
    const SolveReport report = problem.solve(newton_on_every_step());
    CAPTURE(T, before);
    CHECK(report.status == elaphos::SolveStatus::converged);
    if (before > 0) CHECK(report.iterations() <= before + most);
    before = report.iterations();
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

TEST_CASE("convergence: passes grow little with T") { check_growth(256'000, 2, 1); }

// The last size takes a gigabyte.
TEST_CASE("convergence: passes grow little with T, to ten million", "[.long]") { check_growth(10'000'000, 10, 3); }

TEST_CASE("convergence: a million segments") {
  SolveOptions options;
  options.segments = 1'000'000;
  const SolveReport report = settle(4'000'000, options);
  CHECK(report.plan.segments == 1'000'000);
  CHECK(report.converged());
}

TEST_CASE("convergence: a hundred million steps", "[.long]") {
  const SolveReport report = settle(100'000'000, {});
  CHECK(report.converged());
  CHECK(report.work_factor() < 1.1);
}
