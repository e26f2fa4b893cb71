// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stacks and bidirectional layers, against plain loops over layers, steps and units.
#include "support/layer_stacks.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

namespace {

using elaphos::LayerOptions;
using test::Answer;
using test::CellKind;
using test::Exec;
using test::Memory;
using test::PlainLayer;
using test::Sequence;
using test::Solved;
using test::unsigned_of;

template <class Layers>
Solved<typename Layers::scalar_type> solved(const Layers& layers, const std::vector<PlainLayer>& plain, std::int64_t T,
                                            std::int64_t B, const std::vector<double>& x, const LayerOptions& options) {
  using Scalar = typename Layers::scalar_type;
  const auto on_device = test::to_device<Sequence<Scalar>>(x, T, B, plain.front().cells[0].I);
  const int width = static_cast<int>(plain.back().cells.size()) * plain.back().cells[0].D;
  const auto y = test::poisoned<Scalar>(T, B, width);
  const auto final_states = elaphos::zero_states(Exec(), layers, B);
  const auto report =
      elaphos::solve(Exec(), layers, test::states_on_device<Scalar>(plain, B), on_device, y, final_states, options);
  CHECK(report.solves.size() == final_states.size());
  CHECK(report.converged());
  Solved<Scalar> out{test::to_host(y), {}};
  for (const auto& state : final_states) out.final_states.push_back(test::to_host(state));
  return out;
}

template <class Cell>
void check_layers(CellKind kind) {
  const std::vector<std::vector<int>> stacks = {{1}, {3, 3}, {17, 3, 1}, {1, 17, 17, 3}};
  std::mt19937_64 generator(5);
  for (const auto& units : stacks) {
    for (const std::int64_t T : {0, 1, 2, 257}) {
      for (const std::int64_t B : {1, 3}) {
        for (const int directions : {1, 2}) {
          CAPTURE(units, T, B, directions);
          const auto plain = test::random_layers(kind, directions, units, 3, B, generator);
          const auto x = test::normal(generator, unsigned_of(T * B * 3));
          const Answer expected = test::plain_answer(plain, T, B, x);
          const auto run = [&](std::int64_t segments) {
            const LayerOptions options = test::in_segments(segments);
            if (directions == 1) return solved(test::stack_of<Cell>(plain), plain, T, B, x, options);
            return solved(test::bidirectional_stack_of<Cell>(plain), plain, T, B, x, options);
          };
          const auto sequential = run(1);
          test::check_against(expected, sequential);
          CHECK(run(7) == sequential);
        }
      }
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("layers: stacks are loops over layers, in segments bit for bit", "", float, double) {
  check_layers<elaphos::Gru<TestType, Memory>>(CellKind::gru);
  check_layers<elaphos::Lstm<TestType, Memory>>(CellKind::lstm);
}

TEST_CASE("layers: a stack has the bits of its cells solved one by one") {
  std::mt19937_64 generator(6);
  const std::int64_t T = 100, B = 2;
  const auto plain = test::random_layers(CellKind::lstm, 1, {5, 4}, 2, B, generator);
  const auto x = test::normal(generator, unsigned_of(T * B * 2));
  const auto stack = test::stack_of<elaphos::Lstm<double, Memory>>(plain);
  const auto states = test::states_on_device<double>(plain, B);
  const Sequence<double> lower("test::y", 100, 2, 10), upper("test::y", 100, 2, 8);
  elaphos::solve_sequentially(Exec(), stack[0], states[0], test::to_device<Sequence<double>>(x, T, B, 2), lower);
  const auto heads = [](const std::vector<double>& rows, std::size_t width) {
    std::vector<double> out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (i % width < width / 2) out.push_back(rows[i]);
    }
    return out;
  };
  const auto h = test::to_device<Sequence<double>>(heads(test::to_host(lower), 10), T, B, 5);
  elaphos::solve_sequentially(Exec(), stack[1], states[1], h, upper);
  const auto got = solved(stack, plain, T, B, x, test::in_segments(4));
  CHECK(test::different_bits(got.y, heads(test::to_host(upper), 8)) == 0);
}

TEST_CASE("layers: a stack may mix cells and directions") {
  std::mt19937_64 generator(7);
  const std::int64_t T = 61, B = 3;
  auto plain = test::random_layers(CellKind::gru, 1, {3}, 2, B, generator);
  for (const auto& [kind, directions, units, inputs] :
       {std::tuple(CellKind::lstm, 2, 5, 3), std::tuple(CellKind::elman, 1, 4, 10)}) {
    plain.push_back(test::random_layers(kind, directions, {units}, inputs, B, generator)[0]);
  }
  const auto weights = [&plain](std::size_t layer, std::size_t direction) {
    return test::weights_on_device<double>(plain[layer].cells[direction]);
  };
  const elaphos::MixedStack stack(elaphos::Gru(weights(0, 0)),
                                  elaphos::Bidirectional(elaphos::Lstm(weights(1, 0)), elaphos::Lstm(weights(1, 1))),
                                  elaphos::Elman(weights(2, 0)));
  const auto x = test::normal(generator, unsigned_of(T * B * 2));
  test::check_against(test::plain_answer(plain, T, B, x), solved(stack, plain, T, B, x, test::in_segments(5)));

  // One layer of two directions is solved without a stack.
  const std::vector<PlainLayer> alone{plain[1]};
  const elaphos::Bidirectional layer(elaphos::Lstm(weights(1, 0)), elaphos::Lstm(weights(1, 1)));
  const auto input = test::normal(generator, unsigned_of(T * B * 3));
  test::check_against(test::plain_answer(alone, T, B, input), solved(layer, alone, T, B, input, {}));
}

TEMPLATE_TEST_CASE("layers: chunks of any lengths have the bits of the whole", "", float, double) {
  std::mt19937_64 generator(8);
  const std::int64_t T = 257;
  const std::size_t B = 3;
  for (const double probability : {0.0, 0.3}) {
    const auto plain = test::random_layers(CellKind::lstm, 1, {17, 3, 5}, 2, 3, generator);
    const auto x = test::normal(generator, unsigned_of(T) * B * 2);
    const auto stack = test::stack_of<elaphos::Lstm<TestType, Memory>>(plain);
    LayerOptions options = test::in_segments(3);
    options.dropout = {probability, 11, 1000, 0};
    const auto whole = solved(stack, plain, T, 3, x, options);

    elaphos::Workspace<Exec> workspace;
    const auto states = test::states_on_device<TestType>(plain, 3);
    std::vector<TestType> y;
    std::size_t begin = 0;
    for (const std::size_t steps : {1, 2, 100, 0, 154}) {
      const std::vector<double> part(x.begin() + static_cast<std::ptrdiff_t>(begin * B * 2),
                                     x.begin() + static_cast<std::ptrdiff_t>((begin + steps) * B * 2));
      const auto input = test::to_device<Sequence<TestType>>(part, steps, B, 2);
      const auto output = test::poisoned<TestType>(static_cast<std::int64_t>(steps), 3, 5);
      options.dropout.first_step = 1000 + static_cast<std::int64_t>(begin);
      elaphos::solve(Exec(), stack, states, input, output, states, options, workspace);
      const auto numbers = test::to_host(output);
      y.insert(y.end(), numbers.begin(), numbers.end());
      begin += steps;
    }
    CAPTURE(probability);
    CHECK(test::different_bits(y, whole.y) == 0);
    for (std::size_t i = 0; i < states.size(); ++i) {
      CHECK(test::different_bits(test::to_host(states[i]), whole.final_states[i]) == 0);
    }
  }
}
