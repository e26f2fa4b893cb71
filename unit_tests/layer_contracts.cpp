// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Solves of layers refuse what does not fit, with a message that names it, and leave the caller's arrays as they were.
// What a recurrence must have to be a layer.
#include "support/layers.hpp"
#include "support/refusal.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

using test::Exec;
using test::Memory;
using Gru = elaphos::Gru<double, Memory>;
using State = elaphos::StateView<double, Memory>;
using Sequence = elaphos::SequenceView<double, Memory>;

constexpr double poison = -77;

Sequence poisoned(std::size_t T, std::size_t B, std::size_t width) {
  const Sequence y("test::y", T, B, width);
  Kokkos::deep_copy(y, poison);
  return y;
}

Gru random_gru(int H, int I) {
  std::mt19937_64 generator(9);
  return Gru(test::weights_on_device<double>(test::random_layer(test::CellKind::gru, H, I, generator)));
}

// Arguments that fit a stack of two GRUs over 10 steps of 2 sequences; tests change one.
struct Arguments {
  elaphos::Stack<Gru> stack{{random_gru(4, 3), random_gru(5, 4)}};
  std::vector<State> y0 = elaphos::zero_states(Exec(), stack, 2);
  Sequence x{"x", 10, 2, 3};
  Sequence y = poisoned(10, 2, 5);
  std::vector<State> final_states = elaphos::zero_states(Exec(), stack, 2);
  elaphos::LayerOptions options;

  elaphos::LayerReport solve() const { return elaphos::solve(Exec(), stack, y0, x, y, final_states, options); }

  void expect_untouched() const {
    for (const double number : test::to_host(y)) CHECK(number == poison);
    for (const auto& state : final_states) {
      for (const double number : test::to_host(state)) CHECK(number == 0);
    }
  }
};

void expect_refusal(const std::function<void(Arguments&)>& change, const std::vector<std::string>& words) {
  Arguments arguments;
  const Arguments original = arguments;
  const auto attempt = [&] {
    change(arguments);
    arguments.solve();
  };
  test::expect_refusal(attempt, words);
  original.expect_untouched();
}

}  // namespace

TEST_CASE("layers: what does not fit is refused before anything is written") {
  expect_refusal([](auto& a) { a.y = Sequence("y", 10, 2, 4); }, {"y is (10, 2, 4)", "(T, B, 5)"});
  expect_refusal([](auto& a) { a.x = Sequence("x", 10, 3, 3); }, {"x is (10, 3, 3)", "(10, 2, 3)"});
  expect_refusal([](auto& a) { a.y0.pop_back(); }, {"y0 is a range of 1", "expected 2 Views"});
  expect_refusal([](auto& a) { a.y0[1] = State("y0", 2, 4); }, {"y0[1] is (2, 4)", "(2, 5)"});
  expect_refusal([](auto& a) { a.final_states[0] = State("s", 3, 4); }, {"final_states[0] is (3, 4)", "(2, 4)"});
  expect_refusal([](auto& a) { a.final_states.push_back(State("s", 2, 4)); },
                 {"final_states is a range of 3", "expected 2 Views"});
  expect_refusal([](auto& a) { a.options.dropout.probability = 1; }, {"dropout.probability is 1", "[0, 1)"});
  expect_refusal([](auto& a) { a.options.dropout.probability = -0.1; }, {"dropout.probability is -0.1"});
  expect_refusal([](auto& a) { a.options.dropout.probability = NAN; }, {"dropout.probability is nan"});
  expect_refusal([](auto& a) { a.options.dropout.first_step = -1; }, {"dropout.first_step is -1"});
  expect_refusal([](auto& a) { a.options.dropout.first_sequence = -1; }, {"dropout.first_sequence is -1"});
  expect_refusal([](auto& a) { a.options.solve.keep_every = 2; }, {"keep_every is 2", "expected 1"});
  expect_refusal([](auto& a) { a.options.solve.steps = 9; }, {"steps is 9", "0 or 10"});
  expect_refusal([](auto& a) { a.options.solve.max_iterations = 0; }, {"max_iterations is 0"});
  expect_refusal([](auto& a) { a.options.solve.initial_guess = elaphos::InitialGuess::trajectory; }, {"initial_guess"});
  expect_refusal([](auto& a) { a.options.solve.method = elaphos::Method::block_quasi_newton; }, {"method"});
  expect_refusal([](auto& a) { a.x = Sequence(a.y.data(), 10, 2, 3); }, {"y is memory that overlaps x"});
  expect_refusal([](auto& a) { a.y0[0] = State(a.y.data(), 2, 4); }, {"y is memory that overlaps y0[0]"});
  expect_refusal([](auto& a) { a.final_states[1] = State(a.y.data(), 2, 5); }, {"final_states[1]", "overlaps y"});
  expect_refusal([](auto& a) { a.final_states[0] = State(a.x.data(), 2, 4); }, {"final_states[0]", "overlaps x"});
  expect_refusal([](auto& a) { a.final_states[0] = State(a.final_states[1].data(), 2, 4); },
                 {"final_states[1]", "overlaps final_states[0]"});

  expect_refusal([](auto&) { elaphos::Stack<Gru>({}); }, {"layers is none"});
  expect_refusal(
      [](auto&) {
        elaphos::Stack<Gru>({random_gru(4, 3), random_gru(5, 3)});
      },
      {"layer 1 is input size 3", "4, the output size of layer 0"});
  expect_refusal(
      [](auto&) { elaphos::MixedStack(elaphos::Bidirectional(random_gru(4, 3), random_gru(4, 3)), random_gru(5, 4)); },
      {"layer 1 is input size 4", "8, the output size of layer 0"});
  expect_refusal([](auto&) { elaphos::Bidirectional(random_gru(4, 3), random_gru(5, 3)); },
                 {"backward is input size 3", "hidden size 5", "hidden size 4"});
}

TEST_CASE("layers: sequences that do not fit are refused before anything is written") {
  using Offsets = Kokkos::View<std::int64_t*, Memory>;
  using Flags = Kokkos::View<bool**, Kokkos::LayoutRight, Memory>;
  const elaphos::Stack<Gru> stack({random_gru(4, 3), random_gru(5, 4)});
  const auto two = elaphos::zero_states(Exec(), stack, 2), three = elaphos::zero_states(Exec(), stack, 3);
  const Sequence x("x", 10, 2, 3), long_x("x", 10, 1, 3);
  const auto y = poisoned(10, 2, 5), long_y = poisoned(10, 1, 5);
  const Offsets offsets("offsets", 4), no_offsets("offsets", 1);
  const Flags few("mask", 9, 2), column("mask", 10, 1);
  const auto refuse = [&](const auto& in, const Sequence& out, const std::vector<State>& y0,
                          const std::vector<State>& final_states, const std::vector<std::string>& words) {
    test::expect_refusal([&] { elaphos::solve(Exec(), stack, y0, in, out, final_states); }, words);
    for (const double number : test::to_host(y)) CHECK(number == poison);
    for (const double number : test::to_host(long_y)) CHECK(number == poison);
    for (const auto& state : final_states) {
      for (const double number : test::to_host(state)) CHECK(number == 0);
    }
  };
  const auto packed = elaphos::inputs(long_x).packed(offsets);
  refuse(elaphos::inputs(x).packed(offsets), y, three, three, {"y is (10, 2, 5)", "(T, 1, D)"});
  refuse(packed, long_y, two, three, {"y0[0] is (2, 4)", "(3, 4), as offsets is (4)"});
  refuse(packed, long_y, three, two, {"final_states[0] is (2, 4)", "(3, 4), as offsets is (4)"});
  refuse(packed, long_y, three, {three[0], two[1]}, {"final_states[1] is (2, 5)", "(3, 5)"});
  refuse(elaphos::inputs(long_x).packed(no_offsets), long_y, three, three, {"offsets is (1)", "at least 2 entries"});
  refuse(packed.masked(column), long_y, three, three, {"mask is given with offsets"});
  refuse(packed.reset(column), long_y, three, three, {"resets is given with offsets"});
  refuse(elaphos::inputs(x).masked(few), y, two, two, {"mask is (9, 2)", "(10, 2), as y is"});
  refuse(elaphos::inputs(x).reset(column), y, two, two, {"resets is (10, 1)", "(10, 2), as y is"});
  const Sequence narrow("x", 10, 2, 2), one("x", 10, 2, 1), longer("x", 11, 2, 1);
  refuse(elaphos::inputs(x, one), y, two, two, {"x is 4 features in 2 Views", "expected 3"});
  refuse(elaphos::inputs(narrow, longer), y, two, two, {"x[1] is (11, 2, 1)", "(10, 2, features)"});

  const Sequence within_y(y.data(), 10, 2, 1);
  refuse(elaphos::inputs(narrow, within_y), y, two, two, {"y is memory that overlaps x[1]"});
  const Offsets offsets_in_y(reinterpret_cast<std::int64_t*>(long_y.data()), 4);
  refuse(elaphos::inputs(long_x).packed(offsets_in_y), long_y, three, three, {"y is memory that overlaps offsets"});
  const Offsets offsets_in_state(reinterpret_cast<std::int64_t*>(three[1].data()), 4);
  refuse(elaphos::inputs(long_x).packed(offsets_in_state), long_y, three, three,
         {"final_states[1] is memory that overlaps offsets"});
  const Flags flags_in_state(reinterpret_cast<bool*>(two[0].data()), 10, 2);
  refuse(elaphos::inputs(x).masked(flags_in_state), y, two, two, {"final_states[0] is memory that overlaps mask"});
  refuse(elaphos::inputs(x).reset(flags_in_state), y, two, two, {"final_states[0] is memory that overlaps resets"});
}

TEST_CASE("layers: final states are written when all layers are done, and not before") {
  Arguments arguments;
  // That the second layer is too wide for dense derivatives is found out only when it is solved.
  arguments.options.solve.method = elaphos::Method::newton;
  arguments.stack = elaphos::Stack<Gru>({random_gru(4, 3), random_gru(200, 4)});
  arguments.y0 = elaphos::zero_states(Exec(), arguments.stack, 2);
  arguments.final_states = elaphos::zero_states(Exec(), arguments.stack, 2);
  arguments.y = poisoned(10, 2, 200);
  CHECK_THROWS_AS(arguments.solve(), elaphos::InvalidArgument);
  arguments.expect_untouched();

  Arguments stopped;
  Kokkos::deep_copy(stopped.x, 1.0);
  stopped.options.solve.segments = 2;
  stopped.options.solve.observer = [](const elaphos::SolveReport&) { return false; };
  const auto report = stopped.solve();
  CHECK(report.solves.size() == 1);
  CHECK(!report.converged());
  stopped.expect_untouched();

  stopped.options.solve = {};
  CHECK(stopped.solve().solves.size() == 2);
  CHECK(test::to_host(stopped.final_states[0])[0] != 0);
}

namespace {

// A user's recurrence without input: the number of the step, and of the sequence.
struct Clock {
  using scalar_type = double;
  using memory_space = Memory;
  int state_size() const { return 2; }
  int hidden_size() const { return 1; }
  int input_size() const { return 0; }
  KOKKOS_FUNCTION void team_step(const auto&, elaphos::StepContext at, auto, auto, auto next) const {
    next[0] = static_cast<double>(at.t);
    next[1] = static_cast<double>(at.b);
  }
};

}  // namespace

TEST_CASE("layers: a user's recurrence without input is a layer, in both directions") {
  const elaphos::Bidirectional layer(Clock{}, Clock{});
  const auto states = elaphos::zero_states(Exec(), layer, 2);
  const auto y = poisoned(3, 2, 2);
  CHECK(elaphos::solve(Exec(), layer, states, Sequence(), y, states).converged());
  CHECK(test::to_host(y) == std::vector<double>{0, 2, 0, 2, 1, 1, 1, 1, 2, 0, 2, 0});
  for (const auto& state : states) CHECK(test::to_host(state) == std::vector<double>{2, 0, 2, 1});
}
