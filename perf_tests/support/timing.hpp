// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_TIMING_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_TIMING_HPP

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

namespace perf {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

/// Seconds that `work` takes on `exec`, with a fence on either side.
template <class Work>
double seconds_of(const Exec& exec, const Work& work) {
  exec.fence("perf::before");
  const Kokkos::Timer timer;
  work();
  exec.fence("perf::after");
  return timer.seconds();
}

/// Runs a row's iterations; the mean of their seconds.
template <class Work>
double mean_seconds(benchmark::State& state, const Exec& exec, const Work& work) {
  double sum = 0;
  for ([[maybe_unused]] auto _ : state) {
    const double seconds = seconds_of(exec, work);
    state.SetIterationTime(seconds);
    sum += seconds;
  }
  return sum / static_cast<double>(state.iterations());
}

/// Sorts them.
inline double median_of(std::vector<double>& seconds) {
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace perf

#endif
