// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Linear recurrences against a copy of as many bytes: A and b in, y out; float. The two are measured in turn, so that
// they see the same machine, and their medians compared.
#include "support/data.hpp"
#include "support/plain_copy.hpp"
#include "support/session.hpp"

#include <elaphos/linear_recurrence.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace perf {

namespace {

constexpr bool on_host = std::is_same_v<Memory, Kokkos::HostSpace>;

struct Row {
  std::int64_t T, B;
  int D;
  bool dense;
  elaphos::LinearPlan plan;
  int scan_tile = 256;

  std::string name() const {
    return std::string(dense ? "dense" : "diagonal") + "/" + to_string(plan) +
           (plan == elaphos::LinearPlan::team_per_tile ? ":" + std::to_string(scan_tile) : "") +
           "/D:" + std::to_string(D) + "/B:" + std::to_string(B) + "/T:" + std::to_string(T);
  }
};

double median(std::vector<double> seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

template <class Coefficients>
void measure(benchmark::State& state, const Row& row, std::int64_t T, const Coefficients& coefficients, double bytes) {
  const Exec exec;
  elaphos::Workspace<Exec> workspace;
  const auto b = random_view<elaphos::SequenceView<float, Memory>>("perf::b", 2, 1.0, T, row.B, row.D);
  const auto y0 = random_view<elaphos::StateView<float, Memory>>("perf::y0", 3, 1.0, row.B, row.D);
  const elaphos::SequenceView<float, Memory> y("perf::y", std::size_t(T), std::size_t(row.B), std::size_t(row.D));
  elaphos::LinearOptions options;
  options.plan = row.plan;
  options.scan_tile = row.scan_tile;
  const auto solve = [&] { elaphos::linear_recurrence(exec, coefficients, b, y0, y, options, workspace); };
  try {
    solve();
  } catch (const elaphos::InvalidArgument& error) {
    return state.SkipWithMessage(error.what());  // a tile that does not fit, a plan of other devices
  }
  const PlainCopy plain_copy(bytes);
  const auto copy_once = [&] { plain_copy.run(exec); };
  // The data were made by the host: a device's clock has come down meanwhile and takes some time to rise.
  const Kokkos::Timer warming;
  do {
    solve();
    copy_once();
    exec.fence();
  } while (warming.seconds() < 0.05);
  std::vector<double> solves, copies;
  for ([[maybe_unused]] auto _ : state) {
    solves.push_back(seconds_of(exec, solve));
    copies.push_back(seconds_of(exec, copy_once));
    state.SetIterationTime(solves.back());
  }
  const double seconds = median(solves), copy = median(copies);
  state.counters["ns_per_step"] = seconds / static_cast<double>(T * row.B) * 1e9;
  state.counters["median_ms"] = seconds * 1e3;
  state.counters["floor_ms"] = copy * 1e3;
  state.counters["over_floor"] = seconds / copy;
  state.counters["gigabytes_per_second"] = bytes / seconds * 1e-9;
  state.SetLabel("floor: copy of as many bytes");
}

void run(benchmark::State& state, const Session& session, const Row& row) {
  const std::int64_t T = session.steps(row.T);
  const double entries = static_cast<double>(T) * static_cast<double>(row.B) * row.D;
  // Of size around 0.9: neither all forgotten nor grown beyond measure.
  if (row.dense) {
    using View = Kokkos::View<float****, Kokkos::LayoutRight, Memory>;
    const auto a = random_view<View>("perf::a", 1, 1.5 / std::sqrt(double(row.D)), T, row.B, row.D, row.D);
    measure(state, row, T, elaphos::dense_coefficients(a), sizeof(float) * entries * (row.D + 2));
  } else {
    const auto a = random_view<elaphos::SequenceView<float, Memory>>("perf::a", 1, 1.0, T, row.B, row.D);
    measure(state, row, T, elaphos::diagonal_coefficients(a), sizeof(float) * entries * 3);
  }
}

}  // namespace

void register_rows(Session& session) {
  using elaphos::LinearPlan;
  const auto add = [&session](const Row& row) {
    benchmark::RegisterBenchmark(row.name(),
                                 [&session, row](benchmark::State& state) { run(state, session, row); })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond)
        ->Iterations(11);
  };
  // Many channels, few of them, and time alone; larger than any cache.
  for (const auto plan : {LinearPlan::automatic, LinearPlan::single_pass, LinearPlan::tiled, LinearPlan::by_channel}) {
    add({on_host ? 8192 : 65'536, 4, 512, false, plan});
    add({on_host ? 2'500'000 : 12'500'000, 1, 8, false, plan});
    add({on_host ? 20'000'000 : 100'000'000, 1, 1, false, plan});
  }
  for (const int D : {1, 8, 32}) {
    const std::int64_t T = on_host ? 1'000'000 : 8'000'000;
    add({T / D, 1, D, false, LinearPlan::automatic});
    for (const int scan_tile : {32, 100, 256, 1024}) add({T / D, 1, D, false, LinearPlan::team_per_tile, scan_tile});
  }
  for (const auto& [D, T] : {std::pair{2, 1'000'000}, {4, 1'000'000}, {8, 1'000'000}, {16, 300'000}, {32, 100'000},
                             {64, 30'000}, {128, 8'000}}) {
    add({T, 1, D, true, LinearPlan::automatic});
  }
}

}  // namespace perf
