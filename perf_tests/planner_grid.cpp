// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether the planner ever loses: GRUs (float, I = D) of all sizes, solved as the planner has it, against the
// sequential loop. `over_loop` below 1 / 1.1 where the work factor is at most 1.2 is a planner's mistake.
#include "support/data.hpp"
#include "support/session.hpp"
#include "support/timing.hpp"

#include <elaphos/cells/gru.hpp>
#include <elaphos/solve.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace perf {

namespace {

struct Shape {
  std::int64_t T;
  int D;
  std::int64_t B;
};

// So many calls at a time that the clock sees more than its own grain.
int calls_at_a_time(const Shape& shape) {
  const double numbers = static_cast<double>(shape.T * shape.B) * shape.D;
  return static_cast<int>(std::clamp(2e4 / numbers, 1.0, 200.0));
}

void measure(benchmark::State& state, const Shape& shape) {
  const Exec exec;
  const elaphos::Gru<float, Memory> gru(default_weights<float>(3, shape.D, shape.D));
  const std::size_t T = static_cast<std::size_t>(shape.T), B = static_cast<std::size_t>(shape.B),
                    D = static_cast<std::size_t>(shape.D);
  const elaphos::StateView<float, Memory> y0("perf::y0", B, D);
  const auto x = random_inputs<float>(shape.T, shape.B, shape.D);
  const elaphos::SequenceView<float, Memory> y("perf::y", T, B, D), y_loop("perf::y_loop", T, B, D);
  elaphos::Workspace<Exec> workspace;
  elaphos::SolveReport report;

  const int calls = calls_at_a_time(shape);
  const auto loop = [&] {
    for (int call = 0; call < calls; ++call) elaphos::solve_sequentially(exec, gru, y0, x, y_loop, workspace);
  };
  const auto solve = [&] {
    for (int call = 0; call < calls; ++call) report = elaphos::solve(exec, gru, y0, x, y, {}, workspace);
  };
  loop();
  solve();
  std::vector<double> of_loop, of_solve;
  for ([[maybe_unused]] auto _ : state) {
    of_loop.push_back(seconds_of(exec, loop));
    of_solve.push_back(seconds_of(exec, solve));
    state.SetIterationTime(of_solve.back() / calls);
  }
  if (largest_difference(y, y_loop) != 0) return state.SkipWithError("the answer is not the loop's");
  const double over_loop = median_of(of_loop) / median_of(of_solve);
  state.counters["over_loop"] = over_loop;
  state.counters["work_factor"] = report.work_factor();
  state.SetLabel("N = " + std::to_string(report.plan.segments) +
                 (over_loop < 1 / 1.1 && report.work_factor() <= 1.2 ? ", slower than the loop" : ""));
}

}  // namespace

void register_rows(Session& session) {
  for (const std::int64_t T : {1, 10, 100, 1000, 10'000, 100'000, 1'000'000}) {
    for (const int D : {1, 4, 16, 32, 64, 128}) {
      for (const std::int64_t B : {1, 4, 32, 256}) {
        // A second or so of one core, a gigabyte or so.
        if (T * B * D * (D + 50) > 3'000'000'000 || T * B * D > 100'000'000) continue;
        benchmark::RegisterBenchmark(
            "gru/T:" + std::to_string(T) + "/D:" + std::to_string(D) + "/B:" + std::to_string(B),
            [&session, T, D, B](benchmark::State& state) {
              measure(state, {session.steps(T), D, B});
            })
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond)
            ->Iterations(5);
      }
    }
  }
}

}  // namespace perf
