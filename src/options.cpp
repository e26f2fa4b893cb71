// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/options.hpp>

namespace elaphos {

SolveOptions deer_defaults() {
  SolveOptions options;
  options.tolerance = Tolerance{1e-5, 0};
  options.merge = Merge::tolerance;
  options.sensitivity = Sensitivity::dense;
  options.steps_per_segment = 1;
  options.max_iterations = 5;
  options.at_limit = AtLimit::return_iterate;
  options.sensitivity_limit = 10;
  return options;
}

std::string to_string(Sensitivity sensitivity) {
  switch (sensitivity) {
    case Sensitivity::automatic: return "automatic";
    case Sensitivity::none: return "none";
    case Sensitivity::diagonal: return "diagonal";
    case Sensitivity::dense: return "dense";
  }
  return "unknown";
}

std::string to_string(Merge merge) { return merge == Merge::exact ? "exact" : "tolerance"; }

std::string to_string(InitialGuess guess) {
  switch (guess) {
    case InitialGuess::initial_state: return "initial state";
    case InitialGuess::zeros: return "zeros";
    case InitialGuess::trajectory: return "trajectory";
  }
  return "unknown";
}

}  // namespace elaphos
