// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_REPORT_HPP
#define ELAPHOS_REPORT_HPP

#include <elaphos/plan.hpp>

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace elaphos {

/// \brief How a solve ended.
enum class SolveStatus {
  running,                 ///< not yet: as `SolveOptions::observer` sees it
  converged,               ///< every bit is the sequential loop's, or (tolerance merge) all tests are met
  completed_sequentially,  ///< passes stopped paying, or their limit came; the rest was run step by step and is exact
  iteration_limit,         ///< the limit came first and the last iterate was asked for: see `max_residual`
  stopped                  ///< `SolveOptions::observer` did not want to go on: y is the last iterate
};

/// \brief What one propagate pass did.
struct PassReport {
  std::int64_t active_segments = 0;  ///< segments advanced in this pass
  std::int64_t steps = 0;            ///< steps evaluated
  std::int64_t longest_run = 0;      ///< most steps that one segment ran
  double max_correction = 0;         ///< largest |new node - old node| that followed the pass
};

/// \brief A change of method on the way: passes of the one before no longer helped.
struct Escalation {
  int after;              ///< so many passes
  std::int64_t segments;  ///< N from then on
  Sensitivity sensitivity;
  bool damped;
};

/// \brief Where a non-finite number was first seen.
struct NonFinite {
  std::int64_t t;
  std::int64_t b;
};

/// \brief Seconds by phase; only with `SolveOptions::measure_time`.
struct PhaseSeconds {
  double propagate = 0;
  double correct = 0;
  double complete = 0;
  double verify = 0;
};

/// \brief What a solve did and how far its answer can be trusted.
struct SolveReport {
  SolveStatus status = SolveStatus::converged;
  Plan plan{};                            ///< with windows, the first one's
  std::int64_t windows = 1;               ///< solved one after another, see `SolveOptions::window_steps`
  std::vector<PassReport> passes{};       ///< one entry a propagate pass
  std::vector<Escalation> escalations{};  ///< in their order; `plan` is the last one's
  std::int64_t steps = 0;                 ///< T, the sequential loop's critical path
  std::int64_t total_steps = 0;           ///< T * B
  bool stalled = false;                   ///< completed sequentially because passes stopped paying, before the limit
  std::int64_t completion_steps = 0;      ///< steps of the sequential completion, all sequences together
  std::int64_t longest_completion = 0;    ///< its longest run
  std::int64_t clamped = 0;               ///< entries of sensitivities cut to `SolveOptions::sensitivity_limit`
  std::int64_t clipped = 0;               ///< entries of corrections cut to `SolveOptions::correction_limit`
  double max_residual = 0;                ///< largest jump at a node or a merge; 0: y is a trajectory, bit for bit
  double error_estimate = 0;              ///< largest last correction of a node
  std::optional<double> verified_residual{};  ///< max |y_t - f(y_{t-1}, x_t)|, with `SolveOptions::verify`
  /// Largest Lyapunov exponent of any sequence: natural logarithm of growth, per step; < 0: forgets, > 0: chaotic. With
  /// `SolveOptions::estimate_growth`; unknown without dense sensitivities, where a segment's product leaves the numbers'
  /// range (shorter segments help), and after a sequential completion, which carries none.
  std::optional<double> growth_rate{};
  std::optional<NonFinite> first_non_finite{};
  std::optional<PhaseSeconds> seconds{};

  /// \brief Whether y is right: within tolerance, or exact.
  bool converged() const {
    return status == SolveStatus::converged || status == SolveStatus::completed_sequentially;
  }
  /// \brief Number of propagate passes.
  int iterations() const { return static_cast<int>(passes.size()); }
  /// \brief Steps evaluated over T * B; 1 is the sequential loop's work.
  double work_factor() const;
  /// \brief Steps that had to follow one another: the sum over passes of the longest run.
  std::int64_t critical_path() const;
};

/// \brief A solve that ended at its limit with `AtLimit::throw_exception`; y holds the last iterate.
class NotConverged : public std::runtime_error {
 public:
  explicit NotConverged(SolveReport report);
  SolveReport report;
};

std::string to_string(SolveStatus status);

/// \brief Writes the report as a few lines of text.
std::ostream& operator<<(std::ostream& out, const SolveReport& report);

/// \brief The whole report as one JSON object. What was not measured is null; numbers that are not finite are the strings
/// "inf", "-inf" and "nan".
std::string to_json(const SolveReport& report);

}  // namespace elaphos

#endif
