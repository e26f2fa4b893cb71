// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/report.hpp>

#include <fmt/format.h>

#include <ostream>

namespace elaphos {

double SolveReport::work_factor() const {
  if (total_steps == 0) return 1;
  std::int64_t evaluated = completion_steps;
  for (const PassReport& pass : passes) evaluated += pass.steps;
  return static_cast<double>(evaluated) / static_cast<double>(total_steps);
}

std::int64_t SolveReport::critical_path() const {
  std::int64_t path = longest_completion;
  for (const PassReport& pass : passes) path += pass.longest_run;
  return path;
}

std::string to_string(SolveStatus status) {
  switch (status) {
    case SolveStatus::converged: return "converged";
    case SolveStatus::completed_sequentially: return "completed sequentially";
    case SolveStatus::iteration_limit: return "iteration limit";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, const SolveReport& report) {
  out << fmt::format("status          {}{}\n", to_string(report.status), report.stalled ? ", as passes stalled" : "");
  out << fmt::format("plan            {} segments of {} steps, sensitivity {}, merge {}\n", report.plan.segments,
                     report.plan.steps_per_segment, to_string(report.plan.sensitivity), to_string(report.plan.merge));
  out << fmt::format("iterations      {}\n", report.iterations());
  out << fmt::format("work factor     {:.3f}\n", report.work_factor());
  out << fmt::format("critical path   {} steps of {}\n", report.critical_path(), report.steps);
  out << fmt::format("max residual    {:.3g}\n", report.max_residual);
  out << fmt::format("error estimate  {:.3g}\n", report.error_estimate);
  if (report.verified_residual) out << fmt::format("verified        {:.3g}\n", *report.verified_residual);
  if (report.first_non_finite) {
    out << fmt::format("not finite      first at t = {}, b = {}\n", report.first_non_finite->t,
                       report.first_non_finite->b);
  }
  if (report.seconds) {
    out << fmt::format("seconds         propagate {:.3g}, correct {:.3g}, complete {:.3g}, verify {:.3g}\n",
                       report.seconds->propagate, report.seconds->correct, report.seconds->complete,
                       report.seconds->verify);
  }
  return out;
}

}  // namespace elaphos
