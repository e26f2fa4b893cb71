// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PLAN_HPP
#define ELAPHOS_PLAN_HPP

#include <elaphos/options.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace elaphos {

/// \brief What each segment carries as the derivative of its end with respect to its start.
enum class Sensitivity {
  none,      ///< 0: right where the recurrence forgets within a segment
  diagonal,  ///< product of the Jacobians' diagonals
  block,     ///< product of the Jacobians' diagonal blocks
  dense      ///< product of the Jacobians
};

/// \brief How a solve cuts time: `segments` (N) per sequence of `steps_per_segment` (S) steps, the last may be shorter.
struct Plan {
  std::int64_t segments = 0;
  std::int64_t steps_per_segment = 0;
  Sensitivity sensitivity = Sensitivity::none;
  bool damped = false;  ///< nodes move by damped corrections (Levenberg-Marquardt)
  Merge merge = Merge::exact;
};

/// \brief What a planner needs to know of the problem and of the execution space.
struct PlanRequest {
  std::int64_t steps;             ///< T
  std::int64_t batch;             ///< B
  int state_size;                 ///< D
  std::int64_t parallel_workers;  ///< segments that the execution space advances at the same time, one a worker
  bool has_jacobian;              ///< sensitivities other than `none` are possible
  bool has_jacobian_times = false;   ///< the quasi methods are possible, by an estimate of the diagonal
  bool has_jacobian_blocks = false;  ///< `Method::block_quasi_newton` is possible
  /// "host", "cuda 9.0", ...: a row of the planner's table; of others nothing is known. `plan_request` fills it in.
  std::string architecture = "host";
  double jacobian_cost = 1;  ///< of one Jacobian, in steps
  int lanes = 1;         ///< segments that one worker advances together where no sensitivities are carried
  double lane_gain = 1;  ///< how many times faster that is than one after another
  bool has_jacobian_diagonal = false;  ///< the quasi methods are possible, and no others
};

/// \brief Chooses N, S and the method; what `options` fixes is kept.
///
/// The same request and options give the same plan. Where parallelism over time cannot pay (few steps, a single
/// worker, as many sequences as workers), one segment, the sequential loop, is chosen. Throws `InvalidArgument` for
/// options that contradict each other or the problem.
Plan make_plan(const PlanRequest& request, const SolveOptions& options);

/// \brief What an automatic solve to a tolerance goes on with, in this order, when passes of `plan` no longer help: more
/// of the derivative where that is affordable, then damping. Empty where the caller has fixed the method.
std::vector<Plan> escalations(const PlanRequest& request, const SolveOptions& options, const Plan& plan);

/// \brief The same plan in words: what was chosen and why, a line a choice.
std::string explain(const PlanRequest& request, const SolveOptions& options);

std::string to_string(Sensitivity sensitivity);

}  // namespace elaphos

#endif
