// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dual numbers against difference quotients in long double, and the Jacobians they supply.
#include "support/systems.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <cmath>
#include <random>
#include <vector>

namespace {

using elaphos::Differentiated;
using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;
using test::Exec;
using test::Memory;
using Real = long double;
using D2 = elaphos::Dual<double, 2>;

D2 variable(double value, int direction) {
  D2 out(value);
  out.slope[direction] = 1;
  return out;
}

// By central differences of fourth order: some 1e-12 off.
template <class Function>
double slope_of(const Function& f, Real x) {
  const Real h = 1e-4L;
  return static_cast<double>((8 * (f(x + h) - f(x - h)) - (f(x + 2 * h) - f(x - 2 * h))) / (12 * h));
}

void check_close(double a, double b) {
  CAPTURE(a, b);
  CHECK(std::abs(a - b) <= 2e-10 * (1 + std::abs(b)));
}

// f(a) of duals and of long double, at some points.
#define CHECK_FUNCTION(NAME, ...)                                                     \
  for (const double at : {__VA_ARGS__}) {                                             \
    CAPTURE(#NAME, at);                                                               \
    const D2 f = Kokkos::NAME(variable(at, 1) * 2.0);                                 \
    check_close(f.value, static_cast<double>(std::NAME(Real(2) * at)));               \
    check_close(f.slope[1], slope_of([](Real x) { return std::NAME(2 * x); }, at));   \
    CHECK(f.slope[0] == 0);                                                           \
  }

#define CHECK_FUNCTION_OF_TWO(NAME, A, B)                                                       \
  {                                                                                             \
    CAPTURE(#NAME, A, B);                                                                       \
    const D2 f = Kokkos::NAME(variable(A, 0), variable(B, 1));                                  \
    check_close(f.value, static_cast<double>(std::NAME(Real(A), Real(B))));                     \
    check_close(f.slope[0], slope_of([](Real x) { return std::NAME(x, Real(B)); }, A));         \
    check_close(f.slope[1], slope_of([](Real x) { return std::NAME(Real(A), x); }, B));         \
    check_close(Kokkos::NAME(variable(A, 0), double(B)).slope[0], f.slope[0]);                  \
    check_close(Kokkos::NAME(double(A), variable(B, 1)).slope[1], f.slope[1]);                  \
  }

// A ring of D states whose Jacobian has three entries a row.
template <int D>
struct Ring {
  using scalar_type = double;
  static constexpr int state_size = D, input_size = 1, parameter_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto p, auto next) const {
    for (int i = 0; i < D; ++i) {
      next[i] = 0.5 * Kokkos::tanh(y[i] * y[(i + 1) % D]) + p[0] * Kokkos::sin(y[(i + D - 1) % D]) + x[0];
    }
  }
};

template <int D>
double expected_entry(const double* y, double p, int i, int j) {
  const int right = (i + 1) % D, left = (i + D - 1) % D;
  const double f = std::tanh(y[i] * y[right]), rise = 0.5 * (1 - f * f);
  double sum = 0;
  if (j == i) sum += rise * y[right];
  if (j == right) sum += rise * y[i];
  if (j == left) sum += p * std::cos(y[left]);
  return sum;
}

// As in docs/user-recurrences.md.
struct VanDerPol {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 0;
  double dt, mu;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const {
    const auto velocity = y[1] + dt * (mu * (1 - y[0] * y[0]) * y[1] - y[0]);
    next[0] = y[0] + dt * velocity;
    next[1] = velocity;
  }
};

// One entry of DrivenVanDerPol's Jacobian is wrong.
struct Wrong : test::DrivenVanDerPol {
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext at, auto y, auto x, auto p, auto J) const {
    test::DrivenVanDerPol::jacobian(at, y, x, p, J);
    if (at.t == 250) J(1, 0) += 0.5;
  }
};

}  // namespace

TEST_CASE("autodiff: functions of one number") {
  CHECK_FUNCTION(abs, -0.7, 0.4)
  CHECK_FUNCTION(fabs, -0.7, 0.4)
  CHECK_FUNCTION(sqrt, 0.3, 2.0)
  CHECK_FUNCTION(cbrt, -0.3, 2.0)
  CHECK_FUNCTION(exp, -2.0, 0.0, 1.5)
  CHECK_FUNCTION(exp2, -2.0, 0.0, 1.5)
  CHECK_FUNCTION(expm1, -2.0, 0.0, 1.5)
  CHECK_FUNCTION(log, 0.2, 3.0)
  CHECK_FUNCTION(log2, 0.2, 3.0)
  CHECK_FUNCTION(log10, 0.2, 3.0)
  CHECK_FUNCTION(log1p, -0.2, 3.0)
  CHECK_FUNCTION(sin, -1.0, 0.0, 2.0)
  CHECK_FUNCTION(cos, -1.0, 0.0, 2.0)
  CHECK_FUNCTION(tan, -0.3, 0.0, 0.5)
  CHECK_FUNCTION(asin, -0.3, 0.0, 0.4)
  CHECK_FUNCTION(acos, -0.3, 0.0, 0.4)
  CHECK_FUNCTION(atan, -3.0, 0.0, 0.4)
  CHECK_FUNCTION(sinh, -1.0, 0.0, 0.4)
  CHECK_FUNCTION(cosh, -1.0, 0.0, 0.4)
  CHECK_FUNCTION(tanh, -1.0, 0.0, 0.4)
  CHECK_FUNCTION(asinh, -1.0, 0.0, 0.4)
  CHECK_FUNCTION(acosh, 0.7, 2.0)
  CHECK_FUNCTION(atanh, -0.3, 0.0, 0.4)
  CHECK_FUNCTION(erf, -1.0, 0.0, 0.4)
  CHECK_FUNCTION(erfc, -1.0, 0.0, 0.4)
  CHECK_FUNCTION(ceil, -0.6, 0.4)
  CHECK_FUNCTION(floor, -0.6, 0.4)
  CHECK_FUNCTION(trunc, -0.6, 0.4)
  CHECK_FUNCTION(round, -0.6, 0.4)
}

TEST_CASE("autodiff: functions of two numbers, each of which may be a constant") {
  CHECK_FUNCTION_OF_TWO(pow, 1.3, 2.4)
  CHECK_FUNCTION_OF_TWO(pow, 0.2, -1.5)
  CHECK_FUNCTION_OF_TWO(atan2, 0.6, -0.8)
  CHECK_FUNCTION_OF_TWO(hypot, 0.6, -0.8)
  CHECK_FUNCTION_OF_TWO(fmod, 5.3, 1.7)
  CHECK_FUNCTION_OF_TWO(remainder, 5.3, 1.9)
  CHECK_FUNCTION_OF_TWO(copysign, 0.6, -0.8)
  CHECK_FUNCTION_OF_TWO(fmax, 0.6, -0.8)
  CHECK_FUNCTION_OF_TWO(fmin, 0.6, -0.8)
  CHECK_FUNCTION_OF_TWO(fdim, 0.6, -0.8)
  CHECK_FUNCTION_OF_TWO(fdim, -0.6, 0.8)
  // A whole power of a negative number, and of 0, has no logarithm in it.
  CHECK(Kokkos::pow(variable(-2, 0), 3).slope[0] == 12);
  CHECK(Kokkos::pow(variable(0, 0), 1).slope[0] == 1);
  CHECK(Kokkos::pow(variable(0, 0), 0).slope[0] == 0);
  CHECK(Kokkos::fma(variable(2, 0), variable(3, 1), D2(4)).value == 10);
  CHECK(Kokkos::fma(variable(2, 0), variable(3, 1), D2(4)).slope[0] == 3);
}

TEST_CASE("autodiff: branches take the derivative of the side they are on, at a tie of the first") {
  const D2 a = variable(1, 0), b = variable(2, 1), tie = variable(1, 1);
  CHECK(Kokkos::max(a, b).slope[1] == 1);
  CHECK(Kokkos::max(a, b).slope[0] == 0);
  CHECK(Kokkos::min(a, b).slope[0] == 1);
  CHECK(Kokkos::max(a, tie).slope[0] == 1);
  CHECK(Kokkos::min(a, tie).slope[0] == 1);
  CHECK(Kokkos::max(a, 0.0).slope[0] == 1);
  CHECK(Kokkos::max(variable(-1, 0), 0.0).slope[0] == 0);
  CHECK(Kokkos::fmax(D2(NAN), a).slope[0] == 1);
  CHECK(a < b);
  CHECK(a < 1.5);
  CHECK(1.5 > a);
  CHECK(a == tie);
  CHECK(a != b);
  CHECK(Kokkos::isnan(D2(NAN)));
  CHECK(Kokkos::isfinite(a));
  CHECK(Kokkos::isinf(D2(INFINITY)));
  CHECK(Kokkos::signbit(-a));
}

TEST_CASE("autodiff: arithmetic") {
  const double x = 1.7, y = -0.3;
  D2 f = (variable(x, 0) * 3 - 2 / variable(y, 1)) / (1 + variable(x, 0) * variable(y, 1));
  f += variable(x, 0);
  f *= 2.0f;
  f -= 1;
  f /= variable(y, 1);
  const auto plain = [](Real u, Real v) { return (((u * 3 - 2 / v) / (1 + u * v) + u) * 2 - 1) / v; };
  check_close(f.value, static_cast<double>(plain(x, y)));
  check_close(f.slope[0], slope_of([&](Real u) { return plain(u, y); }, x));
  check_close(f.slope[1], slope_of([&](Real v) { return plain(x, v); }, y));
  check_close((-f).slope[0], -f.slope[0]);
}

TEMPLATE_TEST_CASE_SIG("autodiff: Jacobians of any width are those by hand", "", ((int D, int width), D, width), (1, 1),
                       (3, 1), (3, 2), (8, 8), (9, 8), (17, 4)) {
  const std::uint64_t seed = 11;
  CAPTURE(seed);
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  double y[D], J[D * D];
  for (double& number : y) number = uniform(generator);
  const double x = 0.3, p = 0.25;
  const Differentiated<Ring<D>, width> ring{};
  ring.jacobian(elaphos::StepContext{0, 0}, static_cast<const double*>(y), &x, &p, elaphos::JacobianRef<double>(J, D));
  for (int i = 0; i < D; ++i) {
    for (int j = 0; j < D; ++j) {
      CAPTURE(i, j);
      CHECK(std::abs(J[i * D + j] - expected_entry<D>(y, p, i, j)) < 1e-14);
    }
  }
}

TEST_CASE("autodiff: a step alone is enough for every method") {
  const std::int64_t T = 2000;
  std::vector<double> x(T);
  std::mt19937_64 generator(4);
  for (double& number : x) number = std::uniform_real_distribution<double>(-1, 1)(generator);
  test::System<Differentiated<Ring<3>>> system{{}, T, 1, {0.1, 0.2, 0.3}, x, {0.4}};
  const std::vector<double> loop = system.sequential();
  for (const Method method : {Method::newton, Method::quasi_newton, Method::levenberg_marquardt}) {
    SolveOptions options;
    options.method = method;
    options.steps_per_segment = 1;
    CAPTURE(to_string(method));
    const auto report = system.solve(options);
    CHECK(report.converged());
    CHECK(test::different_bits(system.y, loop) == 0);
    options.merge = Merge::tolerance;
    CHECK(system.solve(options).converged());
    CHECK(test::largest_difference(system.y, loop) < 1e-5);
  }
}

TEST_CASE("autodiff: the documentation's oscillator") {
  const elaphos::SequenceView<double, Memory> no_input, y("test::y", 600, 1, 2);
  const elaphos::StateView<double, Memory> y0("test::y0", 1, 2);
  Kokkos::deep_copy(y0, 0.5);
  const Differentiated<VanDerPol> oscillator{{0.01, 2}};
  elaphos::solve_sequentially(Exec(), oscillator, y0, no_input, y);
  const std::vector<double> loop = test::to_host(y);
  SolveOptions options;
  options.merge = Merge::tolerance;
  options.method = Method::newton;
  options.steps_per_segment = 30;
  options.verify = true;
  const auto report = elaphos::solve(Exec(), oscillator, y0, no_input, y, options);
  CHECK(report.status == elaphos::SolveStatus::converged);
  CHECK(*report.verified_residual < 1e-5);
  CHECK(test::largest_difference(test::to_host(y), loop) < 1e-4);
  CHECK(elaphos::check_jacobian(Exec(), oscillator, y0, no_input, y).difference == 0);
}

TEST_CASE("autodiff: check_jacobian finds the entry that is wrong, and nothing in what is right") {
  const elaphos::SequenceView<double, Memory> nothing, y("test::y", 1000, 3, 2);
  const elaphos::StateView<double, Memory> y0("test::y0", 3, 2);
  Kokkos::deep_copy(y0, 0.5);
  const test::DrivenVanDerPol right{0.05, 1.5, 1.2, 0.6};
  elaphos::solve_sequentially(Exec(), right, y0, nothing, y);
  CHECK(elaphos::check_jacobian(Exec(), right, y0, nothing, y).difference < 1e-13);

  const auto found = elaphos::check_jacobian(Exec(), Wrong{right}, y0, nothing, y, 3000);
  CHECK(found.difference > 0.1);
  CHECK(found.at.t == 250);
  CHECK(found.at.b == 0);
  CHECK(found.row == 1);
  CHECK(found.column == 0);
  CHECK(std::abs(found.supplied - found.derivative - 0.5) < 1e-12);

  const elaphos::VectorView<double, Memory> p("test::p", 1);
  Kokkos::deep_copy(p, 3.7);
  const elaphos::SequenceView<double, Memory> orbit("test::y", 100, 1, 1);
  const elaphos::StateView<double, Memory> start("test::y0", 1, 1);
  Kokkos::deep_copy(start, 0.3);
  const auto logistic = elaphos::bind_parameters(test::LogisticMap{}, p);
  elaphos::solve_sequentially(Exec(), logistic, start, nothing, orbit);
  CHECK(elaphos::check_jacobian(Exec(), logistic, start, nothing, orbit).difference < 1e-14);
  CHECK_THROWS_AS(elaphos::check_jacobian(Exec(), logistic, start, nothing, orbit, 0), elaphos::InvalidArgument);
  const elaphos::SequenceView<double, Memory> none("test::y", 0, 1, 1);
  CHECK(elaphos::check_jacobian(Exec(), logistic, start, nothing, none).at.t == -1);
}
