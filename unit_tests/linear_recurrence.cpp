// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The recurrence over nodes, seen from outside: for a linear recurrence Newton's method is exact after one correction,
// if and only if all maps are composed in the right order. Integer data, so that rounding hides nothing.
#include "support/systems.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <random>
#include <vector>

namespace {

using elaphos::Method;
using test::Exec;
using test::Memory;

template <class R>
void check_one_correction(std::int64_t T, std::int64_t B, std::int64_t steps_per_segment, Method method) {
  CAPTURE(T, B, steps_per_segment, to_string(method));
  constexpr int D = R::state_size;
  std::mt19937_64 generator(static_cast<std::uint64_t>(T));
  std::uniform_int_distribution<int> digit(-3, 3);
  const auto integers = [&](std::int64_t count) {
    std::vector<double> out(static_cast<std::size_t>(count));
    for (double& number : out) number = digit(generator);
    return out;
  };
  const std::vector<double> y0 = integers(B * D), x = integers(T * B * D);
  const auto y0_device = test::to_device<elaphos::StateView<double, Memory>>(y0, B, D);
  const auto x_device = test::to_device<elaphos::SequenceView<double, Memory>>(x, T, B, D);
  const elaphos::SequenceView<double, Memory> y("y", static_cast<std::size_t>(T), static_cast<std::size_t>(B), D);

  elaphos::SolveOptions options;
  options.steps_per_segment = steps_per_segment;
  options.method = method;
  const auto report = elaphos::solve(Exec(), R{}, y0_device, x_device, y, options);
  // One pass with guessed nodes, one with the right ones.
  CHECK(report.status == elaphos::SolveStatus::converged);
  CHECK(report.iterations() <= 2);
  CHECK(test::different_bits(test::to_host(y), test::host_loop(R{}, T, B, y0, x, {})) == 0);
}

}  // namespace

TEST_CASE("linear recurrence: maps that do not commute are composed in order") {
  for (const std::int64_t T : {1, 2, 3, 64, 65, 66, 255, 256, 257, 1000, 10'000, 65'537}) {
    check_one_correction<test::AlternatingIntegerMap>(T, 1, 1, Method::newton);
  }
  for (const std::int64_t steps_per_segment : {3, 7, 1000}) {
    check_one_correction<test::AlternatingIntegerMap>(10'000, 3, steps_per_segment, Method::newton);
  }
}

TEST_CASE("linear recurrence: independent channels") {
  for (const std::int64_t T : {1, 2, 3, 64, 65, 66, 255, 256, 257, 1000, 65'537, 1'000'000}) {
    check_one_correction<test::AlternatingSigns>(T, 1, 1, Method::quasi_newton);
  }
  check_one_correction<test::AlternatingSigns>(1000, 1000, 5, Method::quasi_newton);
  check_one_correction<test::AlternatingSigns>(300, 3, 2, Method::newton);
}
