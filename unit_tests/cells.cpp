// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The arithmetic of the cells: elementary functions, and derivatives of the gates.
#include <elaphos/elaphos.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace {

// |value - truth| in units of the last place of the truth.
template <class Scalar>
double error_in_ulp(Scalar value, long double truth) {
  const Scalar rounded = static_cast<Scalar>(truth);
  const Scalar ulp = std::nextafter(std::abs(rounded), std::numeric_limits<Scalar>::infinity()) - std::abs(rounded);
  return static_cast<double>(std::abs(static_cast<long double>(value) - truth) / static_cast<long double>(ulp));
}

/// Arguments of all magnitudes: for every exponent and sign some mantissas, its ends among them, and more of them where
/// the functions do something.
template <class Scalar>
std::vector<Scalar> arguments_of_all_magnitudes() {
  using Limits = std::numeric_limits<Scalar>;
  std::mt19937_64 generator(17);
  std::uniform_real_distribution<double> mantissa(1, 2);
  std::vector<Scalar> out;
  for (int exponent = Limits::min_exponent - 1; exponent < Limits::max_exponent; ++exponent) {
    const int count = exponent >= -14 && exponent <= 10 ? 10'000 : 50;
    for (int i = 0; i < count; ++i) {
      const Scalar ends[] = {Scalar(1), std::nextafter(Scalar(2), Scalar(1))};
      const Scalar of_mantissa = i < 2 ? ends[i] : static_cast<Scalar>(mantissa(generator));
      out.push_back(std::ldexp(std::min(of_mantissa, ends[1]), exponent));
      out.push_back(-out.back());
    }
  }
  for (const Scalar subnormal : {Limits::denorm_min(), Limits::min() / 2, Scalar(0)}) out.push_back(subnormal);
  return out;
}

/// The largest error over such arguments, in units of the last place of the truth; where that is less than any normal
/// number, a result like that counts as right.
template <class Scalar, class Function, class Truth>
double worst_error(Function function, Truth truth) {
  double worst = 0;
  for (const Scalar x : arguments_of_all_magnitudes<Scalar>()) {
    const long double exact = truth(static_cast<long double>(x));
    const Scalar value = function(x), smallest = std::numeric_limits<Scalar>::min();
    if (value >= 0 && value <= smallest && exact >= 0 && exact <= smallest && x != 0) continue;
    const double error = error_in_ulp(value, exact);
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }
  return worst;
}

/// Whether a loop over any number of arguments, which compilers turn into vector code, has the bits of single calls.
template <class Scalar, class Function>
bool same_in_every_lane(Function function) {
  constexpr int longest = 67;
  std::mt19937_64 generator(19);
  std::normal_distribution<double> normal(0, 8);
  bool same = true;
  for (int count = 1; count <= longest; ++count) {
    Scalar x[longest], all[longest];
    for (int i = 0; i < count; ++i) x[i] = static_cast<Scalar>(i % 7 == 6 ? 1e3 * normal(generator) : normal(generator));
    if (count % 5 == 0) x[count / 2] = std::numeric_limits<Scalar>::quiet_NaN();
    for (int i = 0; i < count; ++i) all[i] = function(x[i]);
    for (int i = 0; i < count; ++i) {
      volatile Scalar single = x[i];
      const Scalar alone = function(single);
      same = same && (std::isnan(alone) ? std::isnan(all[i]) : elaphos::impl::same_bits(alone, all[i]));
    }
  }
  return same;
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

TEMPLATE_TEST_CASE("cells: sigmoid, tanh and exp on the host are within two units of the last place", "", float, double) {
  const auto sigmoid = [](TestType x) { return elaphos::impl::host_sigmoid(x); };
  const auto tanh = [](TestType x) { return elaphos::impl::host_tanh(x); };
  const auto exponential = [](TestType x) {
    constexpr TestType most = elaphos::impl::ElementaryConstants<TestType>::bound;
    TestType power;
    const TestType bounded = x > most ? most : (x < -most ? -most : x);
    const TestType fraction = elaphos::impl::reduced_exponential_minus_one<1>(bounded, power);
    return elaphos::impl::multiply_add(power, fraction, power);
  };
  CHECK(worst_error<TestType>(sigmoid, [](long double x) { return 1 / (1 + std::exp(-x)); }) <= 2);
  CHECK(worst_error<TestType>(tanh, [](long double x) { return std::tanh(x); }) <= 2);
  const long double bound = elaphos::impl::ElementaryConstants<TestType>::bound;
  CHECK(worst_error<TestType>(exponential, [bound](long double x) { return std::exp(std::min(x, bound)); }) <= 2);
  CHECK(same_in_every_lane<TestType>(sigmoid));
  CHECK(same_in_every_lane<TestType>(tanh));
  CHECK(same_in_every_lane<TestType>(exponential));
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
