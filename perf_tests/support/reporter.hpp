// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_REPORTER_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_REPORTER_HPP

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace perf {

/// A table with one line a row, the median where there are repetitions. On request also the same numbers as
/// measurements, which CTest sends to CDash. Files (--benchmark_out) hold everything.
class Reporter : public benchmark::BenchmarkReporter {
 public:
  explicit Reporter(bool measurements) : m_measurements(measurements) {}

  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  int failures() const { return m_failures; }

 private:
  void print_row(const Run& run);
  void print_measurements(const Run& run);

  bool m_measurements;
  int m_failures = 0;
};

/// A row's name without what Google Benchmark appends to it.
std::string short_name(const std::string& name);

}  // namespace perf

#endif
