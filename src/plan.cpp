// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/errors.hpp>
#include <elaphos/impl/divide_up.hpp>
#include <elaphos/plan.hpp>

#include "planner_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace elaphos {

namespace {

using impl::divide_up;

struct Segments {
  std::int64_t count;
  std::string why;
};

Segments automatic_segments(const PlanRequest& request, const impl::PlannerThresholds& at) {
  const std::int64_t T = request.steps, B = request.batch, workers = request.parallel_workers;
  if (T < at.shortest_parallel) return {1, fmt::format("{} steps are over before others could help", T)};
  if (workers <= 1) return {1, "there is one worker"};
  if (B >= workers) return {1, fmt::format("{} sequences keep all {} workers busy", B, workers)};
  const std::int64_t wanted = divide_up(workers * at.segments_per_worker, B);
  const std::int64_t most = std::max<std::int64_t>(T / at.shortest_segment, 1);
  if (wanted <= most) return {wanted, fmt::format("{} for each of {} workers", at.segments_per_worker, workers)};
  return {most, fmt::format("shorter ones than {} steps would be run twice in full", at.shortest_segment)};
}

// Exact merges need a recurrence that forgets within a segment, and then no node needs more than its predecessor's end. A
// tolerance also serves longer memories, and cannot be judged without sensitivities.
Method automatic_method(const PlanRequest& request, Merge merge, const impl::PlannerThresholds& at) {
  if (!request.has_jacobian || merge == Merge::exact) return Method::jacobi;
  return request.state_size <= at.dense_up_to ? Method::newton : Method::quasi_newton;
}

Sensitivity sensitivity_of(Method method) {
  switch (method) {
    case Method::newton:
    case Method::levenberg_marquardt: return Sensitivity::dense;
    case Method::quasi_newton:
    case Method::quasi_levenberg_marquardt: return Sensitivity::diagonal;
    case Method::block_quasi_newton: return Sensitivity::block;
    case Method::automatic:
    case Method::jacobi: break;
  }
  return Sensitivity::none;
}

void check_method(const PlanRequest& request, Method method) {
  const Sensitivity wanted = sensitivity_of(method);
  if (!request.has_jacobian && wanted != Sensitivity::none &&
      !(request.has_jacobian_times && wanted == Sensitivity::diagonal)) {
    throw InvalidArgument("options.method", to_string(method),
                          request.has_jacobian_times ? "a quasi method, jacobi or automatic: there is only jacobian_times()"
                                                     : "jacobi or automatic: the recurrence has no jacobian()");
  }
  if (method == Method::block_quasi_newton && !request.has_jacobian_blocks) {
    throw InvalidArgument("options.method", to_string(method), "another one: the recurrence names no jacobian_blocks");
  }
}

std::string why_method(const PlanRequest& request, const Plan& plan, const impl::PlannerThresholds& at) {
  if (!request.has_jacobian) return "the recurrence has no Jacobian";
  if (plan.merge == Merge::exact) return "segments meet bit for bit where the recurrence forgets, and need no derivatives then";
  return request.state_size <= at.dense_up_to
             ? fmt::format("up to {} states a dense product is cheap", at.dense_up_to)
             : fmt::format("over {} states a dense product costs more than the step", at.dense_up_to);
}

struct Explained {
  Plan plan;
  std::string text;
};

Explained plan_in_words(const PlanRequest& request, const SolveOptions& options) {
  const impl::PlannerThresholds& at = impl::thresholds_of(request.architecture);
  check_method(request, options.method);
  Explained out;
  Plan& plan = out.plan;
  const auto say = [&](const std::string& line) { out.text += line + "\n"; };
  say(fmt::format("T = {}, B = {}, D = {}; {} workers, {} (thresholds from {})", request.steps, request.batch,
                  request.state_size, request.parallel_workers, request.architecture, at.measured));
  plan.merge = options.merge;
  const bool chosen = options.method == Method::automatic;
  const Method method = chosen ? automatic_method(request, options.merge, at) : options.method;
  plan.sensitivity = sensitivity_of(method);
  plan.damped = method == Method::levenberg_marquardt || method == Method::quasi_levenberg_marquardt;
  if (!request.has_jacobian && plan.sensitivity == Sensitivity::none) plan.merge = Merge::exact;
  say(fmt::format("merge {}: {}", to_string(plan.merge),
                  plan.merge == options.merge ? "as asked for" : "without derivatives no tolerance can be judged"));
  if (request.steps == 0 || request.batch == 0) {
    say("there is nothing to solve");
    return out;
  }
  std::string why = "as asked for";
  if (options.steps_per_segment > 0) {
    plan.steps_per_segment = std::min(options.steps_per_segment, request.steps);
  } else {
    Segments segments{options.segments, why};
    if (options.segments == 0) segments = automatic_segments(request, at);
    why = segments.why;
    plan.steps_per_segment = divide_up(request.steps, std::min(segments.count, request.steps));
  }
  plan.segments = divide_up(request.steps, plan.steps_per_segment);
  say(fmt::format("{} segments of {} steps a sequence: {}", plan.segments, plan.steps_per_segment, why));
  if (plan.segments == 1) {
    plan.sensitivity = Sensitivity::none;
    plan.damped = false;
    say("the sequential loop: there is no node to correct");
    return out;
  }
  say(fmt::format("method {}: {}", to_string(method), chosen ? why_method(request, plan, at) : "as asked for"));
  return out;
}

}  // namespace

Plan make_plan(const PlanRequest& request, const SolveOptions& options) {
  return plan_in_words(request, options).plan;
}

std::string explain(const PlanRequest& request, const SolveOptions& options) {
  return plan_in_words(request, options).text;
}

std::string to_string(Sensitivity sensitivity) {
  switch (sensitivity) {
    case Sensitivity::none: return "none";
    case Sensitivity::diagonal: return "diagonal";
    case Sensitivity::block: return "block";
    case Sensitivity::dense: return "dense";
  }
  return "unknown";
}

}  // namespace elaphos
