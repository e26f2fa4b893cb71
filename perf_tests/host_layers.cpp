// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What time-parallelism gains on a host's few cores: GRUs over one sequence (float, I = D, products with the input counted
// everywhere), against the library's sequential loop and against the loop that one writes without a library.
#include "support/data.hpp"
#include "support/plain_gru.hpp"
#include "support/session.hpp"
#include "support/timing.hpp"

#include <elaphos/elaphos.hpp>
#include <elaphos/impl/runs_on_host.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <string>
#include <vector>

namespace perf {

namespace {

// (rows, columns) to (columns, rows).
template <class View>
std::vector<float> transposed(const View& matrix) {
  std::vector<float> out;
  for (std::size_t column = 0; column < matrix.extent(1); ++column) {
    for (std::size_t row = 0; row < matrix.extent(0); ++row) out.push_back(matrix(row, column));
  }
  return out;
}

void measure(benchmark::State& state, int D, std::int64_t T) {
  const Exec exec;
  const auto weights = default_weights<float>(3, D, D);
  const elaphos::Gru<float, Memory> gru(weights);
  const std::size_t steps = static_cast<std::size_t>(T), units = static_cast<std::size_t>(D);
  const elaphos::StateView<float, Memory> y0("perf::y0", 1, units);
  const auto x = random_inputs<float>(T, 1, D);
  const elaphos::SequenceView<float, Memory> y("perf::y", steps, 1, units), y_loop("perf::y_loop", steps, 1, units),
      y_plain("perf::y_plain", steps, 1, units);
  const std::vector<float> w_ih = transposed(weights.input_weights), w_hh = transposed(weights.hidden_weights);
  elaphos::Workspace<Exec> workspace;
  elaphos::SolveReport report;

  const auto plain = [&] {
    plain_gru(D, {w_ih.data(), w_hh.data(), weights.input_bias.data(), weights.hidden_bias.data()}, x.data(), T,
              y_plain.data());
  };
  const auto loop = [&] { elaphos::solve_sequentially(exec, gru, y0, x, y_loop, workspace); };
  const auto solve = [&] { report = elaphos::solve(exec, gru, y0, x, y, {}, workspace); };
  plain();
  loop();
  solve();
  std::vector<double> of_plain, of_loop, of_solve;
  for ([[maybe_unused]] auto _ : state) {
    of_plain.push_back(seconds_of(exec, plain));
    of_loop.push_back(seconds_of(exec, loop));
    of_solve.push_back(seconds_of(exec, solve));
    state.SetIterationTime(of_solve.back());
  }
  if (!report.converged()) return state.SkipWithError("not converged: " + to_string(report.status));
  if (largest_difference(y, y_loop) != 0) return state.SkipWithError("the answer is not the loop's");
  if (!(largest_difference(y_plain, y_loop) < 1e-4)) return state.SkipWithError("the plain loop is no GRU");
  const double ns = 1e9 / static_cast<double>(T);
  const double plain_seconds = median_of(of_plain), loop_seconds = median_of(of_loop), seconds = median_of(of_solve);
  state.counters["ns_per_step"] = seconds * ns;
  state.counters["loop_ns"] = loop_seconds * ns;
  state.counters["plain_ns"] = plain_seconds * ns;
  state.counters["over_loop"] = loop_seconds / seconds;
  state.counters["loop_over_plain"] = loop_seconds / plain_seconds;
  state.counters["work_factor"] = report.work_factor();
  state.counters["passes"] = report.iterations();
  state.SetLabel("N = " + std::to_string(report.plan.segments));
}

}  // namespace

void register_rows(Session& session) {
  if constexpr (elaphos::impl::runs_on_host<Exec>) {
    for (const std::int64_t T : {std::int64_t(65'536), std::int64_t(1'048'576)}) {
      for (const int D : {1, 4, 8, 16, 32}) {
        benchmark::RegisterBenchmark("gru/float/D:" + std::to_string(D) + "/T:" + std::to_string(T),
                                     [&session, D, T](benchmark::State& state) { measure(state, D, session.steps(T)); })
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond)
            ->Iterations(5);
      }
    }
  }
}

}  // namespace perf
