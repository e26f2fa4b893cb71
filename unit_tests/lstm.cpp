// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The LSTM: a cell whose units have two states, h and c, of which the matrices see only h.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/one_pass.hpp"

#include <elaphos/impl/runs_on_host.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

namespace {

using elaphos::Method;
using elaphos::Sensitivity;
using test::CellKind;
using test::Exec;
using Real = long double;

constexpr int sizes[] = {1, 3, 17, 32, 33, 128};

// A device holds no dense product of more units.
constexpr int widest_dense_on_devices = 16;

bool refused(int H, Method method) {
  const bool dense = method == Method::newton || method == Method::levenberg_marquardt;
  return dense && !elaphos::impl::runs_on_host<Exec> && H > widest_dense_on_devices;
}

// d next[i] / d state[j], row-major, by central differences of the plain step.
std::vector<Real> step_jacobian(const test::Layer& layer, const std::vector<Real>& state, const double* x) {
  constexpr Real apart = 1e-6L;
  const std::size_t D = state.size();
  std::vector<Real> out(D * D);
  for (std::size_t j = 0; j < D; ++j) {
    std::vector<Real> above = state, below = state;
    above[j] += apart;
    below[j] -= apart;
    plain_step(layer, above, x);
    plain_step(layer, below, x);
    for (std::size_t i = 0; i < D; ++i) out[i * D + j] = (above[i] - below[i]) / (2 * apart);
  }
  return out;
}

// What of a Jacobian a sensitivity sees, as D x D.
std::vector<Real> seen_by(Sensitivity sensitivity, const std::vector<Real>& jacobian, std::size_t D) {
  std::vector<Real> out(jacobian);
  for (std::size_t i = 0; i < D; ++i) {
    for (std::size_t j = 0; j < D; ++j) {
      const bool same_unit = i % (D / 2) == j % (D / 2);
      const bool seen = sensitivity == Sensitivity::dense || (sensitivity == Sensitivity::block && same_unit) || i == j;
      if (!seen) out[i * D + j] = 0;
    }
  }
  return out;
}

std::vector<Real> product_of(const std::vector<Real>& a, const std::vector<Real>& b, std::size_t D) {
  std::vector<Real> out(D * D);
  for (std::size_t i = 0; i < D; ++i) {
    for (std::size_t k = 0; k < D; ++k) {
      if (a[i * D + k] == 0) continue;
      for (std::size_t j = 0; j < D; ++j) out[i * D + j] += a[i * D + k] * b[k * D + j];
    }
  }
  return out;
}

// The numbers of a D x D matrix that are stored, in their order: of blocks unit by unit.
std::vector<Real> stored_numbers(Sensitivity sensitivity, const std::vector<Real>& matrix, std::size_t D) {
  if (sensitivity == Sensitivity::dense) return matrix;
  std::vector<Real> out;
  if (sensitivity == Sensitivity::diagonal) {
    for (std::size_t i = 0; i < D; ++i) out.push_back(matrix[i * D + i]);
    return out;
  }
  const std::size_t H = D / 2;
  for (std::size_t unit = 0; unit < H; ++unit) {
    for (const std::size_t i : {unit, H + unit}) {
      for (const std::size_t j : {unit, H + unit}) out.push_back(matrix[i * D + j]);
    }
  }
  return out;
}

// One segment a sequence, as a pass propagates it, against products of numerical derivatives.
template <class Scalar>
void check_sensitivities(int H, std::int64_t T, std::int64_t B, Sensitivity sensitivity) {
  CAPTURE(H, T, B, to_string(sensitivity));
  auto problem = test::random_problem<Scalar>(CellKind::lstm, H, 2, T, B, static_cast<std::uint64_t>(H));
  const std::size_t D = static_cast<std::size_t>(problem.layer.state_size()), batch = static_cast<std::size_t>(B);
  std::vector<Real> expected;
  Real largest = 0;
  for (std::size_t b = 0; b < batch; ++b) {
    std::vector<Real> state(problem.y0_host.begin() + static_cast<std::ptrdiff_t>(b * D),
                            problem.y0_host.begin() + static_cast<std::ptrdiff_t>((b + 1) * D));
    std::vector<Real> product;
    for (std::size_t t = 0; t < static_cast<std::size_t>(T); ++t) {
      const double* x = problem.x_host.data() + (t * batch + b) * 2;
      const auto jacobian = seen_by(sensitivity, step_jacobian(problem.layer, state, x), D);
      product = t == 0 ? jacobian : product_of(jacobian, product, D);
      plain_step(problem.layer, state, x);
    }
    const auto numbers = stored_numbers(sensitivity, product, D);
    expected.insert(expected.end(), numbers.begin(), numbers.end());
    for (const Real number : product) largest = std::max(largest, std::abs(number));
  }

  const elaphos::Lstm cell(test::weights_on_device<Scalar>(problem.layer));
  const auto propagate = [&] {
    return test::propagate_once(cell, problem.y0, problem.x, problem.y, sensitivity, expected.size());
  };
  if (sensitivity == Sensitivity::dense && refused(H, Method::newton)) {
    CHECK_THROWS_AS(propagate(), elaphos::InvalidArgument);
    return;
  }
  const auto result = propagate();
  const double tolerance = std::is_same_v<Scalar, double> ? 1e-10 : 1e-5;
  CHECK(test::largest_difference(result.sensitivities, expected) <= tolerance);
  if (T > 1) return;
  // Over one step the growth is the largest entry.
  CHECK(std::abs(static_cast<double>(result.growth - largest)) <= tolerance);
}

elaphos::SolveOptions options_of(std::int64_t segments, Method method) {
  elaphos::SolveOptions options;
  options.segments = segments;
  options.method = method;
  return options;
}

}  // namespace

TEST_CASE("lstm: the sequential loop is a plain loop") {
  for (const int H : sizes) {
    for (const std::int64_t T : {0, 1, 30}) {
      for (const std::int64_t B : {1, 3}) {
        CAPTURE(H, T, B);
        auto problem = test::random_problem<double>(CellKind::lstm, H, 3, T, B, static_cast<std::uint64_t>(H));
        const auto expected = test::plain_loop(problem.layer, T, B, problem.y0_host, problem.x_host);
        CHECK(test::largest_difference(problem.sequential(), expected) <= 1e-13);
        auto in_float = test::random_problem<float>(CellKind::lstm, H, 3, T, B, static_cast<std::uint64_t>(H));
        CHECK(test::largest_difference(in_float.sequential(), expected) <= 1e-5);
      }
    }
  }
}

TEMPLATE_TEST_CASE("lstm: exact bits by all methods", "", float, double) {
  for (const int H : sizes) {
    for (const std::int64_t T : {1, 61}) {
      for (const std::int64_t B : {1, 3}) {
        if (H > 32 && B > 1) continue;  // they take long
        auto problem = test::random_problem<TestType>(CellKind::lstm, H, 2, T, B, static_cast<std::uint64_t>(H), 2.0);
        const auto sequential = problem.sequential();
        for (const std::int64_t segments : {std::int64_t(2), std::int64_t(7), T}) {
          for (const auto method : test::methods_with_blocks) {
            const bool dense = method == Method::newton || method == Method::levenberg_marquardt;
            if (refused(H, method) || (segments > 7 && H > (dense ? 3 : 33)) || (dense && H > 17)) continue;
            CAPTURE(H, T, B, segments, to_string(method));
            const auto report = problem.solve(options_of(segments, method));
            CHECK(report.converged());
            CHECK(report.max_residual == 0);
            CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
          }
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("lstm: exact bits with wide dense sensitivities", "", float, double) {
  for (const int H : {32, 33, 128}) {
    if (refused(H, Method::newton)) continue;
    auto problem = test::random_problem<TestType>(CellKind::lstm, H, 2, 40, 1, static_cast<std::uint64_t>(H));
    const auto sequential = problem.sequential();
    CHECK(problem.solve(options_of(3, Method::newton)).converged());
    CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
  }
}

TEMPLATE_TEST_CASE("lstm: sensitivities are products of derivatives", "", float, double) {
  for (const int H : sizes) {
    for (const auto sensitivity : {Sensitivity::diagonal, Sensitivity::block, Sensitivity::dense}) {
      for (const std::int64_t B : {1, 3}) {
        if (H == 128 && B == 3) continue;
        check_sensitivities<TestType>(H, 1, B, sensitivity);
        check_sensitivities<TestType>(H, 3, B, sensitivity);
      }
    }
  }
}

TEST_CASE("lstm: a segment a step converges to the loop in few passes") {
  for (const int H : sizes) {
    for (const std::int64_t B : {1, 3}) {
      if (H > 17 && B > 1) continue;  // they take long
      auto problem = test::random_problem<double>(CellKind::lstm, H, 2, 50, B, static_cast<std::uint64_t>(H));
      const auto sequential = problem.sequential();
      for (const auto method : {Method::newton, Method::block_quasi_newton, Method::quasi_newton}) {
        if (refused(H, method) || (method == Method::newton && H > 17)) continue;
        CAPTURE(H, B, to_string(method));
        auto options = options_of(50, method);
        options.merge = elaphos::Merge::tolerance;
        options.tolerance = elaphos::Tolerance{1e-10, 1e-10};
        const auto report = problem.solve(options);
        INFO(report.iterations() << " passes");
        CHECK(report.converged());
        CHECK(report.iterations() <= (method == Method::newton ? 7 : 40));
        CHECK(test::largest_difference(test::to_host(problem.y), sequential) <= 1e-9);
      }
    }
  }
}

TEST_CASE("lstm: cells of one state a unit name no blocks") {
  auto problem = test::random_problem<double>(CellKind::gru, 3, 2, 20, 1, 1);
  CHECK_THROWS_AS(problem.solve(options_of(4, Method::block_quasi_newton)), elaphos::InvalidArgument);
}

TEST_CASE("lstm: an empty sequence is valid, and a state of the wrong size is refused") {
  auto problem = test::random_problem<double>(CellKind::lstm, 3, 2, 0, 2, 1);
  const auto report = problem.solve({});
  CHECK(report.converged());
  CHECK(report.iterations() == 0);
  problem.y0 = elaphos::StateView<double, test::Memory>("test::y0", 2, 3);
  CHECK_THROWS_AS(problem.solve({}), elaphos::InvalidArgument);
}
