// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The linear map of a layer's output, against a plain loop.
#include "support/layers.hpp"
#include "support/refusal.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using test::Exec;
using test::Memory;

std::size_t unsigned_of(std::int64_t number) { return static_cast<std::size_t>(number); }

template <class Scalar>
using Sequence = elaphos::SequenceView<Scalar, Memory>;
template <class Scalar>
using State = elaphos::StateView<Scalar, Memory>;

struct Numbers {
  int H, O;
  std::int64_t T, B;
  std::vector<double> weights, bias, h;

  std::vector<double> expected() const {
    std::vector<double> z;
    for (std::size_t row = 0; row < unsigned_of(T * B); ++row) {
      for (std::size_t o = 0; o < unsigned_of(O); ++o) {
        long double sum = bias[o];
        for (std::size_t k = 0; k < unsigned_of(H); ++k) {
          sum += static_cast<long double>(weights[o * unsigned_of(H) + k]) * h[row * unsigned_of(H) + k];
        }
        z.push_back(static_cast<double>(sum));
      }
    }
    return z;
  }

  template <class Scalar>
  elaphos::Readout<Scalar, Memory> readout() const {
    return {test::to_device<elaphos::MatrixView<const Scalar, Memory>>(weights, O, H),
            test::to_device<elaphos::VectorView<const Scalar, Memory>>(bias, O)};
  }
};

Numbers random_numbers(int H, int O, std::int64_t T, std::int64_t B) {
  std::mt19937_64 generator(unsigned_of(H * 100 + O));
  return {H,
          O,
          T,
          B,
          test::normal(generator, unsigned_of(H * O)),
          test::normal(generator, unsigned_of(O)),
          test::normal(generator, unsigned_of(T * B * H))};
}

template <class Scalar>
Sequence<Scalar> output(std::int64_t T, std::int64_t B, int O) {
  const Sequence<Scalar> z("test::z", unsigned_of(T), unsigned_of(B), unsigned_of(O));
  Kokkos::deep_copy(z, Scalar(NAN));
  return z;
}

}  // namespace

TEMPLATE_TEST_CASE("readout: a linear map of every step, or of the last", "", float, double) {
  const double tolerance = std::is_same_v<TestType, double> ? 1e-13 : 1e-4;
  for (const int H : {1, 3, 17, 33}) {
    for (const int O : {1, 3, 8, 17}) {
      for (const std::int64_t T : {0, 1, 2, 257}) {
        for (const std::int64_t B : {1, 3}) {
          CAPTURE(H, O, T, B);
          const Numbers numbers = random_numbers(H, O, T, B);
          const auto readout = numbers.readout<TestType>();
          const auto h = test::to_device<Sequence<TestType>>(numbers.h, T, B, H);
          const auto z = output<TestType>(T, B, O);
          elaphos::read_out(Exec(), readout, h, z);
          Exec().fence();
          const auto got = test::to_host(z);
          CHECK(test::largest_difference(got, numbers.expected()) <= tolerance);
          if (T == 0) continue;
          const State<TestType> last("test::z", unsigned_of(B), unsigned_of(O));
          elaphos::read_out(Exec(), readout, h, last);
          Exec().fence();
          CHECK(test::different_bits(test::to_host(last), {got.end() - B * O, got.end()}) == 0);
        }
      }
    }
  }
}

TEMPLATE_TEST_CASE("readout: a row's bits do not depend on the rows around it", "", float, double) {
  for (const int O : {1, 8, 13}) {
    const Numbers numbers = random_numbers(33, O, 37, 3);
    const auto readout = numbers.readout<TestType>();
    const auto z = output<TestType>(37, 3, O);
    elaphos::read_out(Exec(), readout, test::to_device<Sequence<TestType>>(numbers.h, 37, 3, 33), z);
    Exec().fence();
    const auto all = test::to_host(z);
    for (std::int64_t row = 0; row < 37 * 3; ++row) {
      const std::vector<double> h(numbers.h.begin() + row * 33, numbers.h.begin() + (row + 1) * 33);
      const auto alone = output<TestType>(1, 1, O);
      elaphos::read_out(Exec(), readout, test::to_device<Sequence<TestType>>(h, 1, 1, 33), alone);
      Exec().fence();
      CAPTURE(O, row);
      CHECK(test::different_bits(test::to_host(alone), {all.begin() + row * O, all.begin() + (row + 1) * O}) == 0);
    }
  }
}

TEST_CASE("readout: what does not fit is refused") {
  const Numbers numbers = random_numbers(3, 2, 10, 2);
  const auto readout = numbers.readout<double>();
  const auto h = test::to_device<Sequence<double>>(numbers.h, 10, 2, 3);
  const auto apply = [&](const auto& from, const auto& to) {
    return [&readout, from, to] { elaphos::read_out(Exec(), readout, from, to); };
  };
  test::expect_refusal(apply(Sequence<double>("h", 10, 2, 4), output<double>(10, 2, 2)), {"h is (10, 2, 4)", "(T, B, 3)"});
  test::expect_refusal(apply(h, output<double>(9, 2, 2)), {"z is (9, 2, 2)", "(10, 2, 2)"});
  test::expect_refusal(apply(h, State<double>("z", 2, 3)), {"z is (2, 3)", "(2, 2)"});
  test::expect_refusal(apply(Sequence<double>("h", 0, 2, 3), State<double>("z", 2, 2)), {"h is (0, 2, 3)", "at least one step"});
  test::expect_refusal(apply(h, Sequence<double>(h.data(), 10, 2, 2)), {"z is memory that overlaps h"});
  using Matrix = elaphos::MatrixView<double, Memory>;
  using Vector = elaphos::VectorView<double, Memory>;
  test::expect_refusal([] { elaphos::Readout<double, Memory>(Matrix("w", 2, 3), Vector("b", 3)); }, {"bias is (3)", "(2)"});
  test::expect_refusal([] { elaphos::Readout<double, Memory>(Matrix("w", 0, 3), Vector("b", 0)); }, {"weights is (0, 3)"});
}

// As in docs/layers.md.
TEST_CASE("readout: the documentation's stack of layers") {
  const std::int64_t T = 60, B = 2;
  std::mt19937_64 generator(4);
  std::vector<test::Layer> plain;
  std::vector<elaphos::LayerWeights<float, Memory>> weights;
  for (int layer = 0; layer < 3; ++layer) {
    plain.push_back(test::random_layer(test::CellKind::gru, 4, 4, generator));
    weights.push_back(test::weights_on_device<float>(plain.back()));
  }
  const auto numbers = test::normal(generator, unsigned_of(T * B * 4));
  const auto x = test::to_device<Sequence<float>>(numbers, T, B, 4);
  const elaphos::MatrixView<float, Memory> w("test::w", 2, 4);
  const elaphos::VectorView<float, Memory> b("test::b", 2);
  Kokkos::deep_copy(w, 0.5f);
  Kokkos::deep_copy(b, 1.0f);
  const auto z = output<float>(T, B, 2);

  using Gru = elaphos::Gru<float>;
  const elaphos::Stack<Gru> stack({Gru(weights[0]), Gru(weights[1]), Gru(weights[2])});
  const elaphos::Readout<float> readout(w, b);

  const Kokkos::DefaultExecutionSpace exec;
  elaphos::Workspace<Kokkos::DefaultExecutionSpace> workspace;
  const auto states = elaphos::zero_states(exec, stack, B);
  const elaphos::SequenceView<float> h("h", unsigned_of(T), unsigned_of(B), 4);

  elaphos::LayerOptions options;
  const auto report = elaphos::solve(exec, stack, states, x, h, states, options, workspace);
  elaphos::read_out(exec, readout, h, z);
  exec.fence();

  CHECK(report.converged());
  std::vector<double> expected = numbers;
  for (const test::Layer& layer : plain) {
    expected = test::plain_loop(layer, T, B, std::vector<double>(unsigned_of(B) * 4), expected);
  }
  CHECK(test::largest_difference(test::to_host(h), expected) <= 1e-5);
  std::vector<double> sums;
  for (std::size_t i = 0; i < expected.size(); i += 4) {
    const double sum = 1 + 0.5 * (expected[i] + expected[i + 1] + expected[i + 2] + expected[i + 3]);
    sums.insert(sums.end(), 2, sum);
  }
  CHECK(test::largest_difference(test::to_host(z), sums) <= 1e-5);

  options.dropout = {0.2, 7};
  using Layer = elaphos::Bidirectional<Gru>;
  const elaphos::Stack<Layer> both({Layer(Gru(weights[0]), Gru(weights[1]))});
  const elaphos::SequenceView<float> joined("h", unsigned_of(T), unsigned_of(B), 8);
  const auto of_both = elaphos::zero_states(exec, both, B);
  CHECK(elaphos::solve(exec, both, of_both, x, joined, of_both, options, workspace).solves.size() == 2);
}
