// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Promises about a solve as a whole: silence, memory, and bits that do not depend on how the work is divided.
#include "support/layers.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::Sensitivity;
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

/// Sequences `first`, ..., `last` - 1 of time-major host data.
std::vector<double> some_sequences(const std::vector<double>& all, std::int64_t T, std::int64_t B, std::int64_t size,
                                   std::int64_t first, std::int64_t last) {
  std::vector<double> some;
  for (std::int64_t t = 0; t < T; ++t) {
    const auto row = all.begin() + t * B * size;
    some.insert(some.end(), row + first * size, row + last * size);
  }
  return some;
}

}  // namespace

TEST_CASE("promises: a solve prints nothing") {
  auto problem = test::random_problem<double>(test::CellKind::gru, 5, 2, 700, 2, 3);
  CapturedOutput captured;
  for (const auto merge : {Merge::exact, Merge::tolerance}) {
    for (const int limit : {1, 32}) {
      SolveOptions options;
      options.segments = 30;
      options.merge = merge;
      options.sensitivity = Sensitivity::dense;
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
      const std::int64_t T = B == 1000 ? 400 : 65'537;
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
                                      some_sequences(whole.x_host, T, B, I, first, last));
      part.solve(options);
      CHECK(test::different_bits(test::to_host(part.y), some_sequences(expected, T, B, D, first, last)) == 0);
    }
  }
}

TEST_CASE("promises: the same inputs and the same plan give the same bits, also within tolerance") {
  auto problem = test::random_problem<float>(test::CellKind::gru, 33, 2, 3000, 2, 17, 2.0);
  SolveOptions options;
  options.merge = Merge::tolerance;
  options.segments = 12;
  for (const auto sensitivity : {Sensitivity::none, Sensitivity::diagonal, Sensitivity::dense}) {
    options.sensitivity = sensitivity;
    problem.solve(options);
    const auto expected = test::to_host(problem.y);
    for (int repetition = 0; repetition < 5; ++repetition) {
      problem.solve(options);
      CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
    }
  }
}

namespace {

/// Counts modulo 2^20, which a float holds exactly.
struct Counter {
  using scalar_type = float;
  static constexpr int state_size = 1, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const {
    next[0] = y[0] + 1 == 1048576 ? 0 : y[0] + 1;
  }
};

struct CountWrong {
  const float* y;
  KOKKOS_FUNCTION void operator()(std::int64_t t, std::int64_t& wrong) const {
    if (y[t] != static_cast<float>((t + 1) % 1048576)) ++wrong;
  }
};

}  // namespace

TEST_CASE("promises: indices are 64-bit", "[.long]") {
  constexpr std::int64_t T = (std::int64_t(1) << 31) + 1000;
  const elaphos::StateView<float, Memory> y0("test::y0", 1, 1);
  const elaphos::SequenceView<float, Memory> y("test::y", std::size_t(T), 1, 1);
  SolveOptions options;
  // The counter never forgets: each segment is right after the one before it.
  options.segments = 3;
  options.stop_when_stalled = false;
  CHECK(elaphos::solve(Exec(), Counter{}, y0, elaphos::SequenceView<float, Memory>(), y, options).converged());
  std::int64_t wrong = 0;
  Kokkos::parallel_reduce("test::count_wrong", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(0, T),
                          CountWrong{y.data()}, wrong);
  CHECK(wrong == 0);
}
