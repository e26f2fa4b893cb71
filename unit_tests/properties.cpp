// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must hold for any system: drawn at random, by a seed that is printed.
#include "support/methods.hpp"
#include "support/systems.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;
using test::System;

/// Blocks that D states are cut into, for the method that carries only these; one state is none.
template <int D>
struct Blocks {
  static constexpr elaphos::JacobianBlocks jacobian_blocks{D % 3 == 0 ? 3 : 2, D % 3 == 0 ? D / 3 : D / 2};
};
template <>
struct Blocks<1> {};

/// y' = tanh(W y + x). p: W.
template <class Number, int D>
struct Network : Blocks<D> {
  using scalar_type = Number;
  static constexpr int state_size = D, input_size = D, parameter_size = D * D;
  KOKKOS_FUNCTION static Number sum(int i, auto y, auto x, auto p) {
    Number out = x[i];
    for (int k = 0; k < D; ++k) out = Kokkos::fma(p[i * D + k], y[k], out);
    return out;
  }
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto p, auto next) const {
    for (int i = 0; i < D; ++i) next[i] = Kokkos::tanh(sum(i, y, x, p));
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto x, auto p, auto J) const {
    for (int i = 0; i < D; ++i) {
      const Number out = Kokkos::tanh(sum(i, y, x, p));
      for (int k = 0; k < D; ++k) J(i, k) = (1 - out * out) * p[i * D + k];
    }
  }
};

struct Draw {
  std::mt19937_64 generator;
  double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(generator); }
  std::int64_t integer(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(generator);
  }
  template <class Number>
  std::vector<Number> reals(std::int64_t count, double bound) {
    std::vector<Number> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(static_cast<Number>(real(-bound, bound)));
    return out;
  }
  template <class Choices>
  auto one_of(const Choices& choices) {
    return choices[static_cast<std::size_t>(integer(0, static_cast<std::int64_t>(std::size(choices)) - 1))];
  }
};

template <class Number, int D>
System<Network<Number, D>> draw_system(Draw& draw, std::int64_t T, std::int64_t B, double gain) {
  return {{},
          T,
          B,
          draw.reals<Number>(B * D, 1),
          draw.reals<Number>(T * B * D, 0.5),
          draw.reals<Number>(D * D, gain * std::sqrt(3.0 / D))};
}

// From forgetful to chaotic.
template <class Number, int D>
System<Network<Number, D>> draw_system(Draw& draw, std::int64_t T, std::int64_t B) {
  return draw_system<Number, D>(draw, T, B, draw.real(0.3, 3));
}

template <int D>
SolveOptions draw_options(Draw& draw, std::int64_t T) {
  SolveOptions options;
  if (draw.integer(0, 6) > 0) {
    options.method = D == 1 ? draw.one_of(test::methods) : draw.one_of(test::methods_with_blocks);
  }
  const std::int64_t cut = draw.integer(0, 3);
  if (cut == 1) options.steps_per_segment = draw.integer(1, T);
  if (cut > 1) options.segments = draw.integer(1, T);
  options.max_iterations = static_cast<int>(draw.integer(1, 40));
  options.stop_when_stalled = draw.integer(0, 1) == 1;
  constexpr elaphos::InitialGuess guesses[] = {elaphos::InitialGuess::initial_state, elaphos::InitialGuess::zeros};
  options.initial_guess = draw.one_of(guesses);
  if (draw.integer(0, 3) == 0) options.window_steps = draw.integer(1 + T / 10, T);
  if (draw.integer(0, 3) == 0) options.keep_every = draw.integer(1, T + 1);
  return options;
}

std::string describe(const SolveOptions& options) {
  return to_string(options.method) + ", " + std::to_string(options.segments) + " segments or of " +
         std::to_string(options.steps_per_segment) + " steps, windows of " + std::to_string(options.window_steps) +
         ", every " + std::to_string(options.keep_every) + "-th kept, " + std::to_string(options.max_iterations) +
         " passes, stop when stalled " + std::to_string(options.stop_when_stalled) + ", guess " +
         to_string(options.initial_guess);
}

template <class R, class Number>
void capture_and_compare(System<R>& system, const SolveOptions& options, const std::vector<Number>& expected) {
  CAPTURE(R::state_size, system.T, system.B, describe(options));
  const auto report = system.solve(options);
  CAPTURE(to_string(report.status), report.iterations());
  CHECK(report.converged());
  CHECK(report.max_residual == 0);
  const auto kept = test::kept_of(expected, std::size_t(system.T), std::size_t(system.B * R::state_size),
                                  std::size_t(options.keep_every));
  CHECK(test::different_bits(system.y, kept) == 0);
}

// Some neighbours of the batch, alone and cut otherwise.
template <class R, class Number>
void compare_split(Draw& draw, const System<R>& system, const std::vector<Number>& expected) {
  constexpr std::int64_t D = R::state_size;
  const std::int64_t T = system.T, B = system.B, first = draw.integer(0, B - 1), last = draw.integer(first + 1, B);
  System<R> part = system;
  part.B = last - first;
  part.y0 = test::some_sequences(system.y0, 1, B, D, first, last);
  part.x = test::some_sequences(system.x, T, B, D, first, last);
  CAPTURE(first, last);
  capture_and_compare(part, draw_options<D>(draw, T), test::some_sequences(expected, T, B, D, first, last));
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("properties: exact bits whatever the options", "", ((class Number, int D), Number, D),
                       (double, 1), (double, 3), (double, 4), (double, 6), (float, 2), (float, 6)) {
  Draw draw{std::mt19937_64(Catch::getSeed() + D)};
  CAPTURE(Catch::getSeed());
  for (int round = 0; round < 25; ++round) {
    const std::int64_t T = draw.integer(1, 1200), B = draw.integer(1, 7);
    auto system = draw_system<Number, D>(draw, T, B);
    const std::vector<Number> expected = system.sequential();
    for (int attempt = 0; attempt < 3; ++attempt) {
      capture_and_compare(system, draw_options<D>(draw, T), expected);
    }
    compare_split(draw, system, expected);
  }
}

TEST_CASE("properties: few segments and sequences that stall") {
  // As many segments as workers and a few more: a second pass may be a probe, of a part of them.
  for (const std::int64_t B : {1, 2, 3, 5}) {
    for (std::int64_t segments = 2; segments <= 12; ++segments) {
      System<test::LogisticMap> chaotic{{}, 40 * segments - 3, B, std::vector<double>(std::size_t(B), 0.3), {}, {4.0}};
      for (std::int64_t b = 0; b < B; b += 2) chaotic.y0[std::size_t(b)] = 0;  // these are at rest
      const std::vector<double> expected = chaotic.sequential();
      SolveOptions options;
      options.segments = segments;
      capture_and_compare(chaotic, options, expected);
    }
  }
}

TEMPLATE_TEST_CASE("properties: tolerance mode is within tolerance where the system forgets", "", double, float) {
  Draw draw{std::mt19937_64(Catch::getSeed())};
  CAPTURE(Catch::getSeed());
  const double tolerance = std::is_same_v<TestType, double> ? 1e-8 : 1e-5;
  for (int round = 0; round < 40; ++round) {
    const std::int64_t T = draw.integer(1, 3000), B = draw.integer(1, 4);
    auto system = draw_system<TestType, 3>(draw, T, B, 0.5);
    const std::vector<TestType> expected = system.sequential();
    SolveOptions options = draw_options<3>(draw, T);
    options.merge = Merge::tolerance;
    options.tolerance = elaphos::Tolerance{tolerance, tolerance};
    options.verify = true;
    CAPTURE(T, B, describe(options));
    const auto report = system.solve(options);
    CAPTURE(to_string(report.status), report.iterations());
    CHECK(report.converged());
    CHECK(*report.verified_residual <= 2 * tolerance);
    // Rows of W sum to 1.5: errors may add up a little.
    const auto kept = test::kept_of(expected, std::size_t(T), std::size_t(B * 3), std::size_t(options.keep_every));
    CHECK(test::largest_difference(system.y, kept) <= 10 * tolerance);
  }
}

TEST_CASE("properties: a sequence continued is the sequence") {
  Draw draw{std::mt19937_64(Catch::getSeed())};
  CAPTURE(Catch::getSeed());
  for (int round = 0; round < 20; ++round) {
    const std::int64_t T = draw.integer(2, 2000), B = draw.integer(1, 4), first = draw.integer(1, T - 1);
    auto whole = draw_system<double, 3>(draw, T, B);
    const auto all_kept = [&draw](std::int64_t steps) {
      SolveOptions options = draw_options<3>(draw, steps);
      options.keep_every = 1;
      return options;
    };
    whole.solve(all_kept(T));
    const std::ptrdiff_t cut = first * B * 3;
    auto head = whole, tail = whole;
    head.T = first;
    head.x.resize(std::size_t(cut));
    head.solve(all_kept(first));
    tail.T = T - first;
    tail.y0.assign(head.y.end() - B * 3, head.y.end());
    tail.x.assign(whole.x.begin() + cut, whole.x.end());
    tail.solve(all_kept(tail.T));
    std::vector<double> joined = head.y;
    joined.insert(joined.end(), tail.y.begin(), tail.y.end());
    CAPTURE(T, B, first);
    CHECK(test::different_bits(joined, whole.y) == 0);
  }
}

TEST_CASE("properties: chaotic sequences of a batch do not hold the others back") {
  // y' = y^2 + x / 2: chaotic at x = -3.9, forgets its start at small x > 0.
  Draw draw{std::mt19937_64(Catch::getSeed())};
  CAPTURE(Catch::getSeed());
  for (const Method method : test::methods) {
    const std::int64_t T = draw.integer(300, 600), B = draw.integer(2, 6), wild = draw.integer(0, B - 1);
    System<test::Riccati> batch{{}, T, B, std::vector<double>(std::size_t(B), 0.3), draw.reals<double>(T * B, 0.2), {}};
    for (std::size_t i = 0; i < batch.x.size(); ++i) batch.x[i] = i % B == std::size_t(wild) ? -3.9 : batch.x[i] + 0.2;
    System<test::Riccati> calm = batch;
    calm.B = B - 1;
    calm.y0.pop_back();
    calm.x.clear();
    for (std::size_t i = 0; i < batch.x.size(); ++i) {
      if (i % B != std::size_t(wild)) calm.x.push_back(batch.x[i]);
    }
    SolveOptions options;
    options.method = method;
    options.steps_per_segment = draw.integer(2, 20);
    options.stop_when_stalled = false;
    options.max_iterations = 400;
    const auto alone = calm.solve(options);
    CAPTURE(to_string(method), T, B, wild, options.steps_per_segment, alone.iterations());
    REQUIRE(alone.status == elaphos::SolveStatus::converged);

    // So many passes later, only segments of the chaotic sequence run; and a solve that ends then has the others right.
    const int enough = alone.iterations();
    const auto report = batch.solve(options);
    REQUIRE(report.iterations() > enough);
    CHECK(report.passes[std::size_t(enough)].active_segments < report.plan.segments);
    options.max_iterations = enough;
    options.at_limit = elaphos::AtLimit::return_iterate;
    CHECK(batch.solve(options).status == elaphos::SolveStatus::iteration_limit);
    for (std::int64_t b = 0, other = 0; b < B; ++b) {
      if (b == wild) continue;
      CHECK(test::different_bits(test::some_sequences(batch.y, T, B, 1, b, b + 1),
                                 test::some_sequences(calm.y, T, B - 1, 1, other, other + 1)) == 0);
      ++other;
    }
  }
}
