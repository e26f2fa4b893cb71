// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_QUEUED_REPORT_HPP
#define ELAPHOS_QUEUED_REPORT_HPP

#include <elaphos/report.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos {

/// \brief What `enqueue_solve` leaves behind, in a View that the execution space can reach; a `SolveReport` in brief.
struct QueuedReport {
  SolveStatus status = SolveStatus::running;  ///< `running` until the last kernel has run
  std::int32_t iterations = 0;                ///< propagate passes that had something to do
  std::int64_t steps_evaluated = 0;           ///< by the passes and the sequential completion
  std::int64_t critical_path = 0;             ///< steps that had to follow one another
  std::int64_t completion_steps = 0;          ///< steps of the sequential completion, all sequences together
  double max_residual = 0;                    ///< largest jump at a node or a merge; 0: y is a trajectory, bit for bit
  double error_estimate = 0;                  ///< largest last correction of a node
  double verified_residual = -1;              ///< max |y_t - f(y_{t-1}, x_t)|, with `SolveOptions::verify`; else -1
  NonFinite first_non_finite{-1, -1};         ///< where y is first not finite; (-1, -1): nowhere

  /// \brief Whether y is right: within tolerance, or exact.
  KOKKOS_FUNCTION bool converged() const {
    return status == SolveStatus::converged || status == SolveStatus::completed_sequentially;
  }
};

}  // namespace elaphos

#endif
