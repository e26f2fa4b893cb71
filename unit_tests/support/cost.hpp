// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_COST_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_COST_HPP

#include "transfer.hpp"

#include <elaphos/report.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>

namespace test {

/// Where time-parallelism does not pay, a solve by P workers costs no more than the loop, the first pass, which showed
/// that, and a tenth: in steps, of which each worker does one at a time.
inline void check_cost_without_gain(const elaphos::SolveReport& report) {
  const double workers = static_cast<double>(std::min<std::int64_t>(Exec().concurrency(), report.plan.segments));
  const auto steps_in_turn = [workers](std::int64_t steps, std::int64_t longest_run) {
    return std::max(static_cast<double>(steps) / workers, static_cast<double>(longest_run));
  };
  double cost = steps_in_turn(report.completion_steps, report.longest_completion);
  for (const auto& pass : report.passes) cost += steps_in_turn(pass.steps, pass.longest_run);
  CAPTURE(cost, workers, report.steps);
  CHECK(cost <= (1 + 1 / workers + 0.1) * static_cast<double>(report.steps));
}

}  // namespace test

#endif
