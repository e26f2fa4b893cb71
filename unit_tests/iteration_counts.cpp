// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How many passes the segmented Newton iteration takes on GRUs of known kind: T = 2048, tolerance 1e-5 on the nodes,
// nodes guessed as the initial state. The expected numbers are those of an independent NumPy prototype.
#include "support/layers.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace {

using elaphos::Method;

constexpr std::int64_t steps = 2048;
constexpr int seeds = 20;

struct System {
  const char* name;
  int D;
  double gain;
  double update_bias;
};

test::LayerProblem<double> make_problem(const System& system, int seed) {
  std::mt19937_64 generator(static_cast<std::uint64_t>(seed));
  test::Layer layer = test::random_layer(test::CellKind::gru, system.D, system.D, generator, system.gain);
  const std::size_t D = static_cast<std::size_t>(system.D);
  for (std::size_t j = 0; j < D; ++j) layer.b_ih[D + j] += system.update_bias;
  const std::vector<double> x = test::normal(generator, static_cast<std::size_t>(steps) * D);
  return {layer, steps, 1, std::vector<double>(D, 0.0), x};
}

elaphos::SolveOptions make_options(std::int64_t steps_per_segment, Method method) {
  elaphos::SolveOptions options;
  options.tolerance = elaphos::Tolerance{1e-5, 0};
  options.merge = elaphos::Merge::tolerance;
  options.steps_per_segment = steps_per_segment;
  options.method = method;
  options.max_iterations = static_cast<int>(steps);
  options.verify = true;
  return options;
}

// The upper of the two middle ones.
int median_iterations(const System& system, std::int64_t steps_per_segment, Method method) {
  std::vector<int> iterations;
  for (int seed = 1; seed <= seeds; ++seed) {
    auto problem = make_problem(system, seed);
    const auto report = problem.solve(make_options(steps_per_segment, method));
    CAPTURE(seed);
    CHECK(report.status == elaphos::SolveStatus::converged);
    CHECK(report.verified_residual <= 1e-5);
    iterations.push_back(report.iterations());
  }
  std::sort(iterations.begin(), iterations.end());
  return iterations[iterations.size() / 2];
}

struct Expected {
  std::int64_t steps_per_segment;
  int dense;
  int diagonal;
};

void check_counts(const System& system, const std::vector<Expected>& table) {
  for (const Expected& row : table) {
    CAPTURE(system.name, row.steps_per_segment);
    const int dense = median_iterations(system, row.steps_per_segment, Method::newton);
    const int diagonal = median_iterations(system, row.steps_per_segment, Method::quasi_newton);
    UNSCOPED_INFO("S = " << row.steps_per_segment << ": dense " << dense << ", diagonal " << diagonal);
    CHECK(dense <= row.dense + 1);
    CHECK(diagonal <= row.diagonal + 1);
  }
}

}  // namespace

TEST_CASE("iteration counts: default initialisation") {
  check_counts({"GRU D=32", 32, 1, 0}, {{1, 4, 10}, {32, 2, 2}, {128, 2, 2}});
}

TEST_CASE("iteration counts: weights times 3") {
  check_counts({"GRU D=32, weights x 3", 32, 3, 0}, {{1, 6, 47}, {32, 3, 4}, {128, 2, 2}});
}

TEST_CASE("iteration counts: long memory") {
  check_counts({"GRU D=16, update bias + 6", 16, 1, 6}, {{1, 4, 8}, {32, 4, 7}, {128, 4, 6}});
}

namespace {

void check_near_chaos(int seed, std::int64_t steps_per_segment, Method method) {
  CAPTURE(seed, steps_per_segment, to_string(method));
  auto problem = make_problem({"GRU D=16, weights x 5", 16, 5, 0}, seed);
  const std::vector<double> sequential = problem.sequential();
  elaphos::SolveOptions options = make_options(steps_per_segment, method);
  options.merge = elaphos::Merge::exact;
  options.verify = false;
  options.stop_when_stalled = false;
  const auto report = problem.solve(options);
  UNSCOPED_INFO("iterations " << report.iterations());
  CHECK(report.status == elaphos::SolveStatus::converged);
  CHECK(report.iterations() <= report.plan.segments);
  CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
}

}  // namespace

TEST_CASE("iteration counts: near chaos every seed ends right") {
  for (int seed = 1; seed <= seeds; ++seed) {
    for (const std::int64_t steps_per_segment : {32, 128}) {
      for (const Method method : {Method::newton, Method::quasi_newton}) {
        check_near_chaos(seed, steps_per_segment, method);
      }
    }
  }
}

// Per-step Newton without damping diverges on its way here; the frontier brings it home, in up to 2048 passes. Minutes
// for all seeds, so the long form is run by name only.
TEST_CASE("iteration counts: near chaos, a step per segment") {
  check_near_chaos(1, 1, Method::quasi_newton);
}

TEST_CASE("iteration counts: near chaos, a step per segment, all seeds", "[.long]") {
  for (int seed = 1; seed <= seeds; ++seed) {
    check_near_chaos(seed, 1, Method::quasi_newton);
    check_near_chaos(seed, 1, Method::newton);
  }
}
