// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Dropout between layers: its random words, its masks and its statistics, seen through layers that hand their input on.
#include "support/transfer.hpp"

#include <elaphos/impl/layers/philox.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

using elaphos::Dropout;
using elaphos::LayerOptions;
using test::Exec;
using test::Memory;

// A user's recurrence as a layer: the state is the input.
template <class Scalar>
struct Relay {
  using scalar_type = Scalar;
  using memory_space = Memory;
  int width;
  int state_size() const { return width; }
  int hidden_size() const { return width; }
  int input_size() const { return width; }
  KOKKOS_FUNCTION void team_step(const auto& member, elaphos::StepContext, auto, auto x, auto next) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, width), [&](int i) { next[i] = x[i]; });
  }
};
static_assert(elaphos::LayerCell<Relay<float>>);

struct Shape {
  std::int64_t T, B;
  int H;
  std::size_t numbers() const { return static_cast<std::size_t>(T * B * H); }
};

// What comes out of the layers if ones, or x, go in.
template <class Layers, class Scalar = typename Layers::scalar_type>
std::vector<Scalar> handed_on(const Layers& layers, Shape shape, int outputs, const LayerOptions& options,
                              std::vector<double> x = {}) {
  using Sequence = elaphos::SequenceView<Scalar, Memory>;
  if (x.empty()) x.assign(shape.numbers(), 1.0);
  const auto input = test::to_device<Sequence>(x, shape.T, shape.B, shape.H);
  const Sequence y("test::y", input.extent(0), input.extent(1), static_cast<std::size_t>(outputs));
  const auto states = elaphos::zero_states(Exec(), layers, shape.B);
  elaphos::solve(Exec(), layers, states, input, y, states, options);
  return test::to_host(y);
}

template <class Scalar = double>
std::vector<Scalar> relayed(Shape shape, std::size_t layers, const Dropout& dropout, std::int64_t segments = 1) {
  LayerOptions options{{}, dropout};
  options.solve.segments = segments;
  return handed_on(elaphos::Stack(std::vector(layers, Relay<Scalar>{shape.H})), shape, shape.H, options);
}

// Whether unit u is kept, as the library promises it.
bool is_kept(const Dropout& dropout, std::uint32_t layer, std::uint64_t t, std::uint32_t b, std::uint32_t unit) {
  const std::uint32_t seed[] = {static_cast<std::uint32_t>(dropout.seed),
                                static_cast<std::uint32_t>(dropout.seed >> 32)};
  const elaphos::impl::PhiloxWords counter{
      {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(t >> 32) + layer * 65536, b, unit / 4}};
  const auto words = elaphos::impl::philox_4x32_10(counter, {{seed[0], seed[1]}});
  return words.v[unit % 4] >= dropout.probability * 4294967296.0;
}

// Of two sets of kept numbers: how many standard deviations their agreement is from that of independent ones.
double deviations(const std::vector<double>& a, const std::vector<double>& b, double p) {
  double agree = 0;
  for (std::size_t i = 0; i < a.size(); ++i) agree += (a[i] != 0) == (b[i] != 0) ? 1 : 0;
  const double chance = p * p + (1 - p) * (1 - p), n = static_cast<double>(a.size());
  return std::abs(agree - chance * n) / std::sqrt(n * chance * (1 - chance));
}

}  // namespace

TEST_CASE("dropout: Philox has its authors' known answers") {
  struct Known {
    std::uint32_t counter[4], key[2], words[4];
  };
  const Known known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& [counter, key, words] : known) {
    const auto got =
        elaphos::impl::philox_4x32_10({{counter[0], counter[1], counter[2], counter[3]}}, {{key[0], key[1]}});
    for (int i = 0; i < 4; ++i) CHECK(got.v[i] == words[i]);
  }
}

TEMPLATE_TEST_CASE("dropout: a mask is a function of seed, layer, step, sequence and unit", "", float, double) {
  for (const int H : {1, 3, 17}) {
    const Shape shape{50, 3, H};
    Dropout dropout{0.25, 0x123456789abcdef0u, (std::int64_t(1) << 32) - 20, 5};
    const auto got = relayed<TestType>(shape, 3, dropout);
    const TestType scale = static_cast<TestType>(1 / 0.75);
    std::size_t wrong = 0, index = 0;
    for (std::int64_t t = 0; t < shape.T; ++t) {
      for (std::uint32_t b = 0; b < 3; ++b) {
        for (std::uint32_t unit = 0; unit < static_cast<std::uint32_t>(H); ++unit) {
          const std::uint64_t step = static_cast<std::uint64_t>(dropout.first_step + t);
          const bool kept = is_kept(dropout, 0, step, b + 5, unit) && is_kept(dropout, 1, step, b + 5, unit);
          wrong += got[index++] == (kept ? scale * scale : TestType(0)) ? 0 : 1;
        }
      }
    }
    CAPTURE(H);
    CHECK(wrong == 0);
    CHECK(test::different_bits(relayed<TestType>(shape, 3, dropout, 7), got) == 0);
  }
}

TEST_CASE("dropout: chunks of time and of the batch continue the whole's masks") {
  const Shape whole{40, 6, 5};
  const Dropout dropout{0.5, 3, 7, 0};
  const auto expected = relayed(whole, 2, dropout);
  std::vector<double> got(expected.size());
  for (const std::int64_t first_step : {0, 13}) {
    for (const std::int64_t first_sequence : {0, 2}) {
      const Shape part{first_step == 0 ? 13 : 27, first_sequence == 0 ? 2 : 4, 5};
      const auto numbers = relayed(part, 2, {0.5, 3, 7 + first_step, first_sequence});
      for (std::int64_t row = 0; row < part.T * part.B; ++row) {
        const std::int64_t to = (first_step + row / part.B) * whole.B + first_sequence + row % part.B;
        for (std::int64_t u = 0; u < 5; ++u) {
          got[static_cast<std::size_t>(to * 5 + u)] = numbers[static_cast<std::size_t>(row * 5 + u)];
        }
      }
    }
  }
  CHECK(test::different_bits(got, expected) == 0);
}

TEST_CASE("dropout: directions are dropped by their place in the output") {
  for (const int H : {1, 3, 17}) {
    const Shape shape{20, 2, H};
    const elaphos::Bidirectional lower(Relay<double>{H}, Relay<double>{H});
    const elaphos::MixedStack stack(lower, Relay<double>{2 * H});
    const Dropout dropout{0.4, 9};
    std::vector<double> x;
    for (std::size_t i = 0; i < shape.numbers(); ++i) x.push_back(1 + static_cast<double>(i));
    const auto got = handed_on(stack, shape, 2 * H, {{}, dropout}, x);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t units = static_cast<std::size_t>(H), row = i / (2 * units), unit = i % (2 * units);
      const bool kept =
          is_kept(dropout, 0, row / 2, static_cast<std::uint32_t>(row % 2), static_cast<std::uint32_t>(unit));
      wrong += got[i] == (kept ? (1 / (1 - 0.4)) * x[row * units + unit % units] : 0) ? 0 : 1;
    }
    CAPTURE(H);
    CHECK(wrong == 0);
  }
}

TEST_CASE("dropout: masks have the probability, and are independent of one another") {
  const Shape shape{2000, 3, 17};
  const double n = static_cast<double>(shape.numbers());
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto mask = relayed(shape, 2, {p, 42});
    double kept = 0;
    for (const double number : mask) kept += number != 0 ? 1 : 0;
    CAPTURE(p);
    CHECK(std::abs(kept - (1 - p) * n) < 4.5 * std::sqrt(n * p * (1 - p)));
    // Neighbours in time, in the batch, among units; another seed; the layer above, whose kept numbers are a part.
    CHECK(deviations(mask, relayed(shape, 2, {p, 42, 1}), p) < 4.5);
    CHECK(deviations(mask, relayed(shape, 2, {p, 42, 0, 1}), p) < 4.5);
    CHECK(deviations({mask.begin() + 1, mask.end()}, {mask.begin(), mask.end() - 1}, p) < 4.5);
    CHECK(deviations(mask, relayed(shape, 2, {p, 43}), p) < 4.5);
    CHECK(deviations(mask, relayed(shape, 2, {p, 42 + (std::uint64_t(1) << 32)}), p) < 4.5);
    double kept_twice = 0;
    for (const double number : relayed(shape, 3, {p, 42})) kept_twice += number != 0 ? 1 : 0;
    CHECK(std::abs(kept_twice - (1 - p) * kept) < 4.5 * std::sqrt(kept * p * (1 - p)));
  }
  // Not after the last layer, and not at all without a probability.
  const std::vector<double> ones(shape.numbers(), 1.0);
  CHECK(test::different_bits(relayed(shape, 1, {0.5, 42}), ones) == 0);
  CHECK(test::different_bits(relayed(shape, 3, {0, 42}), ones) == 0);
}
