// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/options.hpp>

namespace elaphos {

SolveOptions deer_defaults() {
  SolveOptions options;
  options.tolerance = Tolerance{1e-5, 0};
  options.merge = Merge::tolerance;
  options.method = Method::newton;
  options.steps_per_segment = 1;
  options.max_iterations = 5;
  options.at_limit = AtLimit::return_iterate;
  options.sensitivity_limit = 10;
  return options;
}

std::string to_string(Method method) {
  switch (method) {
    case Method::automatic: return "automatic";
    case Method::newton: return "newton";
    case Method::quasi_newton: return "quasi_newton";
    case Method::block_quasi_newton: return "block_quasi_newton";
    case Method::jacobi: return "jacobi";
    case Method::levenberg_marquardt: return "levenberg_marquardt";
    case Method::quasi_levenberg_marquardt: return "quasi_levenberg_marquardt";
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
