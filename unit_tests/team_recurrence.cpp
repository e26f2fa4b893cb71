// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences whose step a team takes together: the bits of a host loop, whatever the segments.
#include "support/rings.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <utility>
#include <vector>

namespace {

using elaphos::SolveOptions;
using elaphos::SolveStatus;
using test::Exec;
using test::Memory;
using test::RingProblem;
using Sequence = elaphos::SequenceView<double, Memory>;
using State = elaphos::StateView<double, Memory>;

static_assert(elaphos::TeamRecurrence<test::TeamRing<double>>);
static_assert(!elaphos::BatchedRecurrence<test::TeamRing<double>>);
static_assert(!elaphos::TeamRecurrence<test::BatchedRing<double>>);

// As in docs/user-recurrences.md.
struct Reservoir {
  using scalar_type = double;
  elaphos::MatrixView<double> weights;  // (D, D)
  int state_size() const { return static_cast<int>(weights.extent(0)); }
  int input_size() const { return 1; }
  KOKKOS_FUNCTION void team_step(const auto& member, elaphos::StepContext, auto y, auto x, auto next) const {
    const int D = static_cast<int>(weights.extent(0));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      double sum = x[0];
      for (int j = 0; j < D; ++j) sum += weights(i, j) * y[j];
      next[i] = Kokkos::tanh(sum);
    });
  }
};
static_assert(elaphos::TeamRecurrence<Reservoir>);

// Chaotic maps side by side, over which the first state holds sway.
struct TeamChaos {
  using scalar_type = double;
  int D;
  int state_size() const { return D; }
  int input_size() const { return 0; }
  KOKKOS_FUNCTION static double entry(double y, double first) { return 4 * (y * (1 - y)) * (0.75 + first / 4); }
  KOKKOS_FUNCTION void team_step(const auto& member, elaphos::StepContext, auto y, auto, auto next) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) { next[i] = entry(y[i], y[0]); });
  }
};

// Forgets to write the last state.
struct Forgetful : test::TeamRing<double> {
  KOKKOS_FUNCTION void team_step(const auto& member, elaphos::StepContext, auto y, auto, auto next) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D - 1), [&](int i) { next[i] = y[i] / 2; });
  }
};

}  // namespace

TEMPLATE_TEST_CASE("team: bits of the host loop", "", float, double) {
  for (const int D : {1, 3, 17, 700}) {
    for (const std::int64_t T : {1, 2, 255, 257, 1000}) {
      if (D == 700 && T > 257) continue;
      for (const std::int64_t B : {1, 3}) {
        const RingProblem<TestType> problem(T, B, D, 2);
        const auto expected = problem.expected();
        for (const std::int64_t N : {std::int64_t(1), std::int64_t(2), std::int64_t(7), T}) {
          SolveOptions options;
          options.segments = N;
          options.verify = true;
          const auto report = problem.solve(problem.team(), options);
          CAPTURE(T, B, D, N, report.iterations());
          CHECK(report.converged());
          CHECK(report.verified_residual == 0.0);
          CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
        }
      }
    }
  }
}

TEST_CASE("team: segments that meet their trajectories stop") {
  const RingProblem<double> problem(10'000, 2, 40, 2);
  SolveOptions options;
  options.segments = 10;
  options.stop_when_stalled = false;
  const auto report = problem.solve(problem.team(), options);
  CHECK(report.status == SolveStatus::converged);
  CHECK(report.iterations() <= 3);
  CHECK(report.critical_path() < 1500);
  CHECK(report.work_factor() < 1.2);
  CHECK(test::different_bits(test::to_host(problem.y), problem.expected()) == 0);
}

TEST_CASE("team: the verified residual is the largest |y - f(y)|") {
  for (const std::int64_t N : {2, 7, 200}) {
    const RingProblem<double> problem(1000, 3, 20, 2);
    SolveOptions options;
    options.segments = N;
    options.verify = true;
    options.max_iterations = 1;
    options.at_limit = elaphos::AtLimit::return_iterate;
    const auto report = problem.solve(problem.team(), options);
    CHECK(*report.verified_residual > 0);
    CHECK(*report.verified_residual == problem.residual(test::to_host(problem.y)));
  }
}

TEST_CASE("team: chaos is completed sequentially") {
  const int D = 33;
  std::vector<double> state(D);
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = 0.3 + 0.01 * static_cast<double>(i);
  const State y0 = test::to_device<State>(state, 1, D);
  const Sequence y("y", 500, 1, D);
  SolveOptions options;
  options.segments = 30;
  options.max_iterations = 5;
  options.stop_when_stalled = false;
  options.verify = true;
  const auto report = elaphos::solve(Exec(), TeamChaos{D}, y0, Sequence(), y, options);
  CHECK(report.status == SolveStatus::completed_sequentially);
  CHECK(report.verified_residual == 0.0);
  const auto found = test::to_host(y);
  elaphos::solve_sequentially(Exec(), TeamChaos{D}, y0, Sequence(), y);
  CHECK(test::different_bits(test::to_host(y), found) == 0);
}

TEST_CASE("team: no steps, no sequences, and what is refused") {
  for (const auto& [T, B] : {std::pair{0, 3}, {5, 0}}) {
    const RingProblem<double> problem(T, B, 3, 2);
    CHECK(problem.solve(problem.team()).status == SolveStatus::converged);
  }
  const RingProblem<double> problem(10, 1, 3, 2);
  SolveOptions options;
  options.method = elaphos::Method::newton;
  CHECK_THROWS_WITH(problem.solve(problem.team(), options), Catch::Matchers::ContainsSubstring("no jacobian()"));
  const RingProblem<double> wide(1, 1, 5'000'000, 1);
  CHECK_THROWS_WITH(wide.solve(wide.team()), Catch::Matchers::ContainsSubstring("state_size() is 5000000"));
}

TEST_CASE("team: states as wide as the documentation promises") {
  const RingProblem<double> problem(40, 1, 2000, 3);
  SolveOptions options;
  options.segments = 3;
  CHECK(problem.solve(problem.team(), options).converged());
  CHECK(test::different_bits(test::to_host(problem.y), problem.expected()) == 0);
}

TEST_CASE("team: a second solve allocates nothing") {
  const RingProblem<double> problem(1000, 2, 17, 3);
  elaphos::Workspace<Exec> workspace;
  SolveOptions options;
  options.segments = 9;
  elaphos::solve(Exec(), problem.team(), problem.y0, problem.x, problem.y, options, workspace);
  const std::size_t bytes = workspace.bytes();
  elaphos::solve(Exec(), problem.team(), problem.y0, problem.x, problem.y, options, workspace);
  CHECK(workspace.bytes() == bytes);
}

TEST_CASE("team: the reservoir of the documentation") {
  const int D = 24;
  std::vector<double> numbers(D * D), drive(600);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(double(i * i)) / D;
  for (std::size_t t = 0; t < drive.size(); ++t) drive[t] = std::sin(0.1 * double(t));
  const Reservoir reservoir{test::to_device<elaphos::MatrixView<double>>(numbers, D, D)};
  const Sequence x = test::to_device<Sequence>(drive, 600, 1, 1), y("y", 600, 1, D);
  elaphos::solve_sequentially(Exec(), reservoir, State("y0", 1, D), x, y);
  const auto expected = test::to_host(y);
  SolveOptions options;
  options.segments = 4;
  CHECK(elaphos::solve(Exec(), reservoir, State("y0", 1, D), x, y, options).converged());
  CHECK(test::different_bits(test::to_host(y), expected) == 0);
}

TEST_CASE("team: check_recurrence passes what keeps the contract, and finds states that are not written") {
  const RingProblem<double> problem(100, 3, 70, 2);
  problem.solve(problem.team());
  CHECK(elaphos::check_recurrence(Exec(), problem.team(), problem.y0, problem.x, problem.y).passed);
  const auto found = elaphos::check_recurrence(Exec(), Forgetful{problem.team()}, problem.y0, problem.x, problem.y);
  CHECK_FALSE(found.passed);
  CHECK_THAT(found.message, Catch::Matchers::ContainsSubstring("state 69") &&
                                Catch::Matchers::ContainsSubstring("does not write all of next"));
}
