// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Promises about a solve as a whole: silence, memory, and bits that do not depend on how the work is divided.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/systems.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;
using test::Exec;
using test::Memory;

/// What this process writes to standard output and standard error while it is alive.
class CapturedOutput {
 public:
  CapturedOutput() {
    std::fflush(nullptr);
    for (const int stream : {1, 2}) {
      m_kept[stream] = dup(stream);
      dup2(fileno(m_file), stream);
    }
  }
  ~CapturedOutput() { std::fclose(m_file); }

  std::string stop() {
    std::fflush(nullptr);
    for (const int stream : {1, 2}) {
      dup2(m_kept[stream], stream);
      close(m_kept[stream]);
    }
    std::string text;
    std::rewind(m_file);
    for (int c = std::fgetc(m_file); c != EOF; c = std::fgetc(m_file)) text.push_back(static_cast<char>(c));
    return text;
  }

 private:
  std::FILE* m_file = std::tmpfile();
  int m_kept[3] = {};
};

}  // namespace

TEST_CASE("promises: a solve prints nothing") {
  auto problem = test::random_problem<double>(test::CellKind::gru, 5, 2, 700, 2, 3);
  CapturedOutput captured;
  for (const auto merge : {Merge::exact, Merge::tolerance}) {
    for (const int limit : {1, 32}) {
      SolveOptions options;
      options.segments = 30;
      options.merge = merge;
      options.method = Method::newton;
      options.max_iterations = limit;
      options.verify = options.measure_time = true;
      problem.solve(options);
    }
  }
  CHECK(captured.stop().empty());
}

TEMPLATE_TEST_CASE("promises: a planned solve needs a workspace of at most 0.3 (x + y)", "", float, double) {
  // What a long enough problem needs; the weights' copy does not grow with it.
  for (const int D : {1, 4, 32, 64}) {
    for (const std::int64_t B : {1, 7, 1000}) {
      if (B * D > 4000) continue;  // one segment, as for small D
      const std::int64_t T = std::clamp<std::int64_t>((1 << 20) / (B * D), 200, 65'537);
      const auto layer = [&] {
        std::mt19937_64 generator(1);
        return test::random_layer(test::CellKind::gru, D, 2, generator);
      }();
      const auto weights = test::weights_on_device<TestType>(layer);
      const elaphos::StateView<TestType, Memory> y0("test::y0", std::size_t(B), std::size_t(D));
      const elaphos::SequenceView<TestType, Memory> x("test::x", std::size_t(T), std::size_t(B), 2);
      const elaphos::SequenceView<TestType, Memory> y("test::y", std::size_t(T), std::size_t(B), std::size_t(D));
      for (const auto merge : {Merge::exact, Merge::tolerance}) {
        elaphos::Workspace<Exec> workspace;
        SolveOptions options;
        options.merge = merge;
        elaphos::solve(Exec(), elaphos::Gru(weights), y0, x, y, options, workspace);
        const double packed = double(3 * (D < 4 ? 4 : D)) * ((D < 4 ? 4 : D) + 2 + 3) * sizeof(TestType);
        const double most = 0.3 * double(x.size() + y.size()) * sizeof(TestType) + packed + 4096;
        CAPTURE(D, B, to_string(merge), most);
        CHECK(double(workspace.bytes()) <= most);
      }
    }
  }
}

TEST_CASE("promises: exact bits do not depend on how a batch is split") {
  constexpr std::int64_t T = 400, B = 7;
  constexpr int D = 6, I = 3;
  for (const auto kind : {test::CellKind::elman, test::CellKind::gru}) {
    auto whole = test::random_problem<double>(kind, D, I, T, B, 31);
    SolveOptions options;
    options.segments = 5;
    whole.solve(options);
    const std::vector<double> expected = test::to_host(whole.y);
    for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {0, 4}, {3, 7}, {6, 7}}) {
      CAPTURE(first, last);
      const std::vector<double> y0(whole.y0_host.begin() + first * D, whole.y0_host.begin() + last * D);
      test::LayerProblem<double> part(whole.layer, T, last - first, y0,
                                      test::some_sequences(whole.x_host, T, B, I, first, last));
      part.solve(options);
      CHECK(test::different_bits(test::to_host(part.y), test::some_sequences(expected, T, B, D, first, last)) == 0);
    }
  }
}

TEST_CASE("promises: the same inputs and the same plan give the same bits, also within tolerance") {
  auto problem = test::random_problem<float>(test::CellKind::gru, 33, 2, 3000, 2, 17, 2.0);
  SolveOptions options;
  options.merge = Merge::tolerance;
  options.segments = 12;
  for (const auto method : test::methods) {
    options.method = method;
    problem.solve(options);
    const auto expected = test::to_host(problem.y);
    for (int repetition = 0; repetition < 5; ++repetition) {
      problem.solve(options);
      CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
    }
  }
}

namespace {

/// Counts the steps; each sequence starts from its number modulo 1000.
struct Counter {
  using scalar_type = float;
  static constexpr int state_size = 1, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const { next[0] = y[0] + 1; }
};

struct NumberSequences {
  float* y0;
  KOKKOS_FUNCTION void operator()(std::int64_t b) const { y0[b] = static_cast<float>(b % 1000); }
};

struct CountWrong {
  const float* y;
  std::int64_t B;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t& wrong) const {
    if (y[i] != static_cast<float>(i % B % 1000 + i / B + 1)) ++wrong;
  }
};

}  // namespace

// Eight gigabytes.
TEST_CASE("promises: more than 2^31 numbers", "[.long]") {
  constexpr std::int64_t T = 2100, B = std::int64_t(1) << 20;
  using Range = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  const elaphos::StateView<float, Memory> y0("test::y0", std::size_t(B), 1);
  Kokkos::parallel_for("test::number_sequences", Range(0, B), NumberSequences{y0.data()});
  const elaphos::SequenceView<float, Memory> y("test::y", std::size_t(T), std::size_t(B), 1);
  for (const std::int64_t segments : {1, 2}) {
    Kokkos::deep_copy(y, -1.0f);
    SolveOptions options;
    options.segments = segments;
    const auto report = elaphos::solve(Exec(), Counter{}, y0, elaphos::SequenceView<float, Memory>(), y, options);
    CHECK(report.converged());
    std::int64_t wrong = 0;
    Kokkos::parallel_reduce("test::count_wrong", Range(0, T * B), CountWrong{y.data(), B}, wrong);
    CHECK(wrong == 0);
  }
}
