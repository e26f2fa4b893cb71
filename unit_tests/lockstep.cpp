// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Segments that a host's thread advances together: the bits are those of the loop, which takes a sequence alone.
#include "support/layers.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using test::CellKind;
using test::Exec;
using test::LayerProblem;

// So many fill the lanes of one, two or four threads well enough for wide cells to be advanced in lanes, too, and leave
// some without a segment.
constexpr std::int64_t filling = 127;

SolveOptions in_segments(std::int64_t segments, Merge merge = Merge::exact) {
  SolveOptions options;
  options.segments = segments;
  options.merge = merge;
  if (merge == Merge::tolerance) options.method = elaphos::Method::jacobi;
  return options;
}

// Entries that differ; which NaN a NaN is may depend on the order of operands.
template <class Scalar>
std::size_t different_numbers(const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
  std::size_t count = a.size() == b.size() ? 0 : a.size() + b.size();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const bool same = std::isnan(a[i]) ? std::isnan(b[i]) : elaphos::impl::same_bits(a[i], b[i]);
    if (!same) ++count;
  }
  return count;
}

template <class Scalar>
void check_layer(CellKind kind, int D, int I, std::int64_t T, std::int64_t B, std::int64_t segments) {
  CAPTURE(D, I, T, B, segments);
  auto problem = test::random_problem<Scalar>(kind, D, I, T, B, static_cast<std::uint64_t>(D));
  const std::vector<Scalar> expected = problem.sequential();
  SolveReport report = problem.solve(in_segments(segments));
  CHECK(report.plan.segments <= segments);
  CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
  // Lanes take the first pass, and tangents go on from what they leave.
  report = problem.solve(in_segments(segments, Merge::tolerance));
  CHECK(report.converged());
  CHECK(test::largest_difference(test::to_host(problem.y), expected) <= (sizeof(Scalar) == 8 ? 1e-5 : 1e-4));
}

/// Forgets its past, at a pace that the input sets.
template <class Scalar>
struct Forgetful {
  using scalar_type = Scalar;
  static constexpr int state_size = 3, input_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto x, auto, auto next) const {
    next[0] = Scalar(0.5) * y[1] + x[0];
    next[1] = Scalar(0.25) * y[0] * y[2] - Scalar(at.t % 7) * Scalar(0.1);
    next[2] = x[0] * Scalar(0.4) / (Scalar(1) + y[0] * y[0]) + Scalar(at.b);
  }
};

}  // namespace

TEMPLATE_TEST_CASE("lockstep: segments together have the bits of the loop", "", float, double) {
  for (const int D : {1, 2, 3, 4, 5, 8, 16, 17, 32, 33}) {
    for (const std::int64_t T : {1, 2, 127, 255, 256, 257, 3001}) {
      check_layer<TestType>(CellKind::gru, D, D == 5 ? 1 : D, T, 1, filling);
    }
    check_layer<TestType>(CellKind::gru, D, 2, 1000, 3, 61);
    check_layer<TestType>(CellKind::lstm, D, 3, 1001, 1, filling);
    check_layer<TestType>(CellKind::elman, D, 1, 1001, 1, filling);
  }
  for (const std::int64_t segments : {61, 64, 65, 200}) check_layer<TestType>(CellKind::gru, 4, 4, 10'001, 1, segments);
}

TEMPLATE_TEST_CASE("lockstep: segments merge after different numbers of steps", "", float, double) {
  for (const int D : {1, 4, 17}) {
    auto problem = test::random_problem<TestType>(CellKind::gru, D, D, 65'537, 1, 7);
    const std::vector<TestType> expected = problem.sequential();
    SolveOptions options = in_segments(filling);
    options.stop_when_stalled = false;  // no probe: all segments at once
    const SolveReport report = problem.solve(options);
    CAPTURE(D, report.iterations(), report.work_factor());
    CHECK(report.converged());
    CHECK(report.iterations() > 1);
    CHECK(report.work_factor() > 1);
    CHECK(report.work_factor() < 1.5);
    CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
    // What a pass evaluated: the first all steps, the others up to the merges, which are not all at once.
    CHECK(report.passes[0].steps == problem.T);
    CHECK(report.passes[1].longest_run * (filling - 1) > report.passes[1].steps);
  }
}

TEMPLATE_TEST_CASE("lockstep: segments together count the steps that segments alone do", "", float, double) {
  const int D = GENERATE(2, 20);
  auto problem = test::random_problem<TestType>(CellKind::gru, D, 2, 12'700, 1, 9);
  SolveOptions options = in_segments(filling);
  options.stop_when_stalled = false;
  const SolveReport together = problem.solve(options);
  // With sensitivities, if useless ones, a thread takes one segment after another.
  options.method = elaphos::Method::quasi_newton;
  options.sensitivity_limit = 1e-30;
  const SolveReport alone = problem.solve(options);
  REQUIRE(together.iterations() == alone.iterations());
  for (std::size_t pass = 0; pass < together.passes.size(); ++pass) {
    CHECK(together.passes[pass].active_segments == alone.passes[pass].active_segments);
    CHECK(together.passes[pass].steps == alone.passes[pass].steps);
    CHECK(together.passes[pass].longest_run == alone.passes[pass].longest_run);
  }
}

TEMPLATE_TEST_CASE("lockstep: many sequences have the bits that each has alone", "", float, double) {
  constexpr std::int64_t T = 50, B = filling;
  for (const int D : {1, 4, 17}) {
    CAPTURE(D);
    auto problem = test::random_problem<TestType>(CellKind::gru, D, D, T, B, 3);
    const std::vector<TestType> together = problem.sequential();
    const auto size = static_cast<std::size_t>(D);
    for (std::size_t b = 0; b < B; b += 13) {
      std::vector<double> x, y0(problem.y0_host.begin() + static_cast<std::ptrdiff_t>(b * size),
                                problem.y0_host.begin() + static_cast<std::ptrdiff_t>((b + 1) * size));
      std::vector<TestType> expected;
      for (std::size_t t = 0; t < T; ++t) {
        for (std::size_t i = 0; i < size; ++i) {
          x.push_back(problem.x_host[(t * B + b) * size + i]);
          expected.push_back(together[(t * B + b) * size + i]);
        }
      }
      LayerProblem<TestType> alone(problem.layer, T, 1, y0, x);
      CHECK(test::different_bits(alone.sequential(), expected) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("lockstep: numbers that are none stay in their lane", "", float, double) {
  using Limits = std::numeric_limits<double>;
  for (const int D : {1, 4, 17}) {
    auto problem = test::random_problem<TestType>(CellKind::gru, D, D, 4000, 1, 5);
    for (const std::size_t t : {std::size_t(1000), std::size_t(1003), std::size_t(3990)}) {
      problem.x_host[t * static_cast<std::size_t>(D)] = t == 1003 ? Limits::quiet_NaN() : Limits::infinity();
    }
    LayerProblem<TestType> spoilt(problem.layer, 4000, 1, problem.y0_host, problem.x_host);
    const std::vector<TestType> expected = spoilt.sequential();
    const SolveReport report = spoilt.solve(in_segments(filling));
    CAPTURE(D, to_string(report.status));
    REQUIRE(report.first_non_finite.has_value());
    CHECK(report.first_non_finite->t == 1003);
    CHECK(different_numbers(test::to_host(spoilt.y), expected) == 0);
  }
}

TEMPLATE_TEST_CASE("lockstep: a user's segments in turn have the bits of the loop", "", float, double) {
  using State = elaphos::StateView<TestType, test::Memory>;
  using Sequence = elaphos::SequenceView<TestType, test::Memory>;
  for (const std::int64_t B : {1, 3}) {
    for (const std::int64_t T : {1, 2, 7, 255, 256, 257, 65'537}) {
      std::mt19937_64 generator(23);
      const auto x = test::to_device<Sequence>(test::normal(generator, static_cast<std::size_t>(T * B)), T, B, 1);
      const auto y0 = test::to_device<State>(test::uniform(generator, static_cast<std::size_t>(3 * B), 1), B, 3);
      const Sequence y("test::y", static_cast<std::size_t>(T), static_cast<std::size_t>(B), 3);
      elaphos::solve(Exec(), Forgetful<TestType>{}, y0, x, y, in_segments(1));
      const std::vector<TestType> expected = test::to_host(y);
      for (const std::int64_t segments : {2, 3, 5, 7, 8, 61}) {
        CAPTURE(B, T, segments);
        Kokkos::deep_copy(y, TestType(NAN));
        const SolveReport report = elaphos::solve(Exec(), Forgetful<TestType>{}, y0, x, y, in_segments(segments));
        CHECK(report.converged());
        CHECK(test::different_bits(test::to_host(y), expected) == 0);
      }
    }
  }
}
