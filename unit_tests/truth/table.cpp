// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace truth {

namespace {

template <class... Numbers>
std::string formatted(const char* format, Numbers... numbers) {
  char text[64];
  std::snprintf(text, sizeof(text), format, numbers...);
  return text;
}

// DEER's test is max |new y - old y| < 1e-5 and nothing else.
std::string deer_says(const elaphos::SolveReport& report) {
  if (report.plan.steps_per_segment != 1) return "";
  for (std::size_t pass = 0; pass < report.passes.size(); ++pass) {
    if (report.passes[pass].max_correction < 1e-5) return formatted("yes, after %d", static_cast<int>(pass) + 1);
  }
  return formatted("no, moved %.0e", report.passes.back().max_correction);
}

std::string status_of(const elaphos::SolveReport& report) {
  switch (report.status) {
    case elaphos::SolveStatus::converged: return "converged";
    case elaphos::SolveStatus::completed_sequentially: return report.stalled ? "stalled, completed" : "completed";
    default: return "no: limit";
  }
}

}  // namespace

std::vector<Row> measure(const Case& system,
                         const std::vector<std::pair<std::string, elaphos::SolveOptions>>& methods) {
  elaphos::SolveOptions loop;
  loop.segments = 1;
  loop.measure_time = true;
  system.solve(loop);
  const double loop_seconds = seconds(system.solve(loop));
  const std::vector<double> expected = system.states();
  double scale = 0;
  for (const double y : expected) {
    if (std::isfinite(y)) scale = std::max(scale, std::abs(y));
  }
  std::vector<Row> rows;
  for (const auto& [name, wanted] : methods) {
    if (!system.has_jacobian && wanted.method != elaphos::Method::automatic) continue;
    elaphos::SolveOptions options = wanted;
    options.verify = options.measure_time = true;
    if (options.method == elaphos::Method::levenberg_marquardt) options.max_iterations = system.damped_passes;
    const elaphos::SolveReport report = system.solve(options);
    rows.push_back({&system, name, report, scale, difference(system.states(), expected),
                    seconds(report) / loop_seconds});
  }
  return rows;
}

std::string markdown(const std::vector<Row>& rows) {
  std::string out =
      "| system | T, D | method | ended | passes | critical path / T | work | residual | off the loop by | time / loop | "
      "DEER's test |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  const Case* before = nullptr;
  for (const Row& row : rows) {
    const elaphos::SolveReport& report = row.report;
    const double path = static_cast<double>(report.critical_path()) / static_cast<double>(report.steps);
    const bool first = row.system != before;
    before = row.system;
    out += "| " + (first ? row.system->name : "") + " | " +
           (first ? formatted("%lld, %d", static_cast<long long>(row.system->T), row.system->D) : "") + " | " +
           row.method + " | " + status_of(report) + " | " + std::to_string(report.iterations()) + " | " +
           formatted("%.2g", path) + " | " + formatted("%.2f", report.work_factor()) + " | " +
           formatted("%.1e", report.verified_residual.value_or(-1)) + " | " +
           (row.error == 0 ? "0" : row.system->chaotic ? "chaotic" : formatted("%.1e", row.error)) + " | " +
           formatted("%.2f", row.time) + " | " + deer_says(report) + " |\n";
  }
  return out;
}

}  // namespace truth
