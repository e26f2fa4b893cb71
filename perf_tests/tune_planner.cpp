// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measures what the planner's table (src/planner_table.hpp) holds for the execution space that Kokkos takes by default:
// GRUs with PyTorch's initialisation, one sequence, exact merges. Prints the times, and a row to put there.
#include "support/data.hpp"
#include "support/timing.hpp"

#include <elaphos/elaphos.hpp>
#include <elaphos/impl/architecture.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using perf::Exec;
using perf::Memory;

// One GRU over one sequence of at most so many steps.
class Layer {
 public:
  Layer(int hidden_size, std::int64_t most_steps)
      : m_gru(perf::default_weights<float>(3, hidden_size, hidden_size)),
        m_y0("tune::y0", 1, static_cast<std::size_t>(hidden_size)),
        m_x(perf::random_inputs<float>(most_steps, 1, hidden_size)),
        m_y("tune::y", static_cast<std::size_t>(most_steps), 1, static_cast<std::size_t>(hidden_size)) {}

  /// Median of 5 solves by so many segments.
  double seconds(std::int64_t steps, std::int64_t segments) {
    const std::size_t T = static_cast<std::size_t>(steps), D = m_y.extent(2);
    const elaphos::SequenceView<float, Memory> x(m_x.data(), T, 1, D), y(m_y.data(), T, 1, D);
    elaphos::SolveOptions options;
    options.segments = segments;
    const Exec exec;
    const auto solve = [&] { elaphos::solve(exec, m_gru, m_y0, x, y, options, m_workspace); };
    solve();
    std::array<double, 5> times{};
    for (double& time : times) time = perf::seconds_of(exec, solve);
    std::sort(times.begin(), times.end());
    return times[2];
  }

  std::int64_t workers() const { return elaphos::plan_request(Exec(), m_gru, 1, 1).parallel_workers; }

 private:
  elaphos::Gru<float, Memory> m_gru;
  elaphos::StateView<float, Memory> m_y0;
  elaphos::SequenceView<float, Memory> m_x, m_y;
  elaphos::Workspace<Exec> m_workspace{};
};

constexpr int hidden_sizes[] = {1, 8, 32};

// The first T from which on two segments or more are faster than the loop at every hidden size.
std::int64_t tune_shortest_parallel(std::vector<Layer>& layers) {
  std::printf("\nT: loop / segments of 192 steps or two, microseconds, for D = 1, 8, 32\n");
  std::int64_t shortest = 0;
  for (std::int64_t T = 64; T <= 8192; T *= 2) {
    std::printf("%6lld:", static_cast<long long>(T));
    bool pays = true;
    for (Layer& layer : layers) {
      const double loop = layer.seconds(T, 1), split = layer.seconds(T, std::max<std::int64_t>(2, T / 192));
      std::printf("  %8.1f / %8.1f", loop * 1e6, split * 1e6);
      pays = pays && split < loop;
    }
    std::printf("\n");
    if (!pays) shortest = 0;
    if (pays && shortest == 0) shortest = T;
  }
  return shortest;
}

// The value whose times over those of the best value of each hidden size have the smallest sum.
template <class SegmentsOf>
std::int64_t tune(const char* what, std::vector<Layer>& layers, std::int64_t T,
                  const std::vector<std::int64_t>& candidates, const SegmentsOf& segments_of) {
  std::printf("\n%s, T = %lld: milliseconds for D = 1, 8, 32\n", what, static_cast<long long>(T));
  std::vector<double> sums(candidates.size(), 0.0);
  std::vector<std::vector<double>> times;
  for (Layer& layer : layers) {
    std::vector<double> of_layer;
    for (const std::int64_t candidate : candidates) of_layer.push_back(layer.seconds(T, segments_of(candidate)));
    const double best = *std::min_element(of_layer.begin(), of_layer.end());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += of_layer[i] / best;
    times.push_back(of_layer);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    std::printf("%6lld:", static_cast<long long>(candidates[i]));
    for (const auto& of_layer : times) std::printf("  %9.4f", of_layer[i] * 1e3);
    std::printf("\n");
  }
  return candidates[static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin())];
}

void tune_all() {
  constexpr std::int64_t long_run = 1'000'000;
  std::vector<Layer> layers;
  for (const int D : hidden_sizes) layers.emplace_back(D, long_run);
  const std::int64_t workers = layers[0].workers();
  const std::string architecture = elaphos::impl::architecture_of(Exec());
  std::printf("%s, %lld workers\n", architecture.c_str(), static_cast<long long>(workers));
  const std::int64_t parallel = tune_shortest_parallel(layers);
  // As short a run as has room for segments of every candidate length and still keeps the workers busy.
  const std::int64_t short_run = std::min(long_run, std::max<std::int64_t>(4096, 64 * workers));
  const std::int64_t shortest = tune("steps of a segment", layers, short_run, {64, 96, 128, 192, 256, 384, 512},
                                     [&](std::int64_t steps) { return short_run / steps; });
  const std::int64_t a_worker = tune("segments a worker", layers, long_run, {1, 2, 4, 8},
                                     [&](std::int64_t each) { return workers * each; });
  std::printf("\n    {\"%s\", %lld, %lld, %lld, 4, \"machine, date\"},\n", architecture.c_str(),
              static_cast<long long>(parallel), static_cast<long long>(shortest), static_cast<long long>(a_worker));
}

}  // namespace

int main(int argc, char* argv[]) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  tune_all();
}
