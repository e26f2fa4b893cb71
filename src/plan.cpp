// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/errors.hpp>
#include <elaphos/impl/divide_up.hpp>
#include <elaphos/plan.hpp>

#include "format.hpp"
#include "planner_table.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

namespace elaphos {

namespace {

using impl::divide_up;

// Whether the sequential loop is best, before anything is known of segments' lengths.
bool loop_is_best(const PlanRequest& request, const impl::PlannerThresholds& at) {
  return request.steps < at.shortest_parallel || request.parallel_workers <= 1 ||
         request.batch >= request.parallel_workers;
}

std::int64_t segments_for_workers(const PlanRequest& request, const impl::PlannerThresholds& at) {
  const std::int64_t all = request.parallel_workers * at.segments_per_worker;
  // Some a worker balance each other; of one a worker none may be left over for a second round.
  return at.segments_per_worker > 1 ? divide_up(all, request.batch) : std::max<std::int64_t>(1, all / request.batch);
}

std::int64_t most_segments(const PlanRequest& request, const impl::PlannerThresholds& at) {
  return std::max<std::int64_t>(request.steps / at.shortest_segment, 1);
}

// What a solve by so many segments a sequence takes, in steps of one segment alone: workers advance groups of lanes, or
// one segment after another where that is cheaper. Merges, the wait for the next pass and what lanes lose over sequences
// that no cache holds are estimates.
double lockstep_cost(const PlanRequest& request, const impl::PlannerThresholds& at, std::int64_t segments) {
  const std::int64_t a_worker = divide_up(segments * request.batch, request.parallel_workers);
  const double group = std::min(1.1 / request.lane_gain, 1.0) * request.lanes;
  const double a_step = static_cast<double>(a_worker / request.lanes) * group +
                        std::min(static_cast<double>(a_worker % request.lanes), group);
  const double pass = a_step * static_cast<double>(divide_up(request.steps, segments));
  const double shortest = static_cast<double>(at.shortest_segment), merge = 0.375 * shortest, wait = 0.5 * shortest;
  return segments == 1 ? pass : pass + merge * static_cast<double>(a_worker) + wait;
}

// A segment for each lane, or some for each worker, or the loop where neither is clearly better.
std::int64_t lockstep_segments(const PlanRequest& request, const impl::PlannerThresholds& at) {
  if (request.steps < at.shortest_parallel) return 1;
  std::int64_t best = 1;
  double least = 0.9 * lockstep_cost(request, at, 1);
  for (const std::int64_t wanted : {segments_for_workers(request, at),
                                    request.parallel_workers * request.lanes / std::max<std::int64_t>(request.batch, 1)}) {
    const std::int64_t segments = std::min(wanted, most_segments(request, at));
    if (segments <= 1 || lockstep_cost(request, at, segments) >= least) continue;
    least = lockstep_cost(request, at, segments);
    best = segments;
  }
  return best;
}

// As many steps or a few more: so many that the numbers that lanes read at the same time do not fall on the same few lines
// of a cache, which they do where they lie a power of two apart.
std::int64_t spread_in_cache(const PlanRequest& request, std::int64_t steps_per_segment) {
  const std::int64_t unit = 16 / std::gcd(std::int64_t(16), std::int64_t(request.state_size));  // of 16 numbers at least
  const std::int64_t units = divide_up(steps_per_segment, unit);
  return std::min(request.steps, unit * (units + (units % 2 == 0 ? 1 : 0)));
}

std::int64_t automatic_segments(const PlanRequest& request, const impl::PlannerThresholds& at) {
  if (request.lanes > 1) return lockstep_segments(request, at);
  if (loop_is_best(request, at)) return 1;
  return std::min(segments_for_workers(request, at), most_segments(request, at));
}

// One step that carries a sensitivity, in plain steps. A step is taken for a matrix-vector product.
double step_cost(const PlanRequest& request, Sensitivity sensitivity) {
  if (sensitivity == Sensitivity::none) return 1;
  return 1 + request.jacobian_cost + (sensitivity == Sensitivity::dense ? request.state_size : 0);
}

// Whether the two passes that a tolerance takes at least, both run in full, cost no more than the loop.
bool pays(const PlanRequest& request, Sensitivity sensitivity) {
  const double busy = static_cast<double>(std::min(request.batch, request.parallel_workers));
  return 2 * step_cost(request, sensitivity) * busy <= static_cast<double>(request.parallel_workers);
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
  const bool only_diagonal = request.has_jacobian_diagonal || request.has_jacobian_times;
  if (!request.has_jacobian && wanted != Sensitivity::none && !(only_diagonal && wanted == Sensitivity::diagonal)) {
    throw InvalidArgument("options.method", to_string(method),
                          only_diagonal ? "a quasi method, jacobi or automatic: of the Jacobian there is only the diagonal"
                                        : "jacobi or automatic: the recurrence has no jacobian()");
  }
  if (method == Method::block_quasi_newton && !request.has_jacobian_blocks) {
    throw InvalidArgument("options.method", to_string(method), "another one: the recurrence names no jacobian_blocks");
  }
}

std::string why_segments(const PlanRequest& request, const SolveOptions& options, const impl::PlannerThresholds& at) {
  if (options.segments > 0 || options.steps_per_segment > 0) return "as asked for";
  if (request.steps < at.shortest_parallel) {
    return impl::format("{} steps are over before others could help", request.steps);
  }
  if (request.lanes > 1) {
    const std::int64_t segments = lockstep_segments(request, at);
    if (segments == 1) return impl::format("{} sequences, {} workers of {} lanes: more would gain little",
                                           request.batch, request.parallel_workers, request.lanes);
    if (segments * request.batch > request.parallel_workers * at.segments_per_worker) {
      return impl::format("for {} workers of {} lanes", request.parallel_workers, request.lanes);
    }
  } else if (request.parallel_workers <= 1) {
    return "there is one worker";
  }
  if (request.lanes == 1 && loop_is_best(request, at)) {
    return impl::format("{} sequences keep all {} workers busy", request.batch, request.parallel_workers);
  }
  return segments_for_workers(request, at) <= most_segments(request, at)
             ? impl::format("{} for each of {} workers", at.segments_per_worker, request.parallel_workers)
             : impl::format("shorter ones than {} steps would be run twice in full", at.shortest_segment);
}

/// How nodes are corrected and segments merge, and why.
struct Choice {
  Method method;
  Merge merge;
  std::string_view why_method, why_merge;
};

// Exact merges need a recurrence that forgets within a segment, and then no node needs more than its predecessor's end. A
// tolerance also serves longer memories, and cannot be judged without sensitivities.
Choice choose(const PlanRequest& request, const SolveOptions& options, const impl::PlannerThresholds& at) {
  constexpr std::string_view asked = "as asked for";
  constexpr std::string_view no_jacobian = "the recurrence has no Jacobian";
  constexpr std::string_view meet = "segments meet bit for bit where the recurrence forgets, and need no derivatives then";
  const bool tolerance = options.merge == Merge::tolerance;
  if (options.method != Method::automatic) {
    const bool judged = request.has_jacobian || sensitivity_of(options.method) != Sensitivity::none;
    if (!tolerance || judged) return {options.method, options.merge, asked, asked};
    return {options.method, Merge::exact, asked, "without derivatives no tolerance can be judged"};
  }
  if (!tolerance) return {Method::jacobi, Merge::exact, request.has_jacobian ? meet : no_jacobian, asked};
  if (!request.has_jacobian) {
    if (request.has_jacobian_diagonal && pays(request, Sensitivity::diagonal)) {
      return {Method::quasi_newton, Merge::tolerance, "of the Jacobian there is only the diagonal", asked};
    }
    return {Method::jacobi, Merge::exact, no_jacobian, "without derivatives no tolerance can be judged"};
  }
  const bool small = request.state_size <= at.dense_up_to;
  if (options.segments > 0 || options.steps_per_segment > 0) {
    if (small) return {Method::newton, Merge::tolerance, "a dense product of so few states is cheap", asked};
    return {Method::quasi_newton, Merge::tolerance, "a dense product of so many states costs more than the step", asked};
  }
  if (small && pays(request, Sensitivity::dense)) {
    return {Method::newton, Merge::tolerance, "a dense product of so few states is cheap", asked};
  }
  if (pays(request, Sensitivity::diagonal)) {
    return {Method::quasi_newton, Merge::tolerance, "a dense product costs too much more than the step", asked};
  }
  return {Method::jacobi, Merge::exact, meet, "passes with derivatives would cost these workers more than the loop"};
}

}  // namespace

Plan make_plan(const PlanRequest& request, const SolveOptions& options) {
  check_method(request, options.method);
  const impl::PlannerThresholds& at = impl::thresholds_of(request.architecture);
  const Choice choice = choose(request, options, at);
  Plan plan;
  plan.merge = choice.merge;
  plan.sensitivity = sensitivity_of(choice.method);
  plan.damped = is_damped(choice.method);
  if (request.steps == 0 || request.batch == 0) return plan;
  if (options.steps_per_segment > 0) {
    plan.steps_per_segment = std::min(options.steps_per_segment, request.steps);
  } else {
    const std::int64_t segments = options.segments > 0 ? options.segments : automatic_segments(request, at);
    plan.steps_per_segment = divide_up(request.steps, std::min(segments, request.steps));
    if (request.lanes > 1 && segments > 1 && options.segments == 0) {
      plan.steps_per_segment = spread_in_cache(request, plan.steps_per_segment);
    }
  }
  plan.segments = divide_up(request.steps, plan.steps_per_segment);
  if (plan.segments == 1) {  // there is no node to correct
    plan.sensitivity = Sensitivity::none;
    plan.damped = false;
  }
  return plan;
}

std::vector<Plan> escalations(const PlanRequest& request, const SolveOptions& options, const Plan& plan) {
  std::vector<Plan> steps;
  if (options.method != Method::automatic || plan.merge == Merge::exact || plan.segments <= 1 || !request.has_jacobian) {
    return steps;
  }
  Plan next = plan;
  // Its segments then hold no more numbers than their stretch of y, and its passes cost no more than the loop.
  const bool affordable = request.state_size <= impl::widest_dense && request.state_size <= plan.steps_per_segment &&
                          pays(request, Sensitivity::dense);
  if (next.sensitivity != Sensitivity::dense && affordable) {
    next.sensitivity = Sensitivity::dense;
    steps.push_back(next);
  }
  next.damped = true;
  steps.push_back(next);
  return steps;
}

std::string explain(const PlanRequest& request, const SolveOptions& options) {
  const Plan plan = make_plan(request, options);
  const impl::PlannerThresholds& at = impl::thresholds_of(request.architecture);
  const Choice choice = choose(request, options, at);
  std::string text = impl::format(
      "T = {}, B = {}, D = {}; {} workers, {} (thresholds from {})\nmerge {}: {}\n", request.steps, request.batch,
      request.state_size, request.parallel_workers, request.architecture, at.measured, to_string(plan.merge), choice.why_merge);
  if (plan.segments == 0) return text + "there is nothing to solve\n";
  text += impl::format("{} segments of {} steps a sequence: {}\n", plan.segments, plan.steps_per_segment,
                      why_segments(request, options, at));
  if (plan.segments == 1) return text + "the sequential loop: there is no node to correct\n";
  return text + impl::format("method {}: {}\n", to_string(choice.method), choice.why_method);
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
