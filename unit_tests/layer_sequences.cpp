// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers over packed, masked and reset sequences and features in several Views: against a solve for each sequence, bit
// for bit, and against a plain loop that walks time in either direction.
#include "support/layer_stacks.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <utility>
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
using Offsets = Kokkos::View<std::int64_t*, Memory>;
using Flags = Kokkos::View<bool**, Kokkos::LayoutRight, Memory>;

template <class Number>
std::vector<Number> part(const std::vector<Number>& all, std::int64_t begin, std::int64_t end, int width) {
  return {all.begin() + begin * width, all.begin() + end * width};
}

template <class Number>
void append(std::vector<Number>& to, const std::vector<Number>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

int output_width(const std::vector<PlainLayer>& plain) {
  return static_cast<int>(plain.back().cells.size()) * plain.back().cells[0].D;
}

// The layers' states, of sequences `begin` to `end` of all.
std::vector<PlainLayer> with_states_of(std::vector<PlainLayer> plain, std::int64_t begin, std::int64_t end) {
  for (PlainLayer& layer : plain) {
    for (std::size_t d = 0; d < layer.cells.size(); ++d) {
      layer.y0[d] = part(layer.y0[d], begin, end, layer.cells[d].state_size());
    }
  }
  return plain;
}

template <class Layers>
Solved<typename Layers::scalar_type> solved(const Layers& layers, const std::vector<PlainLayer>& plain,
                                            std::int64_t sequences, std::int64_t T, std::int64_t B, const auto& x,
                                            const LayerOptions& options) {
  using Scalar = typename Layers::scalar_type;
  const auto y = test::poisoned<Scalar>(T, B, output_width(plain));
  const auto final_states = elaphos::zero_states(Exec(), layers, sequences);
  const auto y0 = test::states_on_device<Scalar>(plain, sequences);
  CHECK(elaphos::solve(Exec(), layers, y0, x, y, final_states, options).converged());
  Solved<Scalar> out{test::to_host(y), {}};
  for (const auto& state : final_states) out.final_states.push_back(test::to_host(state));
  return out;
}

// Sequences of different lengths, one behind the other.
struct Packed {
  std::vector<std::int64_t> offsets{0};
  int I;
  std::vector<double> x;

  Packed(const std::vector<std::int64_t>& lengths, int features, std::uint64_t seed) : I(features) {
    for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
    std::mt19937_64 generator(seed);
    x = test::normal(generator, unsigned_of(steps() * I));
  }

  std::int64_t steps() const { return offsets.back(); }
  std::int64_t sequences() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
  std::pair<std::int64_t, std::int64_t> bounds(std::int64_t s) const {
    return {offsets[unsigned_of(s)], offsets[unsigned_of(s + 1)]};
  }

  template <class Layers>
  auto solve(const Layers& layers, const std::vector<PlainLayer>& plain, const LayerOptions& options) const {
    const auto on_device = test::to_device<Sequence<typename Layers::scalar_type>>(x, steps(), 1, I);
    const auto starts = test::to_device<Offsets>(offsets, sequences() + 1);
    return solved(layers, plain, sequences(), steps(), 1, elaphos::inputs(on_device).packed(starts), options);
  }

  // What `solve_one(s, begin, end)` says of each sequence, one behind the other.
  template <class Result>
  Result joined(const std::function<Result(std::int64_t, std::int64_t, std::int64_t)>& solve_one) const {
    Result all;
    for (std::int64_t s = 0; s < sequences(); ++s) {
      const auto [begin, end] = bounds(s);
      const Result one = solve_one(s, begin, end);
      append(all.y, one.y);
      all.final_states.resize(one.final_states.size());
      for (std::size_t i = 0; i < one.final_states.size(); ++i) append(all.final_states[i], one.final_states[i]);
    }
    return all;
  }

  // The bits: a solve for each sequence, with the masks of its number.
  template <class Layers>
  auto one_by_one(const Layers& layers, const std::vector<PlainLayer>& plain, LayerOptions options) const {
    using Scalar = typename Layers::scalar_type;
    const std::int64_t first = options.dropout.first_sequence;
    return joined<Solved<Scalar>>([&](std::int64_t s, std::int64_t begin, std::int64_t end) {
      options.dropout.first_sequence = first + s;
      const auto own = test::to_device<Sequence<Scalar>>(part(x, begin, end, I), end - begin, 1, I);
      return solved(layers, with_states_of(plain, s, s + 1), 1, end - begin, 1, own, options);
    });
  }

  Answer plainly(const std::vector<PlainLayer>& plain) const {
    return joined<Answer>([&](std::int64_t s, std::int64_t begin, std::int64_t end) {
      return test::plain_answer(with_states_of(plain, s, s + 1), end - begin, 1, part(x, begin, end, I));
    });
  }
};

const std::vector<std::int64_t> mixed_lengths{0, 1, 2, 131, 40, 0, 0, 1, 17, 0};

template <class Layers>
void check_packed(const Layers& layers, const std::vector<PlainLayer>& plain, const Packed& packed) {
  for (const double probability : {0.0, 0.3}) {
    LayerOptions options = test::in_segments(1);
    options.dropout = {probability, 5, 1000, 70};
    const auto expected = packed.one_by_one(layers, plain, options);
    if (probability == 0) test::check_against(packed.plainly(plain), expected);
    for (const std::int64_t segments : {0, 1, 2, 11}) {
      CAPTURE(probability, segments);
      options.solve.segments = segments;
      CHECK(packed.solve(layers, plain, options) == expected);
    }
  }
}

// A GRU below, an LSTM above.
template <class Scalar>
auto mixed_stack_of(const std::vector<PlainLayer>& plain) {
  return elaphos::MixedStack(elaphos::Gru<Scalar, Memory>(test::weights_on_device<Scalar>(plain[0].cells[0])),
                             elaphos::Lstm<Scalar, Memory>(test::weights_on_device<Scalar>(plain[1].cells[0])));
}

std::vector<PlainLayer> mixed_layers(std::int64_t sequences, std::mt19937_64& generator) {
  auto plain = test::random_layers(CellKind::gru, 1, {5}, 3, sequences, generator);
  plain.push_back(test::random_layers(CellKind::lstm, 1, {4}, 5, sequences, generator)[0]);
  return plain;
}

}  // namespace

TEMPLATE_TEST_CASE("layer sequences: packed ones have the bits of a solve for each", "", float, double) {
  using Lstm = elaphos::Lstm<TestType, Memory>;
  std::mt19937_64 generator(3);
  for (const auto& lengths : {mixed_lengths, {1, 1, 1}, {64}, {0, 0, 3, 0}, {0, 0}}) {
    CAPTURE(lengths);
    const Packed packed(lengths, 3, 8);
    const auto grus = test::random_layers(CellKind::gru, 1, {17, 3, 6}, 3, packed.sequences(), generator);
    check_packed(test::stack_of<elaphos::Gru<TestType, Memory>>(grus), grus, packed);
    const auto mixed = mixed_layers(packed.sequences(), generator);
    check_packed(mixed_stack_of<TestType>(mixed), mixed, packed);
    const auto both = test::random_layers(CellKind::lstm, 2, {5, 3}, 3, packed.sequences(), generator);
    check_packed(test::bidirectional_stack_of<Lstm>(both), both, packed);
    check_packed(test::bidirectional_stack_of<Lstm>({both[0]})[0], {both[0]}, packed);
  }
}

TEMPLATE_TEST_CASE("layer sequences: padded and masked ones have the bits of packed ones", "", float, double) {
  using Lstm = elaphos::Lstm<TestType, Memory>;
  std::mt19937_64 generator(4);
  const Packed packed(mixed_lengths, 3, 8);
  const std::int64_t T = 131, B = packed.sequences();
  std::vector<double> x(unsigned_of(T * B * 3), NAN);
  std::vector<bool> mask(unsigned_of(T * B));
  for (std::int64_t s = 0; s < B; ++s) {
    const auto [begin, end] = packed.bounds(s);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::size_t entry = unsigned_of((row - begin) * B + s);
      mask[entry] = true;
      for (std::size_t i = 0; i < 3; ++i) x[entry * 3 + i] = packed.x[unsigned_of(row) * 3 + i];
    }
  }
  const auto on_device = test::to_device<Sequence<TestType>>(x, T, B, 3);
  const Flags flags = test::to_device<Flags>(mask, T, B);
  const auto check = [&](const auto& layers, const std::vector<PlainLayer>& plain) {
    const std::size_t width = unsigned_of(output_width(plain));
    for (const double probability : {0.0, 0.4}) {
      LayerOptions options = test::in_segments(6);
      options.dropout.probability = probability;
      const auto padded = solved(layers, plain, B, T, B, elaphos::inputs(on_device).masked(flags), options);
      const auto expected = packed.solve(layers, plain, options);
      CHECK(padded.final_states == expected.final_states);
      std::vector<TestType> counted;
      for (std::int64_t s = 0; s < B; ++s) {
        const auto [begin, end] = packed.bounds(s);
        for (std::int64_t t = 0; t < end - begin; ++t) {
          append(counted, part(padded.y, t * B + s, t * B + s + 1, static_cast<int>(width)));
        }
      }
      CHECK(test::different_bits(counted, expected.y) == 0);
    }
  };
  const auto grus = test::random_layers(CellKind::gru, 1, {7, 3, 6}, 3, B, generator);
  check(test::stack_of<elaphos::Gru<TestType, Memory>>(grus), grus);
  const auto both = test::random_layers(CellKind::lstm, 2, {5, 3}, 3, B, generator);
  check(test::bidirectional_stack_of<Lstm>(both), both);
}

TEMPLATE_TEST_CASE("layer sequences: masks and resets by a plain loop, in both directions", "", float, double) {
  using Lstm = elaphos::Lstm<TestType, Memory>;
  std::mt19937_64 generator(12);
  for (const std::int64_t T : {0, 1, 2, 150}) {
    const std::int64_t B = 3;
    const auto x = test::normal(generator, unsigned_of(T * B * 3));
    const auto on_device = test::to_device<Sequence<TestType>>(x, T, B, 3);
    const auto grus = test::random_layers(CellKind::gru, 1, {7, 3}, 3, B, generator);
    const auto mixed = mixed_layers(B, generator);
    const auto both = test::random_layers(CellKind::lstm, 2, {5, 3}, 3, B, generator);
    for (const bool is_masked : {false, true}) {
      for (const bool is_reset : {false, true}) {
        test::Times times;
        for (std::int64_t entry = 0; is_masked && entry < T * B; ++entry) times.mask.push_back(generator() % 3 != 0);
        for (std::int64_t entry = 0; is_reset && entry < T * B; ++entry) times.resets.push_back(generator() % 9 == 0);
        const Flags mask = is_masked ? test::to_device<Flags>(times.mask, T, B) : Flags();
        const Flags resets = is_reset ? test::to_device<Flags>(times.resets, T, B) : Flags();
        auto in = elaphos::inputs(on_device);
        if (is_masked) in = in.masked(mask);
        if (is_reset) in = in.reset(resets);
        const auto check = [&](const auto& layers, const std::vector<PlainLayer>& plain) {
          CAPTURE(T, is_masked, is_reset);
          const auto sequential = solved(layers, plain, B, T, B, in, test::in_segments(1));
          test::check_against(test::plain_answer(plain, T, B, x, times), sequential);
          CHECK(solved(layers, plain, B, T, B, in, test::in_segments(9)) == sequential);
        };
        check(test::stack_of<elaphos::Gru<TestType, Memory>>(grus), grus);
        check(mixed_stack_of<TestType>(mixed), mixed);
        check(test::bidirectional_stack_of<Lstm>(both), both);
      }
    }
  }
}

TEST_CASE("layer sequences: features in several Views are the first layer's one input") {
  std::mt19937_64 generator(13);
  const std::int64_t T = 50, B = 2;
  const auto x = test::normal(generator, unsigned_of(T * B * 5));
  std::vector<double> one, two;
  for (std::size_t i = 0; i < x.size(); ++i) (i % 5 < 2 ? one : two).push_back(x[i]);
  const auto whole = test::to_device<Sequence<double>>(x, T, B, 5);
  const auto first = test::to_device<Sequence<double>>(one, T, B, 2);
  const auto second = test::to_device<Sequence<double>>(two, T, B, 3);
  const auto check = [&](const auto& layers, const std::vector<PlainLayer>& plain) {
    const auto options = test::in_segments(4);
    CHECK(solved(layers, plain, B, T, B, elaphos::inputs(first, second), options) ==
          solved(layers, plain, B, T, B, whole, options));
  };
  const auto grus = test::random_layers(CellKind::gru, 1, {7, 3}, 5, B, generator);
  check(test::stack_of<elaphos::Gru<double, Memory>>(grus), grus);
  const auto both = test::random_layers(CellKind::lstm, 2, {4, 3}, 5, B, generator);
  check(test::bidirectional_stack_of<elaphos::Lstm<double, Memory>>(both), both);
}

TEST_CASE("layer sequences: packed sequences continue from chunk to chunk, in place") {
  std::mt19937_64 generator(14);
  const Packed whole({30, 0, 7, 64}, 3, 2);
  const auto plain = mixed_layers(4, generator);
  const auto stack = mixed_stack_of<double>(plain);
  const auto expected = whole.solve(stack, plain, test::in_segments(5));
  const auto states = test::states_on_device<double>(plain, 4);
  elaphos::Workspace<Exec> workspace;
  std::vector<std::vector<double>> y(4);
  const std::vector<std::vector<std::int64_t>> cuts{{0, 0, 0, 0}, {10, 0, 7, 1}, {10, 0, 7, 50}, {30, 0, 7, 64}};
  for (std::size_t chunk = 0; chunk + 1 < cuts.size(); ++chunk) {
    std::vector<std::int64_t> offsets{0};
    std::vector<double> x;
    for (std::size_t s = 0; s < 4; ++s) {
      const std::int64_t begin = whole.offsets[s] + cuts[chunk][s], end = whole.offsets[s] + cuts[chunk + 1][s];
      append(x, part(whole.x, begin, end, 3));
      offsets.push_back(offsets.back() + end - begin);
    }
    const auto input = test::to_device<Sequence<double>>(x, offsets.back(), 1, 3);
    const auto starts = test::to_device<Offsets>(offsets, 5);
    const auto output = test::poisoned<double>(offsets.back(), 1, 4);
    elaphos::solve(Exec(), stack, states, elaphos::inputs(input).packed(starts), output, states, test::in_segments(3),
                   workspace);
    for (std::size_t s = 0; s < 4; ++s) append(y[s], part(test::to_host(output), offsets[s], offsets[s + 1], 4));
  }
  std::vector<double> joined;
  for (const auto& sequence : y) append(joined, sequence);
  CHECK(test::different_bits(joined, expected.y) == 0);
  for (std::size_t i = 0; i < states.size(); ++i) {
    CHECK(test::different_bits(test::to_host(states[i]), expected.final_states[i]) == 0);
  }
}

namespace {

// A user's recurrence without input: the number of the step, and of the sequence.
struct Clock {
  using scalar_type = double;
  using memory_space = Memory;
  int state_size() const { return 2; }
  int hidden_size() const { return 2; }
  int input_size() const { return 0; }
  KOKKOS_FUNCTION void team_step(const auto&, elaphos::StepContext at, auto, auto, auto next) const {
    next[0] = static_cast<double>(at.t);
    next[1] = static_cast<double>(at.b);
  }
};

}  // namespace

TEST_CASE("layer sequences: a user's recurrence is told a packed sequence's own times, in each direction's order") {
  const elaphos::Bidirectional layer(Clock{}, Clock{});
  const auto states = elaphos::zero_states(Exec(), layer, 3);
  const auto y = test::poisoned<double>(3, 1, 4);
  const auto offsets = test::to_device<Offsets>(std::vector<std::int64_t>{0, 2, 2, 3}, 4);
  // Without steps a View has no numbers, whatever width it names.
  for (const std::size_t width : {0, 4}) {
    const Sequence<double> none("x", 0, 0, width);
    CHECK(elaphos::solve(Exec(), layer, states, elaphos::inputs(none).packed(offsets), y, states).converged());
    CHECK(test::to_host(y) == std::vector<double>{0, 0, 1, 0, 1, 0, 0, 0, 0, 2, 0, 2});
    for (const auto& state : states) CHECK(test::to_host(state) == std::vector<double>{1, 0, 0, 0, 0, 2});
  }
}
