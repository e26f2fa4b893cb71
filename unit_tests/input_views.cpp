// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inputs of users' recurrences that begin and pause anywhere, features in several Views, and what is refused.
#include "support/layers.hpp"
#include "support/refusal.hpp"
#include "support/rings.hpp"
#include "support/sequences.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace {

using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using test::Exec;
using test::Flags;
using test::Memory;
using test::Offsets;

// The plain loop over a ring, of sequences that begin and pause anywhere.
struct RingTimes {
  std::vector<std::int64_t> offsets;  // packed, or empty
  std::vector<bool> mask, resets;     // or empty

  template <class Scalar>
  std::vector<Scalar> expected(const test::RingProblem<Scalar>& problem) const {
    std::vector<Scalar> all(std::size_t(problem.T * problem.B * problem.D));
    for (std::int64_t b = 0; b < problem.B; ++b) {
      std::vector<Scalar> state(&problem.y0_here[std::size_t(b * problem.D)],
                                &problem.y0_here[std::size_t(b * problem.D)] + problem.D);
      std::int64_t sequence = -1;
      for (std::int64_t t = 0; t < problem.T; ++t) {
        const std::int64_t entry = t * problem.B + b;
        elaphos::StepContext at{t, b};
        std::int64_t beginning = !resets.empty() && resets[std::size_t(entry)] ? b : -1;
        if (!offsets.empty()) {
          while (offsets[std::size_t(sequence + 1)] <= t) beginning = ++sequence;
          at = {t - offsets[std::size_t(sequence)], sequence};
        }
        if (beginning >= 0) {
          const Scalar* from = &problem.y0_here[std::size_t(beginning * problem.D)];
          state.assign(from, from + problem.D);
        }
        if (mask.empty() || mask[std::size_t(entry)]) {
          std::vector<Scalar> next;
          for (int i = 0; i < problem.D; ++i) {
            next.push_back(test::saturated(test::ring_sum(
                at, state.data(), &problem.x_here[std::size_t(entry * problem.I)], problem.D, problem.I, i)));
          }
          state = next;
        }
        std::ranges::copy(state, all.begin() + entry * problem.D);
      }
    }
    return all;
  }
};

template <class Scalar>
void check_rings(const test::RingProblem<Scalar>& problem, const auto& y0, const auto& in,
                 const std::vector<Scalar>& expected) {
  const auto check = [&](const char* kind, const auto& recurrence, const SolveOptions& options) {
    CAPTURE(kind, options.segments, options.window_steps);
    Kokkos::deep_copy(problem.y, Scalar(NAN));
    SolveOptions verified = options;
    verified.verify = true;
    const SolveReport report = elaphos::solve(Exec(), recurrence, y0, in, problem.y, verified);
    CHECK(report.verified_residual == 0.0);
    CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
  };
  for (const std::int64_t segments : {0, 1, 2, 9, 100}) {
    SolveOptions options;
    options.segments = segments;
    if (segments == 2) options.window_steps = 77;
    check("thread", test::LaneRing<Scalar, 5, 3>{}, options);
    check("team", problem.team(), options);
    check("batched", problem.batched(), options);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("inputs: what users' recurrences are told of packed, masked and reset sequences", "", float,
                   double) {
  const std::vector<std::int64_t> lengths{3, 0, 190, 1, 256, 0, 0, 50, 2};
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  // The initial states of as many sequences, of which the last are not used as data of their own.
  const test::RingProblem<TestType> states(1, 9, 5, 3), packed_data(offsets.back(), 1, 5, 3, 8);
  test::RingProblem<TestType> packed = packed_data;
  packed.y0_here = states.y0_here;
  const Offsets device_offsets = test::to_device<Offsets>(offsets, std::int64_t(offsets.size()));
  check_rings(packed, states.y0, elaphos::inputs(packed.x).packed(device_offsets),
              RingTimes{offsets, {}, {}}.expected(packed));

  const test::RingProblem<TestType> problem(400, 3, 5, 3);
  RingTimes times;
  std::mt19937_64 generator(1);
  for (int entry = 0; entry < 1200; ++entry) {
    times.mask.push_back(entry % 3 == 1 || generator() % 4 != 0);
    times.resets.push_back(generator() % 90 == 0);
  }
  const Flags mask = test::flags_on_device(times.mask, 400, 3), resets = test::flags_on_device(times.resets, 400, 3);
  check_rings(problem, problem.y0, elaphos::inputs(problem.x).masked(mask).reset(resets), times.expected(problem));
}

TEMPLATE_TEST_CASE("inputs: features in several Views are one input", "", float, double) {
  const std::int64_t T = 300, B = 2;
  for (const auto& sizes : {std::vector<int>{5}, {1, 4}, {2, 1, 2}, {1, 1, 1, 1, 1}}) {
    test::LayerProblem<TestType> whole = test::random_problem<TestType>(test::CellKind::gru, 17, 5, T, B, 3);
    const auto expected = whole.sequential();
    std::vector<elaphos::SequenceView<TestType, Memory>> views;
    int first = 0;
    for (const int size : sizes) {
      std::vector<double> part;
      for (std::int64_t entry = 0; entry < T * B; ++entry) {
        for (int i = 0; i < size; ++i) part.push_back(whole.x_host[std::size_t(entry * 5 + first + i)]);
      }
      views.push_back(test::to_device<elaphos::SequenceView<TestType, Memory>>(part, T, B, size));
      first += size;
    }
    const auto solve_with = [&](const auto& in) {
      for (const std::int64_t segments : {1, 10}) {
        SolveOptions options;
        options.segments = segments;
        options.verify = true;
        options.method = segments == 1 ? Method::jacobi : Method::quasi_newton;
        CHECK(test::solve_layer<TestType>(whole.layer, whole.y0, in, whole.y, options).verified_residual == 0.0);
        CHECK(test::different_bits(test::to_host(whole.y), expected) == 0);
      }
    };
    if (sizes.size() == 1) solve_with(elaphos::inputs(views[0]));
    if (sizes.size() == 2) solve_with(elaphos::inputs(views[0], views[1]));
    if (sizes.size() == 3) solve_with(elaphos::inputs(views[0], views[1], views[2]));
    if (sizes.size() == 5) solve_with(elaphos::inputs(views[0], views[1], views[2], views[3], views[4]));
  }
}

TEST_CASE("inputs: features in several Views for users' recurrences and wide cells") {
  const test::RingProblem<double> problem(300, 2, 5, 3);
  std::vector<double> one, two;
  for (std::size_t i = 0; i < problem.x_here.size(); ++i) (i % 3 == 0 ? one : two).push_back(problem.x_here[i]);
  const auto x_one = test::to_device<elaphos::SequenceView<double, Memory>>(one, 300, 2, 1);
  const auto x_two = test::to_device<elaphos::SequenceView<double, Memory>>(two, 300, 2, 2);
  check_rings(problem, problem.y0, elaphos::inputs(x_one, x_two), problem.expected());

  auto wide = test::random_problem<double>(test::CellKind::elman, 130, 3, 40, 2, 3);
  const auto expected = wide.sequential();
  std::vector<double> of_one, of_two;
  for (std::size_t i = 0; i < wide.x_host.size(); ++i) (i % 3 == 2 ? of_two : of_one).push_back(wide.x_host[i]);
  const auto wide_one = test::to_device<elaphos::SequenceView<double, Memory>>(of_one, 40, 2, 2);
  const auto wide_two = test::to_device<elaphos::SequenceView<double, Memory>>(of_two, 40, 2, 1);
  SolveOptions options;
  options.segments = 4;
  test::solve_layer<double>(wide.layer, wide.y0, elaphos::inputs(wide_one, wide_two), wide.y, options);
  CHECK(test::different_bits(test::to_host(wide.y), expected) == 0);
}

TEST_CASE("inputs: what is refused, before anything is written") {
  const auto problem = test::random_problem<double>(test::CellKind::gru, 4, 3, 10, 2, 3);
  const elaphos::Gru cell(test::weights_on_device<double>(problem.layer));
  using Sequence = elaphos::SequenceView<double, Memory>;
  const Sequence long_x("x", 10, 1, 3), long_y("y", 10, 1, 4);
  const elaphos::StateView<double, Memory> three("y0", 3, 4);
  const auto refuse = [&](const auto& y0, const auto& in, const Sequence& y, const std::vector<std::string>& words) {
    Kokkos::deep_copy(y, 7.0);
    test::expect_refusal([&] { elaphos::solve(Exec(), cell, y0, in, y); }, words);
    for (const double number : test::to_host(y)) CHECK(number == 7.0);
  };
  const Offsets offsets("offsets", 4), none("offsets", 1);
  const Flags flags("flags", 10, 2), few("flags", 9, 2), column("flags", 10, 1);
  refuse(problem.y0, elaphos::inputs(problem.x).packed(offsets), problem.y, {"y is (10, 2, 4)", "(T, 1, D)"});
  refuse(problem.y0, elaphos::inputs(long_x).packed(offsets), long_y, {"y0 is (2, 4)", "(3, 4), as offsets is (4)"});
  refuse(three, elaphos::inputs(long_x).packed(none), long_y, {"offsets is (1)", "at least 2 entries"});
  refuse(three, elaphos::inputs(long_x).packed(offsets).masked(column), long_y, {"mask is given with offsets"});
  refuse(three, elaphos::inputs(long_x).packed(offsets).reset(column), long_y, {"resets is given with offsets"});
  refuse(problem.y0, elaphos::inputs(problem.x).masked(few), problem.y, {"mask is (9, 2)", "(10, 2), as y is"});
  refuse(problem.y0, elaphos::inputs(problem.x).reset(column), problem.y, {"resets is (10, 1)", "(10, 2), as y is"});
  refuse(problem.y0, elaphos::inputs(problem.x, Sequence("x", 10, 2, 1)), problem.y,
         {"x is 4 features in 2 Views", "3"});
  refuse(problem.y0, elaphos::inputs(Sequence("x", 10, 2, 2), Sequence("x", 11, 2, 1)), problem.y,
         {"x[1] is (11, 2, 1)", "(10, 2, features)"});
  refuse(problem.y0, elaphos::inputs(Sequence("x", 10, 2, 2), Sequence(problem.y.data(), 10, 2, 1)), problem.y,
         {"y is memory that overlaps x[1]"});
  CHECK(elaphos::solve(Exec(), cell, problem.y0, elaphos::inputs(problem.x).masked(flags), problem.y).converged());
}

TEST_CASE("inputs: none, and no steps") {
  const elaphos::Gru cell(test::weights_on_device<double>(test::layer_of(test::CellKind::gru, 4, 0, 3)));
  const elaphos::SequenceView<double, Memory> none("x", 0, 0, 0), y("y", 6, 1, 4), nothing("y", 0, 1, 4);
  const elaphos::StateView<double, Memory> y0("y0", 2, 4);
  const Offsets offsets = test::to_device<Offsets>(std::vector<std::int64_t>{0, 2, 6}, 3);
  CHECK(elaphos::solve(Exec(), cell, y0, elaphos::inputs(none).packed(offsets), y).converged());
  const std::vector<double> twice = test::to_host(y);
  // Both sequences begin in the same state and have no input.
  CHECK(test::different_bits<double>({twice.begin(), twice.begin() + 8}, {twice.begin() + 8, twice.begin() + 16}) == 0);
  const Offsets empty = test::to_device<Offsets>(std::vector<std::int64_t>{0, 0, 0}, 3);
  CHECK(elaphos::solve(Exec(), cell, y0, elaphos::inputs(none).packed(empty), nothing).converged());
}
