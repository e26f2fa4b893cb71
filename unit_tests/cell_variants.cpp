// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every library cell in its variants, against a step that is written anew in the tests and differentiated
// automatically.
#include "support/methods.hpp"
#include "support/one_pass.hpp"
#include "support/variants.hpp"

#include <elaphos/dual.hpp>
#include <elaphos/impl/runs_on_host.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace {

using elaphos::Method;
using elaphos::Sensitivity;
using test::Exec;
using test::Variant;
using test::VariantKind;
using test::VariantLayer;

// `heads`: so many, where they divide the units.
std::vector<Variant> variants(int H) {
  const int some = H % 3 == 0 ? 3 : 1;
  return {{"Elman, relu", VariantKind::elman_relu},
          {"Elman, relu, heads, residual", VariantKind::elman_relu, some, false, false, 1, 0.25},
          {"Gru, heads", VariantKind::gru, some},
          {"Gru, diagonal", VariantKind::gru, H},
          {"Gru, leaky", VariantKind::gru, 1, false, false, 0.25},
          {"GruResetBefore", VariantKind::gru_reset_before},
          {"GruResetBefore, heads, leaky", VariantKind::gru_reset_before, some, false, false, 0.5},
          {"Lstm, coupled", VariantKind::lstm, 1, true},
          {"Lstm, peepholes", VariantKind::lstm, 1, false, true},
          {"Lstm, coupled, peepholes, heads, residual", VariantKind::lstm, some, true, true, 1, -0.5},
          {"Lem", VariantKind::lem},
          {"Lem, heads, leaky", VariantKind::lem, some, false, false, 0.75},
          {"MinGru", VariantKind::min_gru},
          {"MinLstm", VariantKind::min_lstm}};
}

constexpr int sizes[] = {1, 3, 17, 33};

// A variant's layer over random data.
template <class Scalar>
struct VariantProblem {
  VariantLayer layer;
  std::int64_t T, B;
  std::vector<double> y0_host, x_host;
  elaphos::StateView<Scalar, test::Memory> y0;
  elaphos::SequenceView<Scalar, test::Memory> x, y;

  VariantProblem(const Variant& variant, int H, std::int64_t steps, std::int64_t batch, std::mt19937_64 generator)
      : layer(variant, H, 2, generator), T(steps), B(batch) {
    const std::int64_t D = layer.state_size();
    y0_host = test::uniform(generator, static_cast<std::size_t>(B * D), 1);
    x_host = test::normal(generator, static_cast<std::size_t>(T * B * 2));
    y0 = test::to_device<elaphos::StateView<Scalar, test::Memory>>(y0_host, B, D);
    x = test::to_device<elaphos::SequenceView<Scalar, test::Memory>>(x_host, T, B, 2);
    y = elaphos::SequenceView<Scalar, test::Memory>("test::y", static_cast<std::size_t>(T), static_cast<std::size_t>(B),
                                                    static_cast<std::size_t>(D));
  }

  elaphos::SolveReport solve(const elaphos::SolveOptions& options) {
    Kokkos::deep_copy(y, Scalar(NAN));
    elaphos::SolveReport report;
    layer.template with_cell<Scalar>(
        [&](const auto& cell) { report = elaphos::solve(Exec(), cell, y0, x, y, options); });
    return report;
  }

  std::vector<Scalar> sequential() {
    elaphos::SolveOptions options;
    options.segments = 1;
    solve(options);
    return test::to_host(y);
  }

  std::vector<double> plain_loop() const {
    const auto D = static_cast<std::size_t>(layer.state_size()), batch = static_cast<std::size_t>(B);
    std::vector<double> out(static_cast<std::size_t>(T) * batch * D);
    for (std::size_t b = 0; b < batch; ++b) {
      std::vector<long double> state(y0_host.begin() + static_cast<std::ptrdiff_t>(b * D),
                                     y0_host.begin() + static_cast<std::ptrdiff_t>((b + 1) * D));
      for (std::size_t t = 0; t < static_cast<std::size_t>(T); ++t) {
        layer.step(state, x_host.data() + (t * batch + b) * 2);
        for (std::size_t i = 0; i < D; ++i) out[(t * batch + b) * D + i] = static_cast<double>(state[i]);
      }
    }
    return out;
  }
};

// The Jacobian of the first step, D x D, by automatic differentiation of the step above.
std::vector<double> jacobian_of(const VariantProblem<double>& problem) {
  using Number = elaphos::Dual<double, 1>;
  const auto D = static_cast<std::size_t>(problem.layer.state_size());
  std::vector<double> out(D * D);
  for (std::size_t j = 0; j < D; ++j) {
    std::vector<Number> state(problem.y0_host.begin(), problem.y0_host.end());
    state[j].slope[0] = 1;
    problem.layer.step(state, problem.x_host.data());
    for (std::size_t i = 0; i < D; ++i) out[i * D + j] = state[i].slope[0];
  }
  return out;
}

// The numbers of it that a sensitivity holds, in their order.
std::vector<double> held_by(Sensitivity sensitivity, const std::vector<double>& jacobian, std::size_t H,
                            std::size_t states) {
  const std::size_t D = states * H;
  std::vector<double> out;
  if (sensitivity == Sensitivity::dense) return jacobian;
  if (sensitivity == Sensitivity::diagonal) {
    for (std::size_t i = 0; i < D; ++i) out.push_back(jacobian[i * D + i]);
    return out;
  }
  for (std::size_t unit = 0; unit < H; ++unit) {
    for (std::size_t s = 0; s < states; ++s) {
      for (std::size_t r = 0; r < states; ++r) out.push_back(jacobian[(s * H + unit) * D + r * H + unit]);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("cells: variants are plain loops") {
  for (const int H : sizes) {
    for (const Variant& variant : variants(H)) {
      for (const std::int64_t B : {1, 3}) {
        CAPTURE(variant.name, H, B);
        const std::mt19937_64 generator(static_cast<std::uint64_t>(H));
        VariantProblem<double> problem(variant, H, 30, B, generator);
        const auto expected = problem.plain_loop();
        CHECK(test::largest_difference(problem.sequential(), expected) <= 1e-13);
        VariantProblem<float> in_float(variant, H, 30, B, generator);
        CHECK(test::largest_difference(in_float.sequential(), expected) <= 3e-5);
      }
    }
  }
}

TEMPLATE_TEST_CASE("cells: exact bits of variants by all methods", "", float, double) {
  for (const int H : sizes) {
    for (const Variant& variant : variants(H)) {
      VariantProblem<TestType> problem(variant, H, 61, H > 3 ? 1 : 3, std::mt19937_64(static_cast<std::uint64_t>(H)));
      const auto sequential = problem.sequential();
      for (const auto method : test::methods_with_blocks) {
        const bool dense = method == Method::newton || method == Method::levenberg_marquardt;
        if (dense && (!variant.recurrent() || H > (elaphos::impl::runs_on_host<Exec> ? 17 : 3))) continue;
        if (method == Method::block_quasi_newton && variant.states() == 1) continue;
        for (const std::int64_t segments : {4, 61}) {
          CAPTURE(variant.name, H, to_string(method), segments);
          elaphos::SolveOptions options;
          options.segments = segments;
          options.method = method;
          const auto report = problem.solve(options);
          CHECK(report.converged());
          CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
        }
      }
    }
  }
}

TEST_CASE("cells: wider than the compiled ones") {
  for (const int H : {129, 150}) {
    for (const Variant& variant : variants(H)) {
      CAPTURE(variant.name, H);
      VariantProblem<double> problem(variant, H, 20, 3, std::mt19937_64(static_cast<std::uint64_t>(H)));
      const auto sequential = problem.sequential();
      CHECK(test::largest_difference(sequential, problem.plain_loop()) <= 1e-13);
      elaphos::SolveOptions options;
      options.segments = 4;
      options.verify = true;
      const auto report = problem.solve(options);
      CHECK(report.verified_residual == 0);
      CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
    }
  }
}

TEST_CASE("cells: many units, many sequences, few steps") {
  for (const auto& [H, B] : {std::pair<int, std::int64_t>{512, 1}, {512, 5}, {1, 1024}, {129, 257}}) {
    for (const std::int64_t T : {0, 1}) {
      CAPTURE(H, B, T);
      VariantProblem<float> problem({"Gru", VariantKind::gru}, H, T, B, std::mt19937_64(1));
      CHECK(problem.solve({}).converged());
      CHECK(test::largest_difference(test::to_host(problem.y), problem.plain_loop()) <= 1e-5);
    }
  }
  VariantProblem<float> problem({"Lstm", VariantKind::lstm}, 512, 40, 2, std::mt19937_64(1));
  const auto sequential = problem.sequential();
  CHECK(test::largest_difference(sequential, problem.plain_loop()) <= 1e-5);
  elaphos::SolveOptions options;
  options.segments = 5;
  problem.solve(options);
  CHECK(test::different_bits(test::to_host(problem.y), sequential) == 0);
}

TEST_CASE("cells: derivatives of variants are those of automatic differentiation") {
  for (const int H : sizes) {
    for (const Variant& variant : variants(H)) {
      const auto units = static_cast<std::size_t>(H), states = static_cast<std::size_t>(variant.states());
      VariantProblem<double> problem(variant, H, 1, 1, std::mt19937_64(static_cast<std::uint64_t>(H)));
      const auto jacobian = jacobian_of(problem);
      for (const auto sensitivity : {Sensitivity::diagonal, Sensitivity::block, Sensitivity::dense}) {
        if (sensitivity == Sensitivity::block && states == 1) continue;
        const bool late = variant.kind == VariantKind::gru_reset_before || variant.kind == VariantKind::lem;
        const int most = !elaphos::impl::runs_on_host<Exec> ? 3 : late ? 32 : 128;
        if (sensitivity == Sensitivity::dense && (H > most || !variant.recurrent())) continue;
        CAPTURE(variant.name, H, to_string(sensitivity));
        const auto expected = held_by(sensitivity, jacobian, units, states);
        problem.layer.with_cell<double>([&](const auto& cell) {
          const auto found = test::propagate_once(cell, problem.y0, problem.x, problem.y, sensitivity, expected.size());
          CHECK(test::largest_difference(found.sensitivities, expected) <= 1e-13);
        });
      }
    }
  }
}

TEST_CASE("cells: derivatives of wide variants, and merges within a tolerance") {
  for (const int H : {129, 150}) {
    for (const Variant& variant : variants(H)) {
      CAPTURE(variant.name, H);
      const bool late = variant.kind == VariantKind::gru_reset_before || variant.kind == VariantKind::lem;
      const std::mt19937_64 generator(static_cast<std::uint64_t>(H));
      if (!late) {
        VariantProblem<double> one_step(variant, H, 1, 1, generator);
        const auto expected = held_by(Sensitivity::diagonal, jacobian_of(one_step), static_cast<std::size_t>(H),
                                      static_cast<std::size_t>(variant.states()));
        one_step.layer.with_cell<double>([&](const auto& cell) {
          const auto found = test::propagate_once(cell, one_step.y0, one_step.x, one_step.y, Sensitivity::diagonal,
                                                  expected.size());
          CHECK(test::largest_difference(found.sensitivities, expected) <= 1e-13);
        });
      }
      VariantProblem<double> problem(variant, H, 61, 2, generator);
      const auto sequential = problem.sequential();
      elaphos::SolveOptions options;
      options.segments = 4;
      options.merge = elaphos::Merge::tolerance;
      options.tolerance = {1e-7, 1e-7};
      if (!late) options.method = Method::quasi_newton;
      const auto report = problem.solve(options);
      CHECK(report.converged());
      CHECK(report.plan.merge == (late ? elaphos::Merge::exact : elaphos::Merge::tolerance));
      CHECK(test::largest_difference(test::to_host(problem.y), sequential) <= (late ? 0 : 1e-5));
    }
  }
}

TEST_CASE("cells: what is not a number stays so") {
  for (const Variant& variant : variants(3)) {
    CAPTURE(variant.name);
    VariantProblem<double> problem(variant, 3, 5, 1, std::mt19937_64(1));
    Kokkos::deep_copy(problem.x, std::numeric_limits<double>::quiet_NaN());
    const auto report = problem.solve({});
    REQUIRE(report.first_non_finite);
    CHECK(report.first_non_finite->t == 0);
  }
}

TEST_CASE("cells: dense products of which there is no kernel are refused") {
  elaphos::SolveOptions options;
  options.method = Method::newton;
  options.segments = 2;
  VariantProblem<double> minimal({"MinGru", VariantKind::min_gru}, 3, 5, 1, std::mt19937_64(1));
  CHECK_THROWS_AS(minimal.solve(options), elaphos::InvalidArgument);
  VariantProblem<double> late({"Lem", VariantKind::lem}, 33, 5, 1, std::mt19937_64(1));
  CHECK_THROWS_AS(late.solve(options), elaphos::InvalidArgument);
}

TEST_CASE("cells: variants that do not fit are refused") {
  using Catch::Matchers::ContainsSubstring;
  using Catch::Matchers::MessageMatches;
  using elaphos::InvalidArgument;
  elaphos::LayerWeights<double, test::Memory> weights;
  const auto shapes = [&](int rows, int inputs, int columns, int bias) {
    const auto n = [](int count) { return static_cast<std::size_t>(count); };
    weights.input_weights = elaphos::MatrixView<double, test::Memory>("w_ih", n(rows), n(inputs));
    weights.hidden_weights = elaphos::MatrixView<double, test::Memory>("w_hh", n(rows), n(columns));
    weights.input_bias = weights.hidden_bias = elaphos::VectorView<double, test::Memory>("b", n(bias));
  };
  const auto says = [](const std::string& text) { return MessageMatches(ContainsSubstring(text)); };

  shapes(12, 2, 2, 12);
  weights.heads = 0;
  CHECK_THROWS_MATCHES(elaphos::Gru(weights), InvalidArgument, says("Gru heads is 0"));
  weights.heads = 3;
  CHECK_THROWS_MATCHES(elaphos::Gru(weights), InvalidArgument, says("(3 H, H / 3) for 3 heads"));
  weights.heads = 2;
  const elaphos::Gru two_heads(weights);
  CHECK(two_heads.hidden_size() == 4);

  weights.heads = 1;
  CHECK_THROWS_MATCHES(elaphos::MinGru(weights), InvalidArgument, says("none, nor a hidden_bias"));
  weights.hidden_weights = {};
  weights.hidden_bias = {};
  CHECK(elaphos::MinGru(weights).hidden_size() == 6);
  CHECK(elaphos::MinLstm(weights).hidden_size() == 4);
  CHECK_THROWS_MATCHES(elaphos::Elman(weights), InvalidArgument, says("Elman hidden_weights is (0, 0)"));
  shapes(5, 2, 0, 5);
  weights.hidden_weights = {};
  weights.hidden_bias = {};
  CHECK_THROWS_MATCHES(elaphos::MinGru(weights), InvalidArgument, says("(2 H, I) with H >= 1"));

  shapes(12, 2, 3, 12);
  elaphos::LstmOptions<double, test::Memory> options;
  options.peepholes = elaphos::MatrixView<double, test::Memory>("p", 3, 4);
  CHECK_THROWS_MATCHES(elaphos::Lstm(weights, options), InvalidArgument,
                       says("Lstm peepholes is (3, 4); expected (3, 3)"));
  options.coupled = true;
  CHECK_THROWS_MATCHES(elaphos::Lstm(weights, options), InvalidArgument, says("(3 H, H) with H >= 1"));
  CHECK_THROWS_MATCHES(elaphos::Lem(weights, NAN), InvalidArgument, says("Lem time_step is nan"));
  const elaphos::Lem lem(weights);
  CHECK_THROWS_MATCHES(elaphos::leaky(lem, 1.5), InvalidArgument, says("leaky rate is 1.5"));
  CHECK_THROWS_MATCHES(elaphos::leaky(lem, NAN), InvalidArgument, says("from 0 to 1"));
  CHECK_THROWS_MATCHES(elaphos::residual(lem, INFINITY), InvalidArgument, says("residual scale is inf"));
}
