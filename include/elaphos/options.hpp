// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_OPTIONS_HPP
#define ELAPHOS_OPTIONS_HPP

#include <elaphos/method.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace elaphos {

struct SolveReport;

/// \brief Elementwise tolerance: a number v may be off by `absolute` + `relative` * |v|. Both finite and >= 0, one > 0.
struct Tolerance {
  double absolute;
  double relative;

  /// \brief 1e-6 for both in double, 1e-5 in float.
  template <class Scalar>
  static constexpr Tolerance default_for() {
    return sizeof(Scalar) >= sizeof(double) ? Tolerance{1e-6, 1e-6} : Tolerance{1e-5, 1e-5};
  }
};

/// \brief When a re-propagated segment may stop early, because its trajectory has met the stored one.
enum class Merge {
  exact,     ///< bitwise equal states: the answer is the sequential loop's, bit for bit
  tolerance  ///< difference far under the tolerance and shrinking: the answer is right within the tolerance
};

/// \brief What happens when `max_iterations` passes were not enough.
enum class AtLimit {
  complete_sequentially,  ///< run the loop from the last exact node to the end: the answer is exact
  return_iterate,         ///< give back the last iterate, its residual, and the status `iteration_limit`
  throw_exception         ///< the same, thrown as `NotConverged`
};

/// \brief Where the nodes, the states in which segments begin, start from. Guesses that are not finite count as y_0.
enum class InitialGuess {
  initial_state,  ///< y_0 for all
  zeros,          ///< 0
  trajectory      ///< what y holds when `solve` is called: an earlier answer, or a cheaper model's
};

/// \brief What a solve may be told; every default is safe.
struct SolveOptions {
  std::optional<Tolerance> tolerance{};  ///< absent: `Tolerance::default_for` the scalar
  Merge merge = Merge::exact;
  Method method = Method::automatic;
  std::int64_t segments = 0;           ///< N, clamped to the number of steps; 0: the planner chooses
  std::int64_t steps_per_segment = 0;  ///< S; 0: from N; give one of the two at most
  int max_iterations = 32;             ///< propagate passes before `at_limit` applies; >= 1
  AtLimit at_limit = AtLimit::complete_sequentially;
  /// Entries of the sensitivities beyond this are cut to it, and counted in the report; > 0. With one step per segment
  /// these are the Jacobian's entries.
  double sensitivity_limit = std::numeric_limits<double>::infinity();
  /// What a correction adds to a node is cut, entry by entry, to this, and counted in the report; > 0. A pass in which
  /// any was cut is not taken for the last one.
  double correction_limit = std::numeric_limits<double>::infinity();
  bool stop_when_stalled = true;  ///< exact merges: complete sequentially as soon as further passes would cost more
  InitialGuess initial_guess = InitialGuess::initial_state;
  /// W: so many steps are solved together, window after window, so that memory does not grow with T; 0: all. Each window
  /// has its own plan and starts from the end of the one before.
  std::int64_t window_steps = 0;
  /// k: y holds ceil(T / k) states, those after steps k, 2 k, ... and T; with k >= T the final one alone. With k > 1 the
  /// solve goes by windows, of a moderate size if none is given.
  std::int64_t keep_every = 1;
  std::int64_t steps = 0;  ///< T, where there is no input and not all states are kept; 0: as x or y says
  /// Called on the host after every pass with the report so far; returns whether to go on. When it says no, y is the last
  /// iterate and the status `stopped`. What it throws leaves `solve`; y is then of no use, the workspace is.
  std::function<bool(const SolveReport& so_far)> observer{};
  /// With dense sensitivities (`newton`, `levenberg_marquardt`): how fast the recurrence amplifies, see
  /// `SolveReport::growth_rate`.
  bool estimate_growth = false;
  bool verify = false;        ///< one more sweep measures max |y_t - f(y_{t-1}, x_t)|
  bool measure_time = false;  ///< seconds per phase; fences the caller's instance between phases
};

/// \brief DEER as published: Newton's method on every step, dense, until max |new y - old y| < 1e-5 or for 5 iterations,
/// the Jacobian's entries cut to +-10; at the limit the last iterate with its residual. (Lim et al., ICLR 2024.)
///
/// To compare with. Its T D^2 numbers are held at once; `SolveOptions{}` needs less memory and fewer passes.
SolveOptions deer_defaults();

std::string to_string(Merge merge);
std::string to_string(InitialGuess guess);

}  // namespace elaphos

#endif
