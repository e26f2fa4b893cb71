// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/options.hpp>

namespace elaphos {

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
