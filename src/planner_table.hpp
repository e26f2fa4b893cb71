// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_PLANNER_TABLE_HPP
#define ELAPHOS_SRC_PLANNER_TABLE_HPP

#include <cstdint>
#include <string_view>

namespace elaphos::impl {

/// What the planner knows of an architecture. `perf_tests/tune_planner` measures a row.
struct PlannerThresholds {
  std::string_view architecture;
  std::int64_t shortest_parallel;    ///< below so many steps, the loop
  std::int64_t shortest_segment;     ///< steps: shorter ones would be run twice in full
  std::int64_t segments_per_worker;  ///< some to balance by, where workers are few
  int dense_up_to;                   ///< state size at which a dense product is still cheap
  std::string_view measured;
};

/// State size up to which every recurrence can carry dense products: a device holds them in a team's scratch.
inline constexpr int widest_dense = 32;

// Usual merges take 28 to 89 steps on average (GRUs at PyTorch's initialisation), and the slowest twice that.
inline constexpr PlannerThresholds planner_table[] = {
    {"host", 512, 256, 4, 4, "two threads of an AMD EPYC, 2026-11-30"},
    {"cuda 9.0", 512, 128, 1, 4, "NVIDIA H200, 2026-11-30"},
};

// No measurements: the loop up to 128 steps, and certainly parallel above 512.
inline constexpr PlannerThresholds unknown_device{"unknown device", 128, 192, 1, 4, "nothing"};

constexpr const PlannerThresholds& thresholds_of(std::string_view architecture) {
  for (const PlannerThresholds& row : planner_table) {
    if (row.architecture == architecture) return row;
  }
  return unknown_device;
}

}  // namespace elaphos::impl

#endif
