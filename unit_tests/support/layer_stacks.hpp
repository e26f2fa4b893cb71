// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_LAYER_STACKS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_LAYER_STACKS_HPP

#include "layers.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

namespace test {

inline std::size_t unsigned_of(std::int64_t number) { return static_cast<std::size_t>(number); }

/// A layer of one direction or two, and the states it starts from, on the host.
struct PlainLayer {
  std::vector<Layer> cells;
  std::vector<std::vector<double>> y0;
};

/// Layers of the given units on one another.
inline std::vector<PlainLayer> random_layers(CellKind kind, int directions, const std::vector<int>& units, int I,
                                             std::int64_t B, std::mt19937_64& generator) {
  std::vector<PlainLayer> layers;
  for (const int H : units) {
    PlainLayer layer;
    for (int direction = 0; direction < directions; ++direction) {
      layer.cells.push_back(random_layer(kind, H, I, generator));
      layer.y0.push_back(uniform(generator, unsigned_of(B * layer.cells.back().state_size()), 1));
    }
    layers.push_back(layer);
    I = directions * H;
  }
  return layers;
}

struct Answer {
  std::vector<double> y;
  std::vector<std::vector<double>> final_states;
};

/// Steps (T, B) that count, and that begin anew; empty: all, and none.
struct Times {
  std::vector<bool> mask, resets;
};

/// The oracle: layer after layer, direction after direction, by plain loops in long double. A direction's sequence
/// begins where its walk enters one.
inline Answer plain_answer(const std::vector<PlainLayer>& layers, std::int64_t T, std::int64_t B, std::vector<double> x,
                           const Times& times = {}) {
  Answer out;
  const auto entry_of = [B](std::int64_t t, std::int64_t b) { return unsigned_of(t * B + b); };
  for (const PlainLayer& layer : layers) {
    const std::size_t H = unsigned_of(layer.cells[0].D), I = unsigned_of(layer.cells[0].I);
    const std::size_t size = unsigned_of(layer.cells[0].state_size()), directions = layer.cells.size();
    std::vector<double> h(unsigned_of(T * B) * directions * H);
    for (std::size_t direction = 0; direction < directions; ++direction) {
      out.final_states.push_back(layer.y0[direction]);
      for (std::int64_t b = 0; b < B; ++b) {
        const double* const first = layer.y0[direction].data() + unsigned_of(b) * size;
        std::vector<long double> state(first, first + size);
        for (std::int64_t step = 0; step < T; ++step) {
          const std::int64_t t = direction == 0 ? step : T - 1 - step;
          const std::int64_t boundary = direction == 0 ? t : t + 1;
          if (!times.resets.empty() && boundary < T && times.resets[entry_of(boundary, b)]) {
            state.assign(first, first + size);
          }
          const std::size_t entry = entry_of(t, b);
          if (times.mask.empty() || times.mask[entry]) {
            plain_step(layer.cells[direction], state, x.data() + entry * I);
          }
          for (std::size_t unit = 0; unit < H; ++unit) {
            h[(entry * directions + direction) * H + unit] = static_cast<double>(state[unit]);
          }
        }
        for (std::size_t i = 0; i < size; ++i) {
          out.final_states.back()[unsigned_of(b) * size + i] = static_cast<double>(state[i]);
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

/// Numbers nobody wrote show.
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
      out.push_back(to_device<State<Scalar>>(layer.y0[d], B, layer.cells[d].state_size()));
    }
  }
  return out;
}

template <class Cell>
elaphos::Stack<Cell> stack_of(const std::vector<PlainLayer>& layers) {
  std::vector<Cell> cells;
  for (const PlainLayer& layer : layers) {
    cells.emplace_back(weights_on_device<typename Cell::scalar_type>(layer.cells[0]));
  }
  return elaphos::Stack(cells);
}

template <class Cell>
elaphos::Stack<elaphos::Bidirectional<Cell>> bidirectional_stack_of(const std::vector<PlainLayer>& layers) {
  std::vector<elaphos::Bidirectional<Cell>> out;
  for (const PlainLayer& layer : layers) {
    out.emplace_back(Cell(weights_on_device<typename Cell::scalar_type>(layer.cells[0])),
                     Cell(weights_on_device<typename Cell::scalar_type>(layer.cells[1])));
  }
  return elaphos::Stack(out);
}

template <class Scalar>
struct Solved {
  std::vector<Scalar> y;
  std::vector<std::vector<Scalar>> final_states;

  bool operator==(const Solved&) const = default;  // no NaN here, and no zero that could have another sign
};

template <class Scalar>
void check_against(const Answer& expected, const Solved<Scalar>& got) {
  const double tolerance = std::is_same_v<Scalar, double> ? 1e-12 : 2e-5;
  CHECK(largest_difference(got.y, expected.y) <= tolerance);
  REQUIRE(got.final_states.size() == expected.final_states.size());
  for (std::size_t i = 0; i < expected.final_states.size(); ++i) {
    CHECK(largest_difference(got.final_states[i], expected.final_states[i]) <= tolerance);
  }
}

inline elaphos::LayerOptions in_segments(std::int64_t segments) {
  elaphos::LayerOptions options;
  options.solve.segments = segments;
  return options;
}

}  // namespace test

#endif
