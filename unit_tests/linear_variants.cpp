// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linear recurrences of every kind, direction and plan against a plain loop in long double. Errors are measured against
// the first-order bound on rounding, so that growing and decaying products are judged alike.
#include "support/linear_case.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using test::Direction;
using test::Kind;
using test::LinearCase;
using test::LinearOptions;
using test::LinearPlan;

const std::vector<LinearPlan> plans = {LinearPlan::automatic, LinearPlan::by_channel, LinearPlan::tiled,
                                       LinearPlan::team_per_tile};

/// A composed map adds the rounding of its own products to that of the loop.
constexpr double allowed = 4;

template <class Scalar>
void check(const LinearCase<Scalar>& problem, LinearOptions options) {
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    for (const bool adjoint : {false, true}) {
      options.direction = direction;
      options.adjoint = adjoint;
      const auto expected = problem.loop(options, problem.initial());
      for (const LinearPlan plan : plans) {
        options.plan = plan;
        if (!problem.fits(options)) continue;
        CAPTURE(problem.T, problem.B, problem.D, problem.K, problem.varying, to_string(direction), adjoint,
                to_string(plan));
        const auto y = problem.solve(options);
        CHECK(test::worst_error(y, expected.y, expected.error) <= allowed);
        CHECK(test::different_bits(problem.solve(options), y) == 0);
      }
    }
  }
}

struct Shape {
  Kind kind;
  int D, K;
};

const std::vector<Shape> real_shapes = {
    {Kind::scalar, 3, 1}, {Kind::diagonal, 1, 1}, {Kind::diagonal, 5, 1}, {Kind::block, 4, 2}, {Kind::block, 3, 3},
    {Kind::block, 8, 4},  {Kind::block, 10, 5},   {Kind::dense, 1, 1},    {Kind::dense, 2, 2}, {Kind::dense, 3, 3},
    {Kind::dense, 7, 7},  {Kind::dense, 8, 8},    {Kind::block, 34, 17}};

const std::vector<Shape> wide_shapes = {{Kind::dense, 9, 9},   {Kind::dense, 16, 16}, {Kind::block, 64, 32},
                                        {Kind::dense, 33, 33}, {Kind::dense, 64, 64}, {Kind::dense, 128, 128}};

}  // namespace

TEMPLATE_TEST_CASE("linear: all kinds at lengths around the tiles", "", float, double) {
  for (const Shape& shape : real_shapes) {
    for (const std::int64_t T : {1, 2, 3, 31, 32, 33, 255, 256, 257, 1000}) {
      for (const bool varying : {true, false}) {
        const auto problem = LinearCase<TestType>::make(shape.kind, varying, T, T == 33 ? 3 : 1, shape.D, shape.K, 0.9,
                                                        static_cast<std::uint64_t>(T * 100 + shape.D));
        LinearOptions options;
        options.scan_tile = T == 256 ? 100 : 64;
        check(problem, options);
      }
    }
  }
}

TEMPLATE_TEST_CASE("linear: wide blocks", "", float, double) {
  for (const Shape& shape : wide_shapes) {
    for (const std::int64_t T : {1, 2, 33, 140}) {
      if (T > 33 && shape.K > 33) continue;  // composing 140 such matrices takes a sanitizer minutes
      for (const bool varying : {true, false}) {
        const auto problem = LinearCase<TestType>::make(shape.kind, varying, T, T == 33 ? 2 : 1, shape.D, shape.K, 0.9,
                                                        static_cast<std::uint64_t>(T * 100 + shape.D));
        LinearOptions options;
        options.scan_tile = 3;
        check(problem, options);
      }
    }
  }
}

TEMPLATE_TEST_CASE("linear: growing products", "", float, double) {
  for (const Shape& shape : real_shapes) {
    check(LinearCase<TestType>::make(shape.kind, true, 300, 2, shape.D, shape.K, 1.3, 5), {});
  }
}

TEMPLATE_TEST_CASE("linear: complex diagonals", "", Kokkos::complex<float>, Kokkos::complex<double>) {
  for (const auto& [kind, D] : {std::pair{Kind::scalar, 2}, {Kind::diagonal, 1}, {Kind::diagonal, 33}}) {
    for (const std::int64_t T : {1, 2, 257, 1000}) {
      check(LinearCase<TestType>::make(kind, true, T, 2, D, 1, 0.95, 7), {});
    }
  }
}

TEMPLATE_TEST_CASE("linear: long sequences and large batches", "", float, double) {
  LinearOptions options;
  for (const auto& [T, B, D] : {std::array<std::int64_t, 3>{65'537, 1, 1},
                                {65'537, 3, 17},
                                {1'000'000, 1, 1},
                                {1000, 1000, 3},
                                {257, 1, 1000},
                                {3, 70'000, 1}}) {
    const auto problem = LinearCase<TestType>::make(Kind::diagonal, true, T, B, static_cast<int>(D), 1, 0.95, 11);
    const auto expected = problem.loop(options, problem.initial());
    for (const LinearPlan plan : plans) {
      options.plan = plan;
      CAPTURE(T, B, D, to_string(plan));
      CHECK(test::worst_error(problem.solve(options), expected.y, expected.error) <= allowed);
    }
  }
}

TEST_CASE("linear: tiles of a team of any length") {
  LinearOptions options;
  options.plan = LinearPlan::team_per_tile;
  for (const auto& [kind, D] : {std::pair{Kind::diagonal, 1}, {Kind::diagonal, 3}, {Kind::dense, 2}}) {
    const auto problem = LinearCase<double>::make(kind, true, 3000, 2, D, 1, 0.9, 13);
    const auto expected = problem.loop(options, problem.initial());
    for (const int scan_tile : {1, 2, 3, 31, 32, 33, 100, 255, 256, 257, 1000, 1023, 1024}) {
      options.scan_tile = scan_tile;
      CAPTURE(D, scan_tile);
      CHECK(test::worst_error(problem.solve(options), expected.y, expected.error) <= allowed);
    }
  }
}

#if defined(KOKKOS_ENABLE_CUDA)
TEMPLATE_TEST_CASE("linear: a single pass", "", float, double, Kokkos::complex<double>) {
  LinearOptions options;
  options.plan = LinearPlan::single_pass;
  for (const auto& [T, B, D] : {std::array<std::int64_t, 3>{1, 1, 1},
                                {257, 1, 1},
                                {65'537, 1, 1},
                                {65'537, 1, 3},
                                {65'537, 2, 17},
                                {20'000, 3, 100},
                                {2'000'000, 1, 1},
                                {1000, 1000, 3}}) {
    const auto problem = LinearCase<TestType>::make(Kind::diagonal, true, T, B, static_cast<int>(D), 1, 0.95, 17);
    for (const Direction direction : {Direction::forward, Direction::reverse}) {
      options.direction = direction;
      options.adjoint = direction == Direction::reverse;
      const auto expected = problem.loop(options, problem.initial());
      const auto first = problem.solve(options);
      CAPTURE(T, B, D, to_string(direction));
      CHECK(test::worst_error(first, expected.y, expected.error) <= allowed);
      for (int repetition = 0; repetition < 5; ++repetition) {
        CHECK(test::different_bits(problem.solve(options), first) == 0);
      }
    }
  }
}

TEMPLATE_TEST_CASE("linear: a single pass over small blocks", "", float, double) {
  LinearOptions options;
  options.plan = LinearPlan::single_pass;
  for (const int D : {2, 3, 4}) {
    for (const std::int64_t T : {1, 2, 63, 127, 128, 129, 511, 513, 5000, 65'537, 300'000}) {
      auto problem = LinearCase<TestType>::make(Kind::dense, true, T, 1, D, D, 0.95, 19);
      const auto expected = problem.loop(options, problem.initial());
      const auto first = problem.solve(options);
      CAPTURE(T, D);
      CHECK(test::worst_error(first, expected.y, expected.error) <= allowed);
      for (int repetition = 0; repetition < 5; ++repetition) {
        CHECK(test::different_bits(problem.solve(options), first) == 0);
      }
      const auto in_place = problem.offsets_on_device();
      const auto y0 = problem.start_on_device();
      elaphos::Workspace<test::Exec> workspace;
      problem.with_coefficients([&](const auto& coefficients) {
        elaphos::linear_recurrence(test::Exec(), coefficients, in_place, y0, in_place, options, workspace);
      });
      CHECK(test::different_bits(test::to_host(in_place), first) == 0);
    }
  }
}

TEST_CASE("linear: a single pass over blocks that overflow, and NaN") {
  // Composed maps grow past all numbers, while states stay 0, until a NaN comes.
  constexpr std::int64_t T = 200'000, where = 123'456;
  constexpr int D = 4;
  auto problem = LinearCase<float>::make(Kind::dense, true, T, 1, D, D, 1, 23);
  for (std::int64_t i = 0; i < T * D * D; ++i) problem.a[std::size_t(i)] = i % (D * D) % (D + 1) == 0 ? 2.0f : 0.0f;
  problem.b.assign(problem.b.size(), 0.0f);
  problem.b[where * D + 1] = NAN;
  problem.y0.assign(D, 0.0f);
  LinearOptions options;
  options.plan = LinearPlan::single_pass;
  const auto y = problem.solve(options);
  std::int64_t wrong = 0;
  for (std::int64_t t = 0; t < T; ++t) {
    for (int r = 0; r < D; ++r) {
      const float state = y[std::size_t(t * D + r)];
      // The loop has NaN in all of a state that has met NaN times 0.
      const bool right = t < where || (t == where && r != 1) ? state == 0 : state != state;
      wrong += right ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("linear: single passes of two instances at a time") {
  // Teams wait for each other; neither pass may wait for the other one's.
  const auto instances = Kokkos::Experimental::partition_space(test::Exec(), 1, 1);
  const auto problem = LinearCase<float>::make(Kind::diagonal, true, 3'000'000, 1, 1, 1, 0.95, 31);
  const auto b = problem.offsets_on_device();
  const auto y0 = problem.start_on_device();
  const elaphos::SequenceView<float, test::Memory> first("test::first", 3'000'000, 1, 1),
      second("test::second", 3'000'000, 1, 1);
  LinearOptions options;
  options.plan = LinearPlan::single_pass;
  elaphos::Workspace<test::Exec> workspaces[2];
  problem.with_coefficients([&](const auto& coefficients) {
    for (int repetition = 0; repetition < 20; ++repetition) {
      elaphos::linear_recurrence(instances[0], coefficients, b, y0, first, options, workspaces[0]);
      elaphos::linear_recurrence(instances[1], coefficients, b, y0, second, options, workspaces[1]);
    }
    Kokkos::fence();
  });
  const auto expected = problem.loop({}, problem.initial());
  CHECK(test::worst_error(test::to_host(first), expected.y, expected.error) <= allowed);
  CHECK(test::different_bits(test::to_host(second), test::to_host(first)) == 0);
}
#endif

TEMPLATE_TEST_CASE("linear: final state and composed map", "", float, double) {
  using State = elaphos::StateView<TestType, test::Memory>;
  for (const Shape& shape : real_shapes) {
    for (const std::int64_t T : {0, 1, 33, 1000, 20'000}) {
      // The loops below run once a column, and in long double's slowest numbers once images have decayed.
      if (T > 1000 && shape.K > 5) continue;
      const auto problem = LinearCase<TestType>::make(shape.kind, true, T, 2, shape.D, shape.K, 0.9, 19);
      LinearOptions options;
      options.direction = T % 2 == 0 ? Direction::forward : Direction::reverse;
      const auto expected = problem.loop(options, problem.initial());
      const std::size_t D = std::size_t(shape.D), K = std::size_t(problem.K), M = std::size_t(problem.blocks());
      const State end("test::end", 2, D), b_all("test::b_all", 2, D);
      const Kokkos::View<TestType****, Kokkos::LayoutRight, test::Memory> A_all("test::A_all", 2, M, K, K);
      elaphos::Workspace<test::Exec> workspace;
      problem.with_coefficients([&](const auto& coefficients) {
        elaphos::linear_final_state(test::Exec(), coefficients, problem.offsets_on_device(), problem.start_on_device(),
                                    end, options, workspace);
        elaphos::linear_composed_map(test::Exec(), coefficients, problem.offsets_on_device(), A_all, b_all, options,
                                     workspace);
        test::Exec().fence();
      });
      CAPTURE(T, shape.D, problem.K);
      // Rounding is measured as the last step's.
      std::vector<long double> bound(2 * D, 1e-3L * std::numeric_limits<TestType>::epsilon());
      for (std::size_t i = 0; i < bound.size(); ++i) {
        const std::int64_t last = options.direction == Direction::forward ? T - 1 : 0;
        if (T > 0) bound[i] = expected.error[std::size_t(last) * 2 * D + i];
      }
      CHECK(test::worst_error(test::to_host(end), expected.end, bound) <= allowed);
      const auto zero = problem.loop(options, std::vector<long double>(2 * D, 0));
      CHECK(test::worst_error(test::to_host(b_all), zero.end, bound) <= allowed);
      const auto maps = test::to_host(A_all);
      for (std::size_t column = 0; column < K; ++column) {
        std::vector<long double> unit(2 * D, 0);
        for (std::size_t i = 0; i < 2 * D; ++i) unit[i] = i % K == column ? 1 : 0;
        const auto image = problem.loop(options, unit, false);
        double worst = 0;
        for (std::size_t block = 0; block < 2 * M; ++block) {
          for (std::size_t r = 0; r < K; ++r) {
            const long double off = std::abs(maps[(block * K + r) * K + column] - image.end[block * K + r]);
            worst = std::max(worst, double(off));
          }
        }
        CHECK(worst <= 100 * double(std::numeric_limits<TestType>::epsilon()) * static_cast<double>(T + 1));
      }
    }
  }
}

TEST_CASE("linear: no steps, no sequences, no initial state, in place") {
  auto problem = LinearCase<double>::make(Kind::diagonal, true, 0, 2, 3, 1, 0.9, 1);
  CHECK(problem.solve({}).empty());
  problem = LinearCase<double>::make(Kind::diagonal, true, 5, 0, 3, 1, 0.9, 1);
  CHECK(problem.solve({}).empty());
  problem = LinearCase<double>::make(Kind::diagonal, true, 700, 2, 3, 1, 0.9, 1);
  for (const LinearPlan plan : plans) {
    LinearOptions options;
    options.plan = plan;
    const auto expected = problem.loop(options, std::vector<long double>(6, 0));
    const auto in_place = problem.offsets_on_device();
    elaphos::Workspace<test::Exec> workspace;
    problem.with_coefficients([&](const auto& coefficients) {
      elaphos::linear_recurrence(test::Exec(), coefficients, in_place, elaphos::StateView<double, test::Memory>(),
                                 in_place, options, workspace);
    });
    CHECK(test::worst_error(test::to_host(in_place), expected.y, expected.error) <= allowed);
  }
}

TEST_CASE("linear: packed sequences are their own recurrences") {
  const std::vector<std::int64_t> offsets = {0, 1, 1, 34, 290, 290, 1000, 1257, 1300};
  const std::size_t sequences = offsets.size() - 1;
  const auto offsets_view =
      test::to_device<Kokkos::View<std::int64_t*, Kokkos::LayoutRight, test::Memory>>(offsets, offsets.size());
  for (const auto& [kind, D, K] : {std::tuple{Kind::scalar, 2, 1},
                                   {Kind::diagonal, 1, 1},
                                   {Kind::diagonal, 40, 1},
                                   {Kind::block, 4, 2},
                                   {Kind::dense, 3, 3},
                                   {Kind::dense, 8, 8},
                                   {Kind::block, 26, 13},
                                   {Kind::dense, 70, 70}}) {
    const auto all = LinearCase<double>::make(kind, true, 1300, 1, D, K, 0.95, 23);
    std::mt19937_64 generator(29);
    std::vector<double> starts;
    for (std::size_t i = 0; i < sequences * std::size_t(D); ++i) {
      starts.push_back(LinearCase<double>::random(generator, 0, 1));
    }
    const elaphos::StateView<double, test::Memory> y0("test::starts", sequences, std::size_t(D));
    LinearCase<double>::copy_to(starts, y0);
    for (const Direction direction : {Direction::forward, Direction::reverse}) {
      for (const bool adjoint : {false, true}) {
        LinearOptions options;
        options.direction = direction;
        options.adjoint = adjoint;
        std::vector<long double> expected, bound;
        for (std::size_t s = 0; s < sequences; ++s) {
          LinearCase<double> one = all;
          const std::int64_t own = kind == Kind::scalar ? 1 : D * all.K;
          one.T = offsets[s + 1] - offsets[s];
          one.a.assign(all.a.begin() + offsets[s] * own, all.a.begin() + offsets[s + 1] * own);
          one.b.assign(all.b.begin() + offsets[s] * D, all.b.begin() + offsets[s + 1] * D);
          one.y0.assign(starts.begin() + std::ptrdiff_t(s) * D, starts.begin() + std::ptrdiff_t(s + 1) * D);
          const auto answer = one.loop(options, one.initial());
          expected.insert(expected.end(), answer.y.begin(), answer.y.end());
          bound.insert(bound.end(), answer.error.begin(), answer.error.end());
        }
        for (const LinearPlan plan : plans) {
          options.plan = plan;
          options.scan_tile = test::fitting_tile(sizeof(double), 256, all.blocks(), all.K);
          if (options.scan_tile == 0) continue;  // not even a step fits
          CAPTURE(D, all.K, to_string(direction), adjoint, to_string(plan));
          const elaphos::SequenceView<double, test::Memory> y("test::y", 1300, 1, std::size_t(D));
          Kokkos::deep_copy(y, NAN);
          elaphos::Workspace<test::Exec> workspace;
          all.with_coefficients([&](const auto& coefficients) {
            elaphos::linear_recurrence(test::Exec(), coefficients, elaphos::PackedSequences{offsets_view},
                                       all.offsets_on_device(), y0, y, options, workspace);
          });
          CHECK(test::worst_error(test::to_host(y), expected, bound) <= allowed);
        }
      }
    }
  }
}
