// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stacks and bidirectional layers, against plain loops over layers, steps and units.
#include "support/layers.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <type_traits>
#include <vector>

namespace {

using elaphos::LayerOptions;
using test::CellKind;
using test::Exec;
using test::Memory;

std::size_t unsigned_of(std::int64_t number) { return static_cast<std::size_t>(number); }

// A layer of one direction or two, and the states it starts from, on the host.
struct PlainLayer {
  std::vector<test::Layer> cells;
  std::vector<std::vector<double>> y0;
};

// Layers of the given units on one another.
std::vector<PlainLayer> random_layers(CellKind kind, int directions, const std::vector<int>& units, int I,
                                      std::int64_t B, std::mt19937_64& generator) {
  std::vector<PlainLayer> layers;
  for (const int H : units) {
    PlainLayer layer;
    for (int direction = 0; direction < directions; ++direction) {
      layer.cells.push_back(test::random_layer(kind, H, I, generator));
      layer.y0.push_back(test::uniform(generator, unsigned_of(B * layer.cells.back().state_size()), 1));
    }
    layers.push_back(layer);
    I = directions * H;
  }
  return layers;
}

// Steps in opposite order.
std::vector<double> reversed(const std::vector<double>& rows, std::size_t T) {
  std::vector<double> out;
  const std::size_t size = T == 0 ? 0 : rows.size() / T;
  for (std::size_t t = T; t-- > 0;) {
    for (std::size_t i = 0; i < size; ++i) out.push_back(rows[t * size + i]);
  }
  return out;
}

struct Answer {
  std::vector<double> y;
  std::vector<std::vector<double>> final_states;
};

// The oracle: layer after layer, direction after direction, by plain loops in long double.
Answer plain_answer(const std::vector<PlainLayer>& layers, std::int64_t T, std::int64_t B, std::vector<double> x) {
  Answer out;
  for (const PlainLayer& layer : layers) {
    const std::size_t H = unsigned_of(layer.cells[0].D), D = unsigned_of(layer.cells[0].state_size());
    const std::size_t directions = layer.cells.size(), rows = unsigned_of(T * B);
    std::vector<double> h(rows * directions * H);
    for (std::size_t direction = 0; direction < directions; ++direction) {
      const std::vector<double> input = direction == 0 ? x : reversed(x, unsigned_of(T));
      std::vector<double> states = test::plain_loop(layer.cells[direction], T, B, layer.y0[direction], input);
      out.final_states.push_back(
          T == 0 ? layer.y0[direction]
                 : std::vector<double>(states.end() - static_cast<std::ptrdiff_t>(unsigned_of(B) * D), states.end()));
      if (direction == 1) states = reversed(states, unsigned_of(T));
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t unit = 0; unit < H; ++unit) {
          h[(row * directions + direction) * H + unit] = states[row * D + unit];
        }
      }
    }
    x = h;
  }
  out.y = x;
  return out;
}

template <class Scalar>
using State = elaphos::StateView<Scalar, Memory>;
template <class Scalar>
using Sequence = elaphos::SequenceView<Scalar, Memory>;

// Numbers nobody wrote show.
template <class Scalar>
Sequence<Scalar> poisoned(std::int64_t T, std::int64_t B, int width) {
  const Sequence<Scalar> y("test::y", unsigned_of(T), unsigned_of(B), unsigned_of(width));
  Kokkos::deep_copy(y, Scalar(-77));
  return y;
}

template <class Scalar>
std::vector<State<Scalar>> states_on_device(const std::vector<PlainLayer>& layers, std::int64_t B) {
  std::vector<State<Scalar>> out;
  for (const PlainLayer& layer : layers) {
    for (std::size_t d = 0; d < layer.cells.size(); ++d) {
      out.push_back(test::to_device<State<Scalar>>(layer.y0[d], B, layer.cells[d].state_size()));
    }
  }
  return out;
}

template <class Cell>
elaphos::Stack<Cell> stack_of(const std::vector<PlainLayer>& layers) {
  std::vector<Cell> cells;
  for (const PlainLayer& layer : layers) {
    cells.emplace_back(test::weights_on_device<typename Cell::scalar_type>(layer.cells[0]));
  }
  return elaphos::Stack(cells);
}

template <class Cell>
elaphos::Stack<elaphos::Bidirectional<Cell>> bidirectional_stack_of(const std::vector<PlainLayer>& layers) {
  std::vector<elaphos::Bidirectional<Cell>> out;
  for (const PlainLayer& layer : layers) {
    out.emplace_back(Cell(test::weights_on_device<typename Cell::scalar_type>(layer.cells[0])),
                     Cell(test::weights_on_device<typename Cell::scalar_type>(layer.cells[1])));
  }
  return elaphos::Stack(out);
}

template <class Scalar>
struct Solved {
  std::vector<Scalar> y;
  std::vector<std::vector<Scalar>> final_states;

  bool operator==(const Solved&) const = default;  // no NaN here, and no zero that could have another sign
};

template <class Layers>
Solved<typename Layers::scalar_type> solved(const Layers& layers, const std::vector<PlainLayer>& plain, std::int64_t T,
                                            std::int64_t B, const std::vector<double>& x, const LayerOptions& options) {
  using Scalar = typename Layers::scalar_type;
  const auto on_device = test::to_device<Sequence<Scalar>>(x, T, B, plain.front().cells[0].I);
  const int width = static_cast<int>(plain.back().cells.size()) * plain.back().cells[0].D;
  const auto y = poisoned<Scalar>(T, B, width);
  const auto final_states = elaphos::zero_states(Exec(), layers, B);
  const auto report =
      elaphos::solve(Exec(), layers, states_on_device<Scalar>(plain, B), on_device, y, final_states, options);
  CHECK(report.solves.size() == final_states.size());
  CHECK(report.converged());
  Solved<Scalar> out{test::to_host(y), {}};
  for (const auto& state : final_states) out.final_states.push_back(test::to_host(state));
  return out;
}

template <class Scalar>
void check_against(const Answer& expected, const Solved<Scalar>& got) {
  const double tolerance = std::is_same_v<Scalar, double> ? 1e-12 : 2e-5;
  CHECK(test::largest_difference(got.y, expected.y) <= tolerance);
  REQUIRE(got.final_states.size() == expected.final_states.size());
  for (std::size_t i = 0; i < expected.final_states.size(); ++i) {
    CHECK(test::largest_difference(got.final_states[i], expected.final_states[i]) <= tolerance);
  }
}

LayerOptions in_segments(std::int64_t segments) {
  LayerOptions options;
  options.solve.segments = segments;
  return options;
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
          const auto plain = random_layers(kind, directions, units, 3, B, generator);
          const auto x = test::normal(generator, unsigned_of(T * B * 3));
          const Answer expected = plain_answer(plain, T, B, x);
          const auto run = [&](std::int64_t segments) {
            const LayerOptions options = in_segments(segments);
            if (directions == 1) return solved(stack_of<Cell>(plain), plain, T, B, x, options);
            return solved(bidirectional_stack_of<Cell>(plain), plain, T, B, x, options);
          };
          const auto sequential = run(1);
          check_against(expected, sequential);
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
  const auto plain = random_layers(CellKind::lstm, 1, {5, 4}, 2, B, generator);
  const auto x = test::normal(generator, unsigned_of(T * B * 2));
  const auto stack = stack_of<elaphos::Lstm<double, Memory>>(plain);
  const auto states = states_on_device<double>(plain, B);
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
  const auto got = solved(stack, plain, T, B, x, in_segments(4));
  CHECK(test::different_bits(got.y, heads(test::to_host(upper), 8)) == 0);
}

TEST_CASE("layers: a stack may mix cells and directions") {
  std::mt19937_64 generator(7);
  const std::int64_t T = 61, B = 3;
  auto plain = random_layers(CellKind::gru, 1, {3}, 2, B, generator);
  for (const auto& [kind, directions, units, inputs] :
       {std::tuple(CellKind::lstm, 2, 5, 3), std::tuple(CellKind::elman, 1, 4, 10)}) {
    plain.push_back(random_layers(kind, directions, {units}, inputs, B, generator)[0]);
  }
  const auto weights = [&plain](std::size_t layer, std::size_t direction) {
    return test::weights_on_device<double>(plain[layer].cells[direction]);
  };
  const elaphos::MixedStack stack(elaphos::Gru(weights(0, 0)),
                                  elaphos::Bidirectional(elaphos::Lstm(weights(1, 0)), elaphos::Lstm(weights(1, 1))),
                                  elaphos::Elman(weights(2, 0)));
  const auto x = test::normal(generator, unsigned_of(T * B * 2));
  check_against(plain_answer(plain, T, B, x), solved(stack, plain, T, B, x, in_segments(5)));

  // One layer of two directions is solved without a stack.
  const std::vector<PlainLayer> alone{plain[1]};
  const elaphos::Bidirectional layer(elaphos::Lstm(weights(1, 0)), elaphos::Lstm(weights(1, 1)));
  const auto input = test::normal(generator, unsigned_of(T * B * 3));
  check_against(plain_answer(alone, T, B, input), solved(layer, alone, T, B, input, {}));
}

TEMPLATE_TEST_CASE("layers: chunks of any lengths have the bits of the whole", "", float, double) {
  std::mt19937_64 generator(8);
  const std::int64_t T = 257;
  const std::size_t B = 3;
  for (const double probability : {0.0, 0.3}) {
    const auto plain = random_layers(CellKind::lstm, 1, {17, 3, 5}, 2, 3, generator);
    const auto x = test::normal(generator, unsigned_of(T) * B * 2);
    const auto stack = stack_of<elaphos::Lstm<TestType, Memory>>(plain);
    LayerOptions options = in_segments(3);
    options.dropout = {probability, 11, 1000, 0};
    const auto whole = solved(stack, plain, T, 3, x, options);

    elaphos::Workspace<Exec> workspace;
    const auto states = states_on_device<TestType>(plain, 3);
    std::vector<TestType> y;
    std::size_t begin = 0;
    for (const std::size_t steps : {1, 2, 100, 0, 154}) {
      const std::vector<double> part(x.begin() + static_cast<std::ptrdiff_t>(begin * B * 2),
                                     x.begin() + static_cast<std::ptrdiff_t>((begin + steps) * B * 2));
      const auto input = test::to_device<Sequence<TestType>>(part, steps, B, 2);
      const auto output = poisoned<TestType>(static_cast<std::int64_t>(steps), 3, 5);
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
