// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic of the cells: elementary functions, and derivatives of the gates.
#include <elaphos/elaphos.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace {

// |value - truth| in units of the last place of the truth.
template <class Scalar>
double error_in_ulp(Scalar value, long double truth) {
  const Scalar rounded = static_cast<Scalar>(truth);
  const Scalar ulp = std::nextafter(std::abs(rounded), std::numeric_limits<Scalar>::infinity()) - std::abs(rounded);
  return static_cast<double>(std::abs(static_cast<long double>(value) - truth) / static_cast<long double>(ulp));
}

template <class Scalar, class Function, class Truth>
double worst_error(Function function, Truth truth, double bound) {
  std::mt19937_64 generator(17);
  std::uniform_real_distribution<double> wide(-bound, bound), exponent(-12, 0);
  double worst = 0;
  for (int i = 0; i < 200'000; ++i) {
    // Half of the arguments are small, down to 1e-12.
    const double sample = i % 2 == 0 ? wide(generator) : wide(generator) * std::pow(10, exponent(generator));
    const Scalar x = static_cast<Scalar>(sample);
    worst = std::max(worst, error_in_ulp(function(x), truth(static_cast<long double>(x))));
  }
  return worst;
}

template <class Gates>
void check_partials(const elaphos::impl::GatedUnit<Gates, double>& unit) {
  constexpr int gates = Gates::count, states = Gates::states;
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal(0, 1.5);
  constexpr double h_step = 1e-6;
  for (int sample = 0; sample < 1000; ++sample) {
    double input[gates], hidden[gates], own[states], by_gate[states][gates], direct[states][states];
    double weights[elaphos::impl::GatedUnit<Gates, double>::weights];
    for (double& number : weights) number = normal(generator);
    for (double& number : input) number = normal(generator);
    for (double& number : hidden) number = normal(generator);
    for (double& number : own) number = normal(generator);
    unit.partials(input, hidden, weights, own, by_gate, direct);
    // Central differences by the number at `argument`, of all states.
    const auto check = [&](double& argument, auto derivative) {
      double above[states], below[states];
      const double centre = argument;
      argument = centre + h_step;
      unit.next(input, hidden, weights, own, above);
      argument = centre - h_step;
      unit.next(input, hidden, weights, own, below);
      argument = centre;
      for (int s = 0; s < states; ++s) CHECK(std::abs(derivative(s) - (above[s] - below[s]) / (2 * h_step)) < 1e-8);
    };
    for (int g = 0; g < gates; ++g) check(hidden[g], [&](int s) { return by_gate[s][g]; });
    for (int r = 0; r < states; ++r) check(own[r], [&](int s) { return direct[s][r]; });
  }
}

}  // namespace

TEMPLATE_TEST_CASE("cells: sigmoid and tanh on the host are accurate to a few units of the last place", "", float,
                   double) {
  const auto sigmoid = [](TestType x) { return elaphos::impl::sigmoid(x); };
  const auto tanh = [](TestType x) { return elaphos::impl::hyperbolic_tangent(x); };
  CHECK(worst_error<TestType>(
            sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }, 80) < 3);
  CHECK(worst_error<TestType>(
            tanh, [](long double x) { return std::tanh(x); }, 25) < 3);
}

TEMPLATE_TEST_CASE("cells: the exponential on the host is accurate to two units of the last place", "", float, double) {
  const auto exponential = [](TestType x) {
    TestType power;
    const TestType fraction = elaphos::impl::reduced_exponential_minus_one(x, power);
    return elaphos::impl::multiply_add(power, fraction, power);
  };
  CHECK(worst_error<TestType>(
            exponential, [](long double x) { return std::exp(x); }, 86) <= 2);
}

TEMPLATE_TEST_CASE("cells: extreme arguments", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const TestType infinity = Limits::infinity();
  CHECK(elaphos::impl::sigmoid(infinity) == 1);
  CHECK(elaphos::impl::sigmoid(-infinity) <= Limits::min() * 16);
  CHECK(elaphos::impl::sigmoid(-infinity) >= 0);
  CHECK(elaphos::impl::hyperbolic_tangent(infinity) == 1);
  CHECK(elaphos::impl::hyperbolic_tangent(-infinity) == -1);
  CHECK(elaphos::impl::hyperbolic_tangent(TestType(0)) == 0);
  CHECK(std::isnan(elaphos::impl::sigmoid(Limits::quiet_NaN())));
  CHECK(std::isnan(elaphos::impl::hyperbolic_tangent(Limits::quiet_NaN())));
  CHECK(std::isnan(elaphos::impl::sigmoid(-Limits::quiet_NaN())));
}

TEST_CASE("cells: derivatives of the gates") {
  using namespace elaphos::impl;
  check_partials<ElmanGates>({});
  check_partials<GruGates>({});
  check_partials<GruResetBeforeGates>({});
  check_partials<LemGates>({{{}, 0.7}});
  check_partials<MinGruGates>({});
  check_partials<MinLstmGates>({});
  for (const bool coupled : {false, true}) {
    for (const bool peepholes : {false, true}) {
      check_partials<LstmGates>({{{}, coupled, peepholes}});
      check_partials<LstmGates>({{{}, coupled, peepholes}, 0.75, 0.25, true});
    }
  }
  check_partials<GruGates>({{}, 1, -0.5, true});
}
