// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Vector-Jacobian products of linear recurrences against differences of the loss itself, in long double.
#include "support/linear_case.hpp"

#include <elaphos/linear_gradient.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

namespace {

using test::Direction;
using test::Exec;
using test::Kind;
using test::LinearCase;
using test::LinearOptions;
using test::Memory;
using Case = LinearCase<double>;
using Sequence = elaphos::SequenceView<double, Memory>;
using State = elaphos::StateView<double, Memory>;
using Offsets = Kokkos::View<std::int64_t*, Kokkos::LayoutRight, Memory>;

// L = sum of g y, for a batch or for packed sequences.
long double loss(const Case& problem, const std::vector<double>& g, const LinearOptions& options,
                 const std::vector<std::int64_t>& offsets) {
  long double sum = 0;
  const auto add = [&](const Case& part, std::size_t first) {
    const auto answer = part.loop(options, part.initial());
    for (std::size_t i = 0; i < answer.y.size(); ++i) sum += answer.y[i] * g[first + i];
  };
  if (offsets.empty()) {
    add(problem, 0);
    return sum;
  }
  const std::ptrdiff_t D = problem.D, own = problem.kind == Kind::scalar ? 1 : problem.D * problem.K;
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    Case part = problem;
    part.T = offsets[s + 1] - offsets[s];
    if (part.varying) part.a.assign(problem.a.begin() + offsets[s] * own, problem.a.begin() + offsets[s + 1] * own);
    part.b.assign(problem.b.begin() + offsets[s] * D, problem.b.begin() + offsets[s + 1] * D);
    part.y0.assign(problem.y0.begin() + std::ptrdiff_t(s) * D, problem.y0.begin() + std::ptrdiff_t(s + 1) * D);
    add(part, std::size_t(offsets[s] * D));
  }
  return sum;
}

// Central differences of L; it is a polynomial, and the numbers of b and y0 enter linearly.
std::vector<long double> differences(Case problem, std::vector<double> Case::* numbers,
                                     const std::function<long double(const Case&)>& of) {
  constexpr double h = 1e-4;
  std::vector<long double> out;
  for (double& number : problem.*numbers) {
    const double at = number;
    number = at + h;
    const long double above = of(problem), high = number;
    number = at - h;
    const long double below = of(problem), low = number;
    number = at;
    out.push_back((above - below) / (high - low));
  }
  return out;
}

void expect_near(const std::vector<double>& got, const std::vector<long double>& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  double largest = 1, off = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, double(std::abs(expected[i])));
    off = std::max(off, double(std::abs(got[i] - expected[i])));
  }
  CHECK(off <= tolerance * largest);
}

template <class A>
auto gradient_of(const A& view) {
  using View = Kokkos::View<typename A::non_const_data_type, Kokkos::LayoutRight, Memory>;
  if constexpr (A::rank == 0) return View("test::dA");
  if constexpr (A::rank == 1) return View("test::dA", view.extent(0));
  if constexpr (A::rank == 2) return View("test::dA", view.extent(0), view.extent(1));
  if constexpr (A::rank == 3) return View("test::dA", view.extent(0), view.extent(1), view.extent(2));
  if constexpr (A::rank == 4) return View("test::dA", view.extent(0), view.extent(1), view.extent(2), view.extent(3));
  if constexpr (A::rank == 5) {
    return View("test::dA", view.extent(0), view.extent(1), view.extent(2), view.extent(3), view.extent(4));
  }
}

void check(const Case& problem, const std::vector<std::int64_t>& offsets, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> g;
  for (std::size_t i = 0; i < problem.b.size(); ++i) g.push_back(Case::random(generator, 0, 1));
  const std::size_t T = std::size_t(problem.T), B = std::size_t(problem.B), D = std::size_t(problem.D);
  for (const Direction direction : {Direction::forward, Direction::reverse}) {
    LinearOptions options;
    options.direction = direction;
    CAPTURE(problem.T, problem.B, problem.D, problem.K, problem.varying, to_string(direction), offsets.size());
    const auto of = [&](const Case& changed) { return loss(changed, g, options, offsets); };
    const Sequence y("test::y", T, B, D), dL_dy("test::g", T, B, D), db("test::db", T, B, D);
    Case::copy_to(g, dL_dy);
    const State y0("test::y0", problem.y0.size() / D, D), dy0("test::dy0", problem.y0.size() / D, D);
    Case::copy_to(problem.y0, y0);
    const auto packed = test::to_device<Offsets>(offsets, offsets.size());
    elaphos::Workspace<Exec> workspace;
    problem.with_coefficients([&](const auto& coefficients) {
      const auto dA = gradient_of(coefficients.view);
      const auto b = problem.offsets_on_device();
      for (int repetition = 0; repetition < 2; ++repetition) {
        if (offsets.empty()) {
          elaphos::linear_recurrence(Exec(), coefficients, b, y0, y, options, workspace);
          elaphos::linear_recurrence_vjp(Exec(), coefficients, y0, y, dL_dy, dA, db, dy0, options, workspace);
        } else {
          const elaphos::PackedSequences sequences{packed};
          elaphos::linear_recurrence(Exec(), coefficients, sequences, b, y0, y, options, workspace);
          elaphos::linear_recurrence_vjp(Exec(), coefficients, sequences, y0, y, dL_dy, dA, db, dy0, options,
                                         workspace);
        }
        Exec().fence();
      }
      expect_near(test::to_host(dA), differences(problem, &Case::a, of), 1e-6);
      expect_near(test::to_host(db), differences(problem, &Case::b, of), 1e-12);
      expect_near(test::to_host(dy0), differences(problem, &Case::y0, of), 1e-12);
    });
  }
}

const std::vector<std::tuple<Kind, int, int>> shapes = {{Kind::scalar, 3, 1}, {Kind::diagonal, 4, 1},
                                                        {Kind::block, 4, 2},  {Kind::block, 6, 3},
                                                        {Kind::dense, 3, 3},  {Kind::dense, 5, 5},
                                                        {Kind::dense, 9, 9}};

}  // namespace

TEST_CASE("linear gradient: all kinds, both directions, varying and constant") {
  for (const auto& [kind, D, K] : shapes) {
    for (const bool varying : {true, false}) {
      for (const std::int64_t T : {1, 2, 17}) check(Case::make(kind, varying, T, 2, D, K, 0.9, 3), {}, 5);
    }
  }
}

TEST_CASE("linear gradient: packed sequences") {
  const std::vector<std::int64_t> offsets = {0, 3, 3, 4, 12};
  for (const auto& [kind, D, K] : shapes) {
    for (const bool varying : {true, false}) {
      Case problem = Case::make(kind, varying, 12, 1, D, K, 0.9, 7);
      std::mt19937_64 generator(9);
      problem.y0.clear();
      for (int i = 0; i < 4 * D; ++i) problem.y0.push_back(Case::random(generator, 0, 1));
      check(problem, offsets, 11);
    }
  }
}

TEST_CASE("linear gradient: long enough for several parts and tiles") {
  // Constant coefficients, so that few differences say it all.
  Case problem = Case::make(Kind::diagonal, false, 5000, 3, 2, 1, 0.9, 13);
  std::mt19937_64 generator(15);
  std::vector<double> g;
  for (std::size_t i = 0; i < problem.b.size(); ++i) g.push_back(Case::random(generator, 0, 1));
  LinearOptions options;
  const Sequence y("test::y", 5000, 3, 2), dL_dy("test::g", 5000, 3, 2), db("test::db", 5000, 3, 2);
  Case::copy_to(g, dL_dy);
  const State none;
  elaphos::Workspace<Exec> workspace;
  problem.with_coefficients([&](const auto& coefficients) {
    const auto dA = gradient_of(coefficients.view);
    elaphos::linear_recurrence(Exec(), coefficients, problem.offsets_on_device(), problem.start_on_device(), y, options,
                               workspace);
    elaphos::linear_recurrence_vjp(Exec(), coefficients, problem.start_on_device(), y, dL_dy, dA, db, none, options,
                                   workspace);
    Exec().fence();
    const auto first = test::to_host(dA);
    expect_near(first, differences(problem, &Case::a, [&](const Case& of) { return loss(of, g, options, {}); }), 1e-6);
    elaphos::linear_recurrence_vjp(Exec(), coefficients, problem.start_on_device(), y, dL_dy, dA, db, none, options,
                                   workspace);
    Exec().fence();
    CHECK(test::different_bits(test::to_host(dA), first) == 0);
  });
}
