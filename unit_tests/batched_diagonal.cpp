// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Batched recurrences that know the diagonal of their Jacobian: the passes of the same recurrence in threads.
#include "support/sequences.hpp"
#include "support/rings.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <random>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::Method;
using elaphos::Sensitivity;
using elaphos::SolveOptions;
using elaphos::StepBatch;
using test::Exec;
using test::Indices;
using test::Memory;
using test::RingProblem;

// d saturated(sum) / d y_i, of a ring of D states.
template <class Scalar>
KOKKOS_FUNCTION Scalar own_slope(Scalar sum, int D) {
  const Scalar below = 1 + Kokkos::abs(sum);
  return Scalar(D == 1 ? 0.5 : 0.25) / (below * below);
}

template <class Scalar>
struct DiagonalRing : test::BatchedRing<Scalar> {
  int rows = 64;
  int rows_at_a_time() const { return rows; }

  template <class Space>
  void step_with_diagonal(const Space& exec, const StepBatch<Space, Scalar>& batch,
                          const typename StepBatch<Space, Scalar>::Diagonal& diagonal) const {
    this->step(exec, batch);
    const int states = this->D, inputs = this->I;
    Kokkos::parallel_for(
        "test::slopes", Indices<Space>(exec, 0, batch.count * states), KOKKOS_LAMBDA(std::int64_t index) {
          const std::int64_t r = index / states;
          const int i = static_cast<int>(index % states);
          const Scalar* x = batch.x.data() + r * inputs;
          diagonal(r, i) = own_slope(test::ring_sum(batch.at(r), &batch.y(r, 0), x, states, inputs, i), states);
        });
  }
};
static_assert(elaphos::BatchedRecurrenceWithDiagonal<DiagonalRing<double>>);
static_assert(!elaphos::BatchedRecurrenceWithDiagonal<test::BatchedRing<double>>);

template <class Scalar, int D, int I>
struct RingWithJacobian : test::LaneRing<Scalar, D, I> {
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext at, auto y, auto x, auto, auto J) const {
    for (int i = 0; i < D; ++i) {
      for (int j = 0; j < D; ++j) J(i, j) = 0;
    }
    for (int i = 0; i < D; ++i) {
      const Scalar slope = own_slope<Scalar>(test::ring_sum<Scalar>(at, y, x, D, I, i), D);
      J(i, i) = slope;
      if (D > 1) J(i, (i + 1) % D) = slope;
    }
  }
};

// Both solves make the same passes, and the same states, where as many workers are there.
template <class Scalar>
void check_same(const RingProblem<Scalar>& problem, const auto& lanes, const auto& rows, const auto& in,
                const SolveOptions& options) {
  const auto solve = [&](const auto& recurrence) {
    Kokkos::deep_copy(problem.y, Scalar(-77));
    return elaphos::solve(Exec(), recurrence, problem.y0, in, problem.y, options);
  };
  const auto expected = solve(lanes);
  const std::vector<Scalar> states = test::to_host(problem.y);
  const auto report = solve(rows);
  CHECK(report.converged());
  CHECK(report.plan.sensitivity == expected.plan.sensitivity);
  CHECK(report.plan.merge == expected.plan.merge);
  CHECK(report.max_residual == expected.max_residual);
  REQUIRE(report.passes.size() == expected.passes.size());
  for (std::size_t i = 0; i < expected.passes.size(); ++i) CHECK(report.passes[i].steps == expected.passes[i].steps);
  CHECK(test::different_bits(test::to_host(problem.y), states) == 0);
}

template <class Scalar, int D>
void check_ring() {
  for (const std::int64_t T : {1, 2, 255, 257, 1000}) {
    for (const std::int64_t B : {1, 3}) {
      const RingProblem<Scalar> problem(T, B, D, 2);
      for (const std::int64_t N : {std::int64_t(1), std::int64_t(2), std::int64_t(7), T}) {
        for (const Merge merge : {Merge::exact, Merge::tolerance}) {
          CAPTURE(T, B, D, N, int(merge));
          SolveOptions options;
          options.segments = N;
          options.method = Method::quasi_newton;
          options.merge = merge;
          check_same(problem, RingWithJacobian<Scalar, D, 2>{}, DiagonalRing<Scalar>{{D, 2}, Exec().concurrency()},
                     problem.x, options);
          const double allowed = merge == Merge::exact ? 0 : sizeof(Scalar) == 4 ? 1e-4 : 1e-5;
          CHECK(test::largest_difference(test::to_host(problem.y), problem.expected()) <= allowed);
        }
      }
    }
  }
}

// y' = a y + 1, with a = 0.5 and 1.6 in turn, forty steps each.
struct Swelling {
  using scalar_type = double;
  int state_size() const { return 1; }
  int input_size() const { return 0; }
  int rows_at_a_time() const { return 64; }
  KOKKOS_FUNCTION static double factor(std::int64_t t) { return t / 40 % 2 == 0 ? 0.5 : 1.6; }

  template <class Space>
  void step(const Space& exec, const StepBatch<Space, double>& batch) const {
    Kokkos::parallel_for(
        "test::swell", Indices<Space>(exec, 0, batch.count),
        KOKKOS_LAMBDA(std::int64_t r) { batch.next(r, 0) = factor(batch.at(r).t) * batch.y(r, 0) + 1; });
  }
  template <class Space>
  void step_with_diagonal(const Space& exec, const StepBatch<Space, double>& batch,
                          const typename StepBatch<Space, double>::Diagonal& diagonal) const {
    step(exec, batch);
    Kokkos::parallel_for(
        "test::factors", Indices<Space>(exec, 0, batch.count),
        KOKKOS_LAMBDA(std::int64_t r) { diagonal(r, 0) = factor(batch.at(r).t); });
  }
};

// Its next state depends on whether it was asked for the diagonal.
struct OtherBits : DiagonalRing<double> {
  template <class Space>
  void step_with_diagonal(const Space& exec, const StepBatch<Space, double>& batch,
                          const typename StepBatch<Space, double>::Diagonal& diagonal) const {
    DiagonalRing<double>::step_with_diagonal(exec, batch, diagonal);
    Kokkos::parallel_for(
        "test::other_bits", Indices<Space>(exec, 0, batch.count),
        KOKKOS_LAMBDA(std::int64_t r) { batch.next(r, 0) *= 1 + 1e-15; });
  }
};

}  // namespace

TEMPLATE_TEST_CASE("batched diagonal: the passes of threads", "", float, double) {
  check_ring<TestType, 1>();
  check_ring<TestType, 3>();
  check_ring<TestType, 17>();
}

TEST_CASE("batched diagonal: masks and resets") {
  const std::int64_t T = 500, B = 3;
  const RingProblem<double> problem(T, B, 3, 2);
  std::mt19937_64 generator(11);
  std::vector<bool> mask, resets;
  for (std::int64_t i = 0; i < T * B; ++i) {
    mask.push_back(generator() % 5 != 0);
    resets.push_back(generator() % 90 == 0);
  }
  // Nobody else holds these Views.
  const auto in =
      elaphos::inputs(problem.x).masked(test::flags_on_device(mask, T, B)).reset(test::flags_on_device(resets, T, B));
  for (const std::int64_t N : {5, 40}) {
    for (const Merge merge : {Merge::exact, Merge::tolerance}) {
      SolveOptions options;
      options.segments = N;
      options.method = Method::quasi_newton;
      options.merge = merge;
      check_same(problem, RingWithJacobian<double, 3, 2>{}, DiagonalRing<double>{{3, 2}, Exec().concurrency()}, in,
                 options);
    }
  }
}

TEST_CASE("batched diagonal: a tolerance is planned where passes with derivatives pay") {
  const RingProblem<double> problem(5000, 1, 3, 2);
  SolveOptions options;
  options.merge = Merge::tolerance;
  DiagonalRing<double> ring{{3, 2}};
  const auto report = problem.solve(ring, options);
  CHECK(report.converged());
  CHECK(report.plan.merge == Merge::tolerance);
  CHECK(report.plan.sensitivity == Sensitivity::diagonal);
  CHECK(report.work_factor() < 1.5);
  CHECK(test::largest_difference(test::to_host(problem.y), problem.expected()) <= 1e-6);

  ring.rows = 3;  // two passes with derivatives would take them longer than the loop
  CHECK(problem.solve(ring, options).plan.merge == Merge::exact);
  options.method = Method::newton;
  CHECK_THROWS_WITH(problem.solve(ring, options), Catch::Matchers::ContainsSubstring("only the diagonal"));
}

TEST_CASE("batched diagonal: differences that may grow again do not merge") {
  const std::int64_t T = 4000;
  const elaphos::SequenceView<double, Memory> x("x", T, 1, 0), y("y", T, 1, 1);
  SolveOptions options;
  options.merge = Merge::tolerance;
  options.method = Method::quasi_newton;
  options.segments = 25;
  options.tolerance = {1e-6, 1e-300};
  const auto report = elaphos::solve(Exec(), Swelling{}, elaphos::StateView<double, Memory>("y0", 1, 1), x, y, options);
  CHECK(report.converged());
  double state = 0, largest = 0;
  const std::vector<double> found = test::to_host(y);
  for (std::int64_t t = 0; t < T; ++t) {
    state = Swelling::factor(t) * state + 1;
    largest = std::max(largest, std::abs(found[std::size_t(t)] - state) / std::max(1.0, std::abs(state)));
  }
  CHECK(largest <= 1e-12);
}

TEST_CASE("batched diagonal: a step that makes other bits is found") {
  const RingProblem<double> problem(50, 2, 3, 2);
  problem.solve(problem.batched());
  const DiagonalRing<double> ring{{3, 2}};
  CHECK(elaphos::check_recurrence(Exec(), ring, problem.y0, problem.x, problem.y).passed);
  const auto check = elaphos::check_recurrence(Exec(), OtherBits{{{3, 2}}}, problem.y0, problem.x, problem.y);
  CHECK_FALSE(check.passed);
  CHECK_THAT(check.message, Catch::Matchers::ContainsSubstring("by step_with_diagonal"));
}
