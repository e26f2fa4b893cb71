// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bad input is refused with a message that names the argument, the value and what was expected, and nothing is written.
#include "support/layers.hpp"
#include "support/refusal.hpp"
#include "support/systems.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using elaphos::SolveOptions;
using test::Exec;
using test::Memory;
using Sequence = elaphos::SequenceView<double, Memory>;
using State = elaphos::StateView<double, Memory>;

constexpr double poison = -77;

struct Gru32 {
  elaphos::Gru<double, Memory> cell;
  State y0{"y0", 2, 4};
  Sequence x{"x", 10, 2, 3};
  Sequence y{"y", 10, 2, 4};

  Gru32() : cell(make()) { Kokkos::deep_copy(y, poison); }

  static elaphos::Gru<double, Memory> make() {
    std::mt19937_64 generator(1);
    return elaphos::Gru(test::weights_on_device<double>(test::random_layer(test::CellKind::gru, 4, 3, generator)));
  }
};

// Runs `attempt`, which must throw InvalidArgument with all the words, and checks that y was not touched.
void expect_refusal(const std::function<void()>& attempt, const std::vector<std::string>& words,
                    const Sequence* untouched = nullptr) {
  test::expect_refusal(attempt, words);
  if (untouched == nullptr) return;
  for (const double number : test::to_host(*untouched)) CHECK(number == poison);
}

void expect_refused_options(const SolveOptions& options, const std::vector<std::string>& words) {
  Gru32 problem;
  expect_refusal([&] { elaphos::solve(Exec(), problem.cell, problem.y0, problem.x, problem.y, options); }, words,
                 &problem.y);
}

}  // namespace

TEST_CASE("contracts: shapes that do not fit are refused") {
  Gru32 problem;
  const auto refuse = [&](const State& y0, const Sequence& x, const Sequence& y,
                          const std::vector<std::string>& words) {
    expect_refusal([&] { elaphos::solve(Exec(), problem.cell, y0, x, y); }, words, &problem.y);
  };
  refuse(problem.y0, problem.x, Sequence("y", 10, 2, 5), {"y is (10, 2, 5)", "(T, B, 4)"});
  refuse(State("y0", 3, 4), problem.x, problem.y, {"y0 is (3, 4)", "expected (2, 4)", "(10, 2, 4)"});
  refuse(State("y0", 2, 5), problem.x, problem.y, {"y0 is (2, 5)", "expected (2, 4)"});
  refuse(problem.y0, Sequence("x", 11, 2, 3), problem.y, {"x is (11, 2, 3)", "expected (10, 2, 3)"});
  refuse(problem.y0, Sequence("x", 10, 1, 3), problem.y, {"x is (10, 1, 3)", "expected (10, 2, 3)"});
  refuse(problem.y0, Sequence("x", 10, 2, 4), problem.y, {"x is (10, 2, 4)", "expected (10, 2, 3)"});
  refuse(problem.y0, Sequence(), problem.y, {"x is (0, 0, 0)", "expected (10, 2, 3)"});
}

TEST_CASE("contracts: overlapping memory is refused") {
  Gru32 problem;
  const Sequence x_in_y(problem.y.data(), 10, 2, 3);
  expect_refusal([&] { elaphos::solve(Exec(), problem.cell, problem.y0, x_in_y, problem.y); },
                 {"y is memory that overlaps x"}, &problem.y);
  const State y0_at_the_end(problem.y.data() + 72, 2, 4);
  expect_refusal([&] { elaphos::solve(Exec(), problem.cell, y0_at_the_end, problem.x, problem.y); },
                 {"y is memory that overlaps y0"}, &problem.y);
}

TEST_CASE("contracts: options that make no sense are refused") {
  SolveOptions options;
  for (const auto& [absolute, relative] :
       {std::pair{0.0, 0.0}, {-1.0, 0.1}, {1e-6, -1e-6}, {NAN, 1e-6}, {1e-6, INFINITY}}) {
    options.tolerance = elaphos::Tolerance{absolute, relative};
    expect_refused_options(options, {"options.tolerance", "expected finite numbers >= 0"});
  }
  options = {};
  options.max_iterations = 0;
  expect_refused_options(options, {"options.max_iterations is 0", "at least 1"});
  options = {};
  options.segments = -3;
  expect_refused_options(options, {"options.segments is -3"});
  options = {};
  options.steps_per_segment = -1;
  expect_refused_options(options, {"options.steps_per_segment is -1"});
  options = {};
  options.segments = 4;
  options.steps_per_segment = 3;
  expect_refused_options(options, {"options.steps_per_segment is 3", "options.segments is 4"});
}

TEST_CASE("contracts: weights that do not fit are refused") {
  using Matrix = elaphos::MatrixView<double, Memory>;
  using Vector = elaphos::VectorView<double, Memory>;
  const auto refuse = [](const Matrix& w_ih, const Matrix& w_hh, const Vector& b_ih, const Vector& b_hh,
                         const std::vector<std::string>& words) {
    expect_refusal([&] { elaphos::Gru<double, Memory>({w_ih, w_hh, b_ih, b_hh}); }, words);
  };
  const Matrix w_ih("w", 12, 3), w_hh("w", 12, 4);
  const Vector bias("b", 12);
  refuse(w_ih, Matrix("w", 11, 4), bias, bias, {"Gru hidden_weights is (11, 4)", "(3 H, H)"});
  refuse(w_ih, Matrix("w", 0, 0), bias, bias, {"Gru hidden_weights is (0, 0)"});
  refuse(Matrix("w", 8, 3), w_hh, bias, bias, {"Gru input_weights is (8, 3)", "(12, I)"});
  refuse(w_ih, w_hh, Vector("b", 4), bias, {"Gru input_bias is (4)", "(12)"});
  refuse(w_ih, w_hh, bias, Vector("b", 13), {"Gru hidden_bias is (13)", "(12)"});
  expect_refusal(
      [&] {
        elaphos::Elman<double, Memory>({w_ih, w_hh, bias, bias});
      },
      {"Elman hidden_weights is (12, 4)", "(1 H, H)"});
}

TEST_CASE("contracts: a cell wider than the compiled ones carries the diagonal only and is not enqueued") {
  std::mt19937_64 generator(1);
  const auto layer = test::random_layer(test::CellKind::elman, 129, 1, generator);
  const elaphos::Elman cell(test::weights_on_device<double>(layer));
  const Sequence y("y", 2, 1, 129);
  Kokkos::deep_copy(y, poison);
  const State y0("y0", 1, 129);
  const Sequence x("x", 2, 1, 1);
  SolveOptions options;
  options.method = elaphos::Method::newton;
  expect_refusal([&] { elaphos::solve(Exec(), cell, y0, x, y, options); }, {"options.method is newton", "only the diagonal"},
                 &y);
  elaphos::Workspace<Exec> workspace;
  const Kokkos::View<elaphos::QueuedReport, Memory> report("report");
  expect_refusal([&] { elaphos::enqueue_solve(Exec(), cell, y0, x, y, report, {}, workspace); },
                 {"recurrence is one whose steps the host calls", "at most 128 units"}, &y);
}

TEST_CASE("contracts: a recurrence without Jacobian takes no sensitivities") {
  const State y0("y0", 1, 2);
  const Sequence y("y", 10, 1, 2);
  Kokkos::deep_copy(y, poison);
  const elaphos::VectorView<double, Memory> parameters("p", 2);
  SolveOptions options;
  options.method = elaphos::Method::quasi_newton;
  const auto bound = elaphos::bind_parameters(test::VanDerPol{}, parameters);
  expect_refusal([&] { elaphos::solve(Exec(), bound, y0, Sequence(), y, options); },
                 {"options.method is quasi_newton", "no jacobian()"}, &y);
  const elaphos::VectorView<double, Memory> too_few("p", 1);
  expect_refusal(
      [&] { elaphos::solve(Exec(), elaphos::bind_parameters(test::VanDerPol{}, too_few), y0, Sequence(), y); },
      {"parameters is 1", "parameter_size = 2"}, &y);
  expect_refusal([&] { elaphos::solve(Exec(), bound, y0, Sequence("x", 10, 1, 1), y); },
                 {"x is (10, 1, 1)", "no input"}, &y);
}

TEST_CASE("contracts: the library says what it is") {
  CHECK(elaphos::version() == "0.1.0");
  CHECK_FALSE(elaphos::git_commit().empty());
  std::ostringstream out;
  elaphos::print_configuration(out);
  CHECK(out.str().find("Kokkos") != std::string::npos);
  CHECK(out.str().find("Kokkos::") != std::string::npos);
}
