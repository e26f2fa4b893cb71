// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reporter.hpp"

#include <algorithm>
#include <cstdio>
#include <ostream>

namespace perf {

namespace {

// Counters in the order of the table; a row need not have all.
struct Column {
  const char* counter;
  const char* title;
};
constexpr Column columns[] = {{"ns_per_step", "ns/step"}, {"work_factor", "work"},  {"passes", "passes"},
                              {"over_loop", "x loop"},    {"floor_ms", "floor ms"}, {"over_floor", "/ floor"},
                              {"loop_ns", "loop ns"},     {"plain_ns", "plain ns"}, {"loop_over_plain", "loop/plain"}};

}  // namespace

std::string short_name(const std::string& name) {
  std::size_t end = name.size();
  for (const char* suffix : {"/iterations:", "/repeats:", "/manual_time", "/real_time"}) {
    end = std::min(end, name.find(suffix));
  }
  return name.substr(0, end);
}

bool Reporter::ReportContext(const Context&) {
  std::ostream& out = GetOutputStream();
  char text[64];
  std::snprintf(text, sizeof text, "%-48s %10s", "row", "ms");
  out << text;
  for (const Column& column : columns) {
    std::snprintf(text, sizeof text, " %9s", column.title);
    out << text;
  }
  out << "\n";
  return true;
}

void Reporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.skipped == benchmark::internal::SkippedWithError) {
      ++m_failures;
      GetErrorStream() << short_name(run.benchmark_name()) << ": " << run.report_label << run.skip_message << "\n";
    } else if (run.aggregate_name == "median" || (run.aggregate_name.empty() && run.repetitions <= 1)) {
      print_row(run);
      if (m_measurements) print_measurements(run);
    }
  }
}

void Reporter::print_row(const Run& run) {
  std::ostream& out = GetOutputStream();
  char text[64];
  std::snprintf(text, sizeof text, "%-48s %10.4g", short_name(run.run_name.function_name).c_str(),
                run.GetAdjustedRealTime());
  out << text;
  for (const Column& column : columns) {
    const auto counter = run.counters.find(column.counter);
    if (counter == run.counters.end()) {
      std::snprintf(text, sizeof text, " %9s", "-");
    } else {
      std::snprintf(text, sizeof text, " %9.4g", double(counter->second));
    }
    out << text;
  }
  out << "  " << run.report_label << std::endl;  // flushed: a row may take minutes
}

void Reporter::print_measurements(const Run& run) {
  const auto print = [&](const std::string& name, double value) {
    GetOutputStream() << "<CTestMeasurement type=\"numeric/double\" name=\"" << name << "\">" << value
                      << "</CTestMeasurement>\n";
  };
  print("milliseconds", run.GetAdjustedRealTime());
  for (const auto& [name, counter] : run.counters) print(name, counter);
}

}  // namespace perf
