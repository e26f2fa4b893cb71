// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What linear recurrences refuse, what overflows, and what a workspace may be used for.
#include "support/linear_case.hpp"
#include "support/refusal.hpp"

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/runs_on_host.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using test::Exec;
using test::expect_refusal;
using test::Kind;
using test::LinearCase;
using test::LinearOptions;
using test::LinearPlan;
using test::Memory;
using Sequence = elaphos::SequenceView<double, Memory>;
using State = elaphos::StateView<double, Memory>;

template <class A>
void expect_refusal(const A& coefficients, const Sequence& b, const State& y0, const Sequence& y,
                    const std::vector<std::string>& words, const LinearOptions& options = {}) {
  if (y.data() != b.data()) Kokkos::deep_copy(y, -77.0);
  elaphos::Workspace<Exec> workspace;
  expect_refusal([&] { elaphos::linear_recurrence(Exec(), coefficients, b, y0, y, options, workspace); }, words);
  if (y.data() != b.data()) {
    for (const double number : test::to_host(y)) CHECK(number == -77.0);
  }
}

}  // namespace

TEST_CASE("linear contracts: shapes that do not fit are refused") {
  using R = Kokkos::LayoutRight;
  const Sequence b("b", 10, 2, 4), y("y", 10, 2, 4);
  const State y0("y0", 2, 4);
  const auto a = elaphos::diagonal_coefficients(Sequence("a", 10, 2, 4));
  expect_refusal(a, b, y0, Sequence("y", 10, 2, 3), {"y is (10, 2, 3)", "(10, 2, 4), as b"});
  expect_refusal(a, b, State("y0", 3, 4), y, {"y0 is (3, 4)", "(2, 4) or an empty View"});
  expect_refusal(elaphos::diagonal_coefficients(Sequence("a", 9, 2, 4)), b, y0, y, {"A is (9, 2, 4)", "(10, 2, 4)"});
  expect_refusal(elaphos::scalar_coefficients(State("a", 10, 3)), b, y0, y, {"A is (10, 3)", "(10, 2)"});
  using Dense = Kokkos::View<double****, R, Memory>;
  expect_refusal(elaphos::dense_coefficients(Dense("a", 10, 2, 4, 3)), b, y0, y,
                 {"A is (10, 2, 4, 3)", "(10, 2, 4, 4)"});
  using Blocks = Kokkos::View<double*****, R, Memory>;
  expect_refusal(elaphos::block_coefficients(Blocks("a", 10, 2, 1, 3, 3)), b, y0, y,
                 {"A is (10, 2, 1, 3, 3)", "K = 3"});
  expect_refusal(elaphos::dense_coefficients(State("a", 5, 5)), b, y0, y, {"A is (5, 5)", "(4, 4)"});
}

TEST_CASE("linear contracts: blocks wider than is compiled are refused") {
  const Sequence b("b", 3, 1, 129), y("y", 3, 1, 129);
  const auto a =
      elaphos::dense_coefficients(Kokkos::View<double****, Kokkos::LayoutRight, Memory>("a", 3, 1, 129, 129));
  expect_refusal(a, b, State(), y, {"A is of 129 x 129 blocks", "at most 128"});
}

TEST_CASE("linear contracts: overlaps, tiles and plans that cannot be are refused") {
  const Sequence b("b", 10, 2, 4), y("y", 10, 2, 4), a("a", 10, 2, 4);
  const State y0("y0", 2, 4);
  const auto coefficients = elaphos::diagonal_coefficients(a);
  expect_refusal(coefficients, b, y0, a, {"y is memory that overlaps A"});
  expect_refusal(coefficients, Sequence(y.data() + 1, 9, 2, 4), y0, y, {"y is (10, 2, 4)"});
  const Sequence longer("longer", 11, 2, 4);
  const Sequence shifted(longer.data() + 8, 10, 2, 4), first(longer.data(), 10, 2, 4);
  elaphos::Workspace<Exec> workspace;
  expect_refusal([&] { elaphos::linear_recurrence(Exec(), coefficients, first, y0, shifted, {}, workspace); },
                 {"y is memory that overlaps b"});
  LinearOptions options;
  options.plan = LinearPlan::team_per_tile;
  for (const int scan_tile : {0, -1, 1025}) {
    options.scan_tile = scan_tile;
    expect_refusal(coefficients, b, y0, y, {"options.scan_tile is " + std::to_string(scan_tile), "1 ... 1024"},
                   options);
  }
  // Sixteen megabytes of maps fit nowhere.
  options.scan_tile = 1024;
  const Sequence wide("b", 2000, 1, 1000), out("y", 2000, 1, 1000);
  const auto wide_a = elaphos::diagonal_coefficients(Sequence("a", 2000, 1, 1000));
  const std::size_t limit = std::size_t(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
  if (limit < 16'000'000) {
    expect_refusal(wide_a, wide, State(), out,
                   {"options.scan_tile is 1024 with D = 1000", "bytes, the limit is " + std::to_string(limit)},
                   options);
  }
#if !defined(KOKKOS_ENABLE_CUDA)
  options = {};
  options.plan = LinearPlan::single_pass;
  expect_refusal(coefficients, b, y0, y, {"options.plan is single_pass"}, options);
#endif
}

namespace {

/// The plans that compose maps, and the one that does not.
std::vector<LinearPlan> plans_for_numbers() {
  std::vector<LinearPlan> plans = {LinearPlan::automatic, LinearPlan::by_channel, LinearPlan::tiled};
#if defined(KOKKOS_ENABLE_CUDA)
  plans.push_back(LinearPlan::single_pass);
#endif
  return plans;
}

}  // namespace

TEST_CASE("linear contracts: products that overflow do not spoil states that do not") {
  // 2^k grows past float's largest number; states stay 0, or 1 in the second sequence.
  constexpr std::int64_t T = 20'000;
  LinearCase<float> problem{Kind::diagonal, true, T, 2, 1, 1, {}, {}, {}};
  problem.a.assign(T * 2, 2.0f);
  for (std::int64_t t = 0; t < T; ++t) problem.b.insert(problem.b.end(), {0.0f, -1.0f});
  problem.y0 = {0.0f, 1.0f};
  auto plans = plans_for_numbers();
  plans.push_back(LinearPlan::team_per_tile);
  for (const auto plan : plans) {
    LinearOptions options;
    options.plan = plan;
    CAPTURE(to_string(plan));
    const auto y = problem.solve(options);
    int wrong = 0;
    for (std::size_t t = 0; t < std::size_t(T); ++t) wrong += y[2 * t] == 0.0f ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("linear contracts: complex products that overflow are not taken for zeros") {
  // 2^t grows past double's largest number; the first channel stays 0, the second is lost and must look it.
  constexpr std::int64_t T = 20'000;
  using Complex = Kokkos::complex<double>;
  LinearCase<Complex> problem{Kind::diagonal, true, T, 2, 1, 1, {}, {}, {}};
  problem.a.assign(T * 2, Complex(2, 0));
  problem.b.assign(T * 2, Complex(0, 0));
  problem.y0 = {Complex(0, 0), Complex(1, 0)};
  for (const auto plan : plans_for_numbers()) {
    LinearOptions options;
    options.plan = plan;
    CAPTURE(to_string(plan));
    const auto y = problem.solve(options);
    int spoilt = 0, finite = 0;
    for (std::size_t t = 0; t < std::size_t(T); ++t) {
      spoilt += y[2 * t] == Complex(0, 0) ? 0 : 1;
      if (t > 1100 && std::isfinite(y[2 * t + 1].real()) && std::isfinite(y[2 * t + 1].imag())) ++finite;
    }
    CHECK(spoilt == 0);
    CHECK(finite == 0);
  }
}

TEST_CASE("linear contracts: matrices that overflow do not spoil states that do not") {
  // The same with 2 on the diagonals.
  constexpr std::int64_t T = 700;
  for (const int K : {2, 4, 7, 8, 16, 33, 70}) {
    LinearCase<float> problem{Kind::dense, true, T, 1, K, K, {}, {}, {}};
    problem.a.assign(std::size_t(T * K * K), 0.0f);
    for (std::int64_t t = 0; t < T; ++t) {
      for (int k = 0; k < K; ++k) problem.a[std::size_t((t * K + k) * K + k)] = 2.0f;
    }
    problem.b.assign(std::size_t(T * K), 0.0f);
    problem.y0.assign(std::size_t(K), 0.0f);
    for (const auto plan : {LinearPlan::automatic, LinearPlan::by_channel, LinearPlan::tiled}) {
      LinearOptions options;
      options.plan = plan;
      CAPTURE(K, to_string(plan));
      CHECK(test::different_bits(problem.solve(options), std::vector<float>(std::size_t(T * K), 0.0f)) == 0);
    }
  }
}

TEST_CASE("linear contracts: NaN and infinity appear where the loop has them") {
  constexpr std::int64_t T = 3000, where = 1500;
  for (const double bad : {double(NAN), double(INFINITY)}) {
    // Two channels, and two blocks of 5 x 5.
    for (const int K : {1, 5}) {
      const std::size_t D = 2 * std::size_t(K);
      auto problem = LinearCase<double>::make(K == 1 ? Kind::diagonal : Kind::block, true, T, 1, 2 * K, K, 0.9, 3);
      problem.b[D * where] = bad;
      for (const auto plan : plans_for_numbers()) {
        if (K > 1 && plan == LinearPlan::single_pass) continue;
        LinearOptions options;
        options.plan = plan;
        CAPTURE(bad, K, to_string(plan));
        const auto y = problem.solve(options);
        int finite_behind = 0, spoilt = 0;
        for (std::size_t t = 0; t < std::size_t(T); ++t) {
          if (t >= std::size_t(where) && std::isfinite(y[D * t])) ++finite_behind;
          if (t < std::size_t(where) && !std::isfinite(y[D * t])) ++spoilt;
          if (!std::isfinite(y[D * t + std::size_t(K)])) ++spoilt;
        }
        CHECK(finite_behind == 0);
        CHECK(spoilt == 0);
      }
    }
  }
}

TEST_CASE("linear contracts: what is not finite stays in its packed sequence") {
  constexpr std::int64_t T = 6000;
  const std::vector<std::int64_t> offsets = {0, 700, 3000, T};
  const auto offsets_view = test::to_device<Kokkos::View<std::int64_t*, Kokkos::LayoutRight, test::Memory>>(offsets, 4);
  for (const double bad : {double(NAN), double(INFINITY)}) {
    for (const int K : {1, 2, 5}) {
      auto problem = LinearCase<double>::make(K == 1 ? Kind::diagonal : Kind::dense, true, T, 1, K, K, 0.9, 3);
      problem.b[std::size_t(K) * 2000] = bad;  // of the second sequence
      const elaphos::StateView<double, test::Memory> y0("y0", 3, std::size_t(K));
      for (const auto direction : {elaphos::Direction::forward, elaphos::Direction::reverse}) {
        for (const auto plan : plans_for_numbers()) {
          if (K > 1 && plan == LinearPlan::single_pass) continue;
          LinearOptions options;
          options.plan = plan;
          options.direction = direction;
          CAPTURE(bad, K, to_string(plan), to_string(direction));
          const Sequence y("y", T, 1, std::size_t(K));
          elaphos::Workspace<Exec> workspace;
          problem.with_coefficients([&](const auto& coefficients) {
            elaphos::linear_recurrence(Exec(), coefficients, elaphos::PackedSequences{offsets_view},
                                       problem.offsets_on_device(), y0, y, options, workspace);
          });
          const auto numbers = test::to_host(y);
          int spoilt = 0;
          for (std::int64_t t = 0; t < T; ++t) {
            if (t >= 700 && t < 3000) continue;
            for (int k = 0; k < K; ++k) spoilt += std::isfinite(numbers[std::size_t(t * K + k)]) ? 0 : 1;
          }
          CHECK(spoilt == 0);
          CHECK(!std::isfinite(numbers[std::size_t(2000 * K)]));
        }
      }
    }
  }
}

TEST_CASE("linear contracts: a coefficient that is NaN shows in packed sequences") {
  // States are 0 until then, and 0 * NaN is NaN.
  constexpr std::int64_t T = 3000;
  const std::vector<std::int64_t> offsets = {0, 1000, T};
  const auto offsets_view = test::to_device<Kokkos::View<std::int64_t*, Kokkos::LayoutRight, test::Memory>>(offsets, 3);
  for (const int K : {1, 2, 5}) {
    for (const std::int64_t where : {1000, 1700}) {
      auto problem = LinearCase<double>::make(K == 1 ? Kind::diagonal : Kind::dense, true, T, 1, K, K, 0.9, 3);
      std::fill(problem.b.begin(), problem.b.end(), 0.0);
      for (int e = 0; e < K * K; ++e) problem.a[std::size_t(where * K * K + e)] = NAN;
      for (const auto plan : plans_for_numbers()) {
        if (K > 1 && plan == LinearPlan::single_pass) continue;
        LinearOptions options;
        options.plan = plan;
        CAPTURE(K, where, to_string(plan));
        const Sequence y("y", T, 1, std::size_t(K));
        elaphos::Workspace<Exec> workspace;
        problem.with_coefficients([&](const auto& coefficients) {
          elaphos::linear_recurrence(Exec(), coefficients, elaphos::PackedSequences{offsets_view},
                                     problem.offsets_on_device(), State(), y, options, workspace);
        });
        const auto numbers = test::to_host(y);
        int wrong = 0;
        for (std::int64_t t = 0; t < T; ++t) {
          for (int k = 0; k < K; ++k) wrong += std::isnan(numbers[std::size_t(t * K + k)]) == (t >= where) ? 0 : 1;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("linear contracts: a second call allocates nothing") {
  const auto problem = LinearCase<double>::make(Kind::diagonal, true, 20'000, 2, 3, 1, 0.9, 3);
  elaphos::Workspace<Exec> workspace;
  const auto b = problem.offsets_on_device();
  const auto y0 = problem.start_on_device();
  const Sequence y("y", 20'000, 2, 3);
  problem.with_coefficients([&](const auto& coefficients) {
    for (const auto plan : {LinearPlan::automatic, LinearPlan::tiled, LinearPlan::team_per_tile}) {
      LinearOptions options;
      options.plan = plan;
      elaphos::linear_recurrence(Exec(), coefficients, b, y0, y, options, workspace);
      const std::size_t bytes = workspace.bytes();
      elaphos::linear_recurrence(Exec(), coefficients, b, y0, y, options, workspace);
      CHECK(workspace.bytes() == bytes);
    }
  });
}

TEMPLATE_TEST_CASE("linear contracts: one workspace for problems of all shapes, one after another", "", float, double) {
  // What teams leave for each other in the workspace must be gone when a kernel of another shape uses it, and what other
  // plans leave there must not be taken for it.
#if defined(KOKKOS_ENABLE_CUDA)
  constexpr auto one_pass = LinearPlan::single_pass;
#else
  constexpr auto one_pass = LinearPlan::tiled;
#endif
  struct Turn {
    std::int64_t T;
    int D;
    LinearPlan plan;
  };
  const std::vector<Turn> turns = {{300'000, 4, one_pass}, {1, 2, one_pass},       {70'000, 3, LinearPlan::tiled},
                                   {70'000, 2, one_pass},  {500, 4, one_pass},     {300'000, 3, one_pass},
                                   {900'000, 1, one_pass}, {300'000, 2, one_pass}, {900'000, 4, LinearPlan::tiled},
                                   {300'000, 4, one_pass}};
  // So long that a device cuts the tiles of tiles, which a host's threads are too few for.
  constexpr std::int64_t shorter = elaphos::impl::runs_on_host<test::Exec> ? 10 : 1;
  elaphos::Workspace<test::Exec> workspace;
  for (Turn turn : turns) {
    turn.T = elaphos::impl::divide_up(turn.T, shorter);
    const auto problem = LinearCase<TestType>::make(Kind::dense, true, turn.T, 1, turn.D, turn.D, 0.95, 37);
    const auto expected = problem.loop({}, problem.initial());
    const auto b = problem.offsets_on_device();
    const auto y0 = problem.start_on_device();
    LinearOptions options;
    options.plan = turn.plan;
    CAPTURE(turn.T, turn.D, to_string(turn.plan));
    std::vector<TestType> first;
    problem.with_coefficients([&](const auto& coefficients) {
      for (int repetition = 0; repetition < 3; ++repetition) {
        const elaphos::SequenceView<TestType, test::Memory> y("test::y", std::size_t(turn.T), 1, std::size_t(turn.D));
        elaphos::linear_recurrence(test::Exec(), coefficients, b, y0, y, options, workspace);
        const auto states = test::to_host(y);
        if (repetition == 0) first = states;
        CHECK(test::different_bits(states, first) == 0);
      }
    });
    CHECK(test::worst_error(first, expected.y, expected.error) <= 4);
  }
}
