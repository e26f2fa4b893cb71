// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/errors.hpp>
#include <elaphos/impl/divide_up.hpp>
#include <elaphos/plan.hpp>

#include <algorithm>
#include <string>

namespace elaphos {

namespace {

using impl::divide_up;

// Below this many steps the loop is over before a second thread has woken up.
constexpr std::int64_t shortest_parallel = 128;
// Segments much shorter than a typical merge (28 to 89 steps at PyTorch's initialisation) would be run twice in full.
constexpr std::int64_t shortest_segment = 192;
// From so many workers on, a device, more segments than workers no longer pay; a few threads want some to balance by.
constexpr std::int64_t many_workers = 256;
constexpr std::int64_t segments_per_thread = 4;
// Up to this state size a dense product costs about as much as the step itself, and sees what couples the states.
constexpr int dense_up_to = 4;

std::int64_t automatic_segments(const PlanRequest& request) {
  if (request.steps < shortest_parallel || request.parallel_workers <= 1) return 1;
  const bool device = request.parallel_workers >= many_workers;
  if (request.batch >= request.parallel_workers) return 1;
  const std::int64_t wanted = request.parallel_workers * (device ? 1 : segments_per_thread);
  const std::int64_t most = std::max<std::int64_t>(request.steps / shortest_segment, 1);
  return std::min(divide_up(wanted, request.batch), most);
}

// Exact merges need a recurrence that forgets within a segment, and then no node needs more than its predecessor's end. A
// tolerance also serves longer memories, and cannot be judged without sensitivities.
Method automatic_method(const PlanRequest& request, Merge merge) {
  if (!request.has_jacobian || merge == Merge::exact) return Method::jacobi;
  return request.state_size <= dense_up_to ? Method::newton : Method::quasi_newton;
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
  if (sensitivity_of(method) != Sensitivity::none && !request.has_jacobian) {
    throw InvalidArgument("options.method", to_string(method),
                          "jacobi or automatic: the recurrence has no jacobian()");
  }
  if (method == Method::block_quasi_newton && !request.has_jacobian_blocks) {
    throw InvalidArgument("options.method", to_string(method), "another one: the recurrence names no jacobian_blocks");
  }
}

}  // namespace

Plan make_plan(const PlanRequest& request, const SolveOptions& options) {
  Plan plan;
  plan.merge = options.merge;
  check_method(request, options.method);
  const Method method = options.method == Method::automatic ? automatic_method(request, options.merge) : options.method;
  plan.sensitivity = sensitivity_of(method);
  plan.damped = method == Method::levenberg_marquardt || method == Method::quasi_levenberg_marquardt;
  // A tolerance cannot be judged without derivatives, so merges are exact then.
  if (!request.has_jacobian) plan.merge = Merge::exact;
  if (request.steps == 0 || request.batch == 0) return plan;
  if (options.steps_per_segment > 0) {
    plan.steps_per_segment = std::min(options.steps_per_segment, request.steps);
  } else {
    const std::int64_t segments = options.segments > 0 ? options.segments : automatic_segments(request);
    plan.steps_per_segment = divide_up(request.steps, std::min(segments, request.steps));
  }
  plan.segments = divide_up(request.steps, plan.steps_per_segment);
  if (plan.segments == 1) {  // there is no node to correct
    plan.sensitivity = Sensitivity::none;
    plan.damped = false;
  }
  return plan;
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
