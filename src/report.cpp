// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "format.hpp"

#include <elaphos/report.hpp>

#include <cmath>
#include <ostream>
#include <utility>

namespace elaphos {

namespace {

std::string json(double number) {
  if (std::isnan(number)) return "\"nan\"";
  return std::isfinite(number) ? impl::format("{}", number) : impl::format("\"{}\"", number);
}

}  // namespace

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

NotConverged::NotConverged(SolveReport of)
    : std::runtime_error(impl::format("Elaphos::solve: not converged after {} passes, max residual {:.3g}, error estimate "
                                     "{:.3g}; options.max_iterations or options.at_limit decide what happens then",
                                     of.iterations(), of.max_residual, of.error_estimate)),
      report(std::move(of)) {}

std::string to_string(SolveStatus status) {
  switch (status) {
    case SolveStatus::running: return "running";
    case SolveStatus::converged: return "converged";
    case SolveStatus::completed_sequentially: return "completed sequentially";
    case SolveStatus::iteration_limit: return "iteration limit";
    case SolveStatus::stopped: return "stopped";
  }
  return "unknown";
}

std::ostream& operator<<(std::ostream& out, const SolveReport& report) {
  out << impl::format("status          {}{}\n", to_string(report.status), report.stalled ? ", as passes stalled" : "");
  out << impl::format("plan            {} segments of {} steps, sensitivity {}{}, merge {}\n", report.plan.segments,
                     report.plan.steps_per_segment, to_string(report.plan.sensitivity),
                     report.plan.damped ? ", damped" : "", to_string(report.plan.merge));
  if (report.windows > 1) out << impl::format("windows         {}\n", report.windows);
  out << impl::format("iterations      {}\n", report.iterations());
  for (const Escalation& to : report.escalations) {
    out << impl::format("escalated       after {} to {} segments, sensitivity {}{}\n", to.after, to.segments,
                       to_string(to.sensitivity), to.damped ? ", damped" : "");
  }
  out << impl::format("work factor     {:.3f}\n", report.work_factor());
  out << impl::format("critical path   {} steps of {}\n", report.critical_path(), report.steps);
  out << impl::format("max residual    {:.3g}\n", report.max_residual);
  out << impl::format("error estimate  {:.3g}\n", report.error_estimate);
  if (report.verified_residual) out << impl::format("verified        {:.3g}\n", *report.verified_residual);
  if (report.growth_rate) out << impl::format("growth rate     {:.3g} a step\n", *report.growth_rate);
  if (report.clamped > 0) out << impl::format("clamped         {} entries of sensitivities\n", report.clamped);
  if (report.clipped > 0) out << impl::format("clipped         {} entries of corrections\n", report.clipped);
  if (report.first_non_finite) {
    out << impl::format("not finite      first at t = {}, b = {}\n", report.first_non_finite->t,
                       report.first_non_finite->b);
  }
  if (report.seconds) {
    out << impl::format("seconds         propagate {:.3g}, correct {:.3g}, complete {:.3g}, verify {:.3g}\n",
                       report.seconds->propagate, report.seconds->correct, report.seconds->complete,
                       report.seconds->verify);
  }
  return out;
}

std::string to_json(const SolveReport& report) {
  std::string passes;
  for (const PassReport& pass : report.passes) {
    passes += impl::format(R"({}{{"active_segments":{},"steps":{},"longest_run":{},"max_correction":{}}})",
                          passes.empty() ? "" : ",", pass.active_segments, pass.steps, pass.longest_run,
                          json(pass.max_correction));
  }
  std::string escalations;
  for (const Escalation& to : report.escalations) {
    escalations += impl::format(R"({}{{"after":{},"segments":{},"sensitivity":"{}","damped":{}}})",
                               escalations.empty() ? "" : ",", to.after, to.segments, to_string(to.sensitivity), to.damped);
  }
  std::string verified = "null", growth = "null", non_finite = "null", seconds = "null";
  if (report.verified_residual) verified = json(*report.verified_residual);
  if (report.growth_rate) growth = json(*report.growth_rate);
  if (report.first_non_finite) {
    non_finite = impl::format(R"({{"t":{},"b":{}}})", report.first_non_finite->t, report.first_non_finite->b);
  }
  if (report.seconds) {
    seconds =
        impl::format(R"({{"propagate":{},"correct":{},"complete":{},"verify":{}}})", json(report.seconds->propagate),
                    json(report.seconds->correct), json(report.seconds->complete), json(report.seconds->verify));
  }
  return impl::format(
      R"({{"status":"{}","stalled":{},"plan":{{"segments":{},"steps_per_segment":{},"sensitivity":"{}","damped":{},"merge":"{}"}},)"
      R"("windows":{},"iterations":{},"work_factor":{},"critical_path":{},"steps":{},"total_steps":{},"completion_steps":{},)"
      R"("longest_completion":{},"clamped":{},"clipped":{},"max_residual":{},"error_estimate":{},"verified_residual":{},"growth_rate":{},"first_non_finite":{},)"
      R"("seconds":{},"escalations":[{}],"passes":[{}]}})",
      to_string(report.status), report.stalled, report.plan.segments, report.plan.steps_per_segment,
      to_string(report.plan.sensitivity), report.plan.damped, to_string(report.plan.merge), report.windows, report.iterations(), json(report.work_factor()),
      report.critical_path(), report.steps, report.total_steps, report.completion_steps, report.longest_completion,
      report.clamped, report.clipped, json(report.max_residual), json(report.error_estimate), verified, growth, non_finite, seconds, escalations, passes);
}

}  // namespace elaphos
