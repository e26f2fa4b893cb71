// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plain step rule: the next state's bits do not depend on what is computed beside it. Compiled so that the compiler
// may fuse multiply-adds (x86-64-v3 on hosts, nvcc's default on devices), which it does differently beside a tangent.
#include "support/layers.hpp"
#include "support/systems.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <random>
#include <vector>

namespace {

using elaphos::Method;
using test::Exec;
using test::Memory;

// One for each kernel: damping has those of the undamped methods.
constexpr Method kernels[] = {Method::jacobi, Method::quasi_newton, Method::newton};

/// A step full of products that feed sums, and a Jacobian that needs some of those products by themselves: y0 y1 / y0
/// stands for y1. A compiler that sees both at once fuses other products than one that sees the step alone.
template <class Scalar>
struct Fusible {
  using scalar_type = Scalar;
  static constexpr int state_size = 3, input_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    const Scalar a = y[0] * y[1] + x[0] * y[2], b = y[1] * y[2] - x[0] * y[0], c = y[2] * y[0] + a * b;
    const Scalar size = 1 + a * a + b * b + c * c;
    next[0] = (a + Scalar(0.3) * y[0] * x[0]) / size;
    next[1] = (b - Scalar(0.7) * y[1] * a) / size;
    next[2] = (c + Scalar(0.9) * y[2] * b + x[0]) / size;
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto x, auto, auto J) const {
    const Scalar a = y[0] * y[1] + x[0] * y[2], b = y[1] * y[2] - x[0] * y[0], c = y[2] * y[0] + a * b;
    const Scalar by_a = y[0] * y[1], by_b = y[1] * y[2], by_c = a * b;
    const Scalar da[3] = {by_a / y[0], by_a / y[1], x[0]}, db[3] = {-x[0], by_b / y[1], by_b / y[2]};
    const Scalar size = 1 + a * a + b * b + c * c;
    for (int j = 0; j < 3; ++j) {
      const Scalar dc = (j == 2 ? y[0] : Scalar(0)) + (j == 0 ? y[2] : Scalar(0)) + by_c / a * da[j] + a * db[j];
      const Scalar dsize = 2 * (a * da[j] + b * db[j] + c * dc);
      J(0, j) = (da[j] + (j == 0 ? Scalar(0.3) * x[0] : Scalar(0))) / size -
                (a + Scalar(0.3) * y[0] * x[0]) / size * dsize / size;
      J(1, j) = (db[j] - (j == 1 ? Scalar(0.7) * a : Scalar(0)) - Scalar(0.7) * y[1] * da[j]) / size -
                (b - Scalar(0.7) * y[1] * a) / size * dsize / size;
      J(2, j) = (dc + (j == 2 ? Scalar(0.9) * b : Scalar(0)) + Scalar(0.9) * y[2] * db[j]) / size -
                (c + Scalar(0.9) * y[2] * b + x[0]) / size * dsize / size;
    }
  }
};

}  // namespace

TEMPLATE_TEST_CASE("plain step: a user's state has the same bits with and without tangents", "", float, double) {
  constexpr std::int64_t T = 5000, B = 3;
  std::mt19937_64 generator(23);
  const auto y0 = test::to_device<elaphos::StateView<TestType, Memory>>(test::normal(generator, B * 3), B, 3);
  const auto x = test::to_device<elaphos::SequenceView<TestType, Memory>>(test::normal(generator, T * B), T, B, 1);
  const elaphos::SequenceView<TestType, Memory> y("y", T, B, 3);
  elaphos::solve_sequentially(Exec(), Fusible<TestType>{}, y0, x, y);
  const auto expected = test::to_host(y);
  // One segment per step: every state comes from a kernel that carries the tangent too.
  for (const std::int64_t segments : {T, std::int64_t(50)}) {
    for (const auto method : kernels) {
      elaphos::SolveOptions options;
      options.segments = segments;
      options.method = method;
      options.max_iterations = static_cast<int>(T);
      options.stop_when_stalled = false;
      const auto report = elaphos::solve(Exec(), Fusible<TestType>{}, y0, x, y, options);
      CHECK(report.status == elaphos::SolveStatus::converged);
      CHECK(test::different_bits(test::to_host(y), expected) == 0);
    }
  }
}

TEMPLATE_TEST_CASE("plain step: a cell's state has the same bits with and without tangents", "", float, double) {
  std::mt19937_64 generator(29);
  for (const auto kind : {test::CellKind::elman, test::CellKind::gru}) {
    const auto layer = test::random_layer(kind, 7, 3, generator, 1.5);
    test::LayerProblem<TestType> problem(layer, 200, 2, test::uniform(generator, 14, 1), test::normal(generator, 1200));
    const auto expected = problem.sequential();
    for (const auto method : kernels) {
      elaphos::SolveOptions options;
      options.segments = 200;
      options.method = method;
      options.max_iterations = 200;
      options.stop_when_stalled = false;
      CHECK(problem.solve(options).status == elaphos::SolveStatus::converged);
      CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
    }
  }
}
