// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What must hold for any system: drawn at random, by a seed that is printed.
#include "support/systems.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <random>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;
using test::System;

/// y' = tanh(W y + x). p: W.
template <int D>
struct Network {
  using scalar_type = double;
  static constexpr int state_size = D, input_size = D, parameter_size = D * D;
  KOKKOS_FUNCTION static double sum(int i, auto y, auto x, auto p) {
    double out = x[i];
    for (int k = 0; k < D; ++k) out = Kokkos::fma(p[i * D + k], y[k], out);
    return out;
  }
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto p, auto next) const {
    for (int i = 0; i < D; ++i) next[i] = Kokkos::tanh(sum(i, y, x, p));
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto x, auto p, auto J) const {
    for (int i = 0; i < D; ++i) {
      const double out = Kokkos::tanh(sum(i, y, x, p));
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
  std::vector<double> reals(std::int64_t count, double bound) {
    std::vector<double> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(real(-bound, bound));
    return out;
  }
};

// From forgetful to chaotic.
template <int D>
System<Network<D>> draw_system(Draw& draw, std::int64_t T, std::int64_t B) {
  const double gain = draw.real(0.3, 3);
  return {{}, T, B, draw.reals(B * D, 1), draw.reals(T * B * D, 0.5), draw.reals(D * D, gain * std::sqrt(3.0 / D))};
}

SolveOptions draw_options(Draw& draw, std::int64_t T) {
  SolveOptions options;
  constexpr Method kinds[] = {Method::automatic, Method::jacobi, Method::quasi_newton, Method::newton};
  options.method = kinds[draw.integer(0, 3)];
  if (draw.integer(0, 3) > 0) options.segments = draw.integer(1, T);
  options.max_iterations = static_cast<int>(draw.integer(1, 40));
  options.stop_when_stalled = draw.integer(0, 1) == 1;
  constexpr elaphos::InitialGuess guesses[] = {elaphos::InitialGuess::initial_state, elaphos::InitialGuess::zeros};
  options.initial_guess = guesses[draw.integer(0, 1)];
  return options;
}

template <class R>
void capture_and_compare(System<R>& system, const SolveOptions& options, const std::vector<double>& expected) {
  const auto report = system.solve(options);
  CAPTURE(R::state_size, system.T, system.B, options.segments, to_string(options.method), options.max_iterations,
          options.stop_when_stalled, to_string(report.status), report.iterations());
  CHECK(report.converged());
  CHECK(report.max_residual == 0);
  CHECK(test::different_bits(system.y, expected) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE_SIG("properties: exact bits whatever the options", "", ((int D), D), 1, 3, 6) {
  Draw draw{std::mt19937_64(Catch::getSeed() + D)};
  CAPTURE(Catch::getSeed());
  for (int round = 0; round < 60; ++round) {
    const std::int64_t T = draw.integer(1, 1500), B = draw.integer(1, 7);
    auto system = draw_system<D>(draw, T, B);
    const std::vector<double> expected = system.sequential();
    for (int attempt = 0; attempt < 3; ++attempt) capture_and_compare(system, draw_options(draw, T), expected);
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

TEST_CASE("properties: tolerance mode is within tolerance where the system forgets") {
  Draw draw{std::mt19937_64(Catch::getSeed())};
  CAPTURE(Catch::getSeed());
  for (int round = 0; round < 40; ++round) {
    const std::int64_t T = draw.integer(1, 3000), B = draw.integer(1, 4);
    System<Network<3>> system{{}, T, B, draw.reals(B * 3, 1), draw.reals(T * B * 3, 0.5), draw.reals(9, 0.5)};
    const std::vector<double> expected = system.sequential();
    SolveOptions options = draw_options(draw, T);
    options.merge = Merge::tolerance;
    options.tolerance = elaphos::Tolerance{1e-8, 1e-8};
    options.verify = true;
    const auto report = system.solve(options);
    CAPTURE(T, B, options.segments, to_string(options.method), to_string(report.status), report.iterations());
    CHECK(report.converged());
    CHECK(*report.verified_residual <= 2e-8);
    CHECK(test::largest_difference(system.y, expected) <= 1e-7);  // rows of W sum to 1.5: errors may add up a little
  }
}

TEST_CASE("properties: a sequence continued is the sequence") {
  Draw draw{std::mt19937_64(Catch::getSeed())};
  CAPTURE(Catch::getSeed());
  for (int round = 0; round < 20; ++round) {
    const std::int64_t T = draw.integer(2, 2000), B = draw.integer(1, 4), first = draw.integer(1, T - 1);
    auto whole = draw_system<3>(draw, T, B);
    whole.solve(draw_options(draw, T));
    const std::ptrdiff_t cut = first * B * 3;
    System<Network<3>> head = whole, tail = whole;
    head.T = first;
    head.x.resize(std::size_t(cut));
    head.solve(draw_options(draw, first));
    tail.T = T - first;
    tail.y0.assign(head.y.end() - B * 3, head.y.end());
    tail.x.assign(whole.x.begin() + cut, whole.x.end());
    tail.solve(draw_options(draw, tail.T));
    std::vector<double> joined = head.y;
    joined.insert(joined.end(), tail.y.begin(), tail.y.end());
    CAPTURE(T, B, first);
    CHECK(test::different_bits(joined, whole.y) == 0);
  }
}
