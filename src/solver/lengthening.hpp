// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_LENGTHENING_HPP
#define ELAPHOS_SRC_SOLVER_LENGTHENING_HPP

#include "node_arguments.hpp"

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/plan.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

namespace elaphos::impl {

// Exact merges without sensitivities: every pass brings the nodes closer by what a segment forgets. Short segments need
// no more steps one after another than long ones, but more passes, and these are limited.

/// Passes until differences are in the last bits, as two passes tell; `before` and `now` are largest differences over
/// their tolerance. Infinite where nothing is forgotten.
inline double passes_to_last_bits(double before, double now, double last_bits) {
  const double left = now / before;
  if (!(left > 0 && left < 1)) return std::numeric_limits<double>::infinity();
  return std::log(last_bits / now) / std::log(left);
}

/// How many times as long segments have to be for `passes_left` passes to become few; 1 where that would not pay beside
/// the loop, or `most_passes` more are enough or too few for it.
inline std::int64_t lengthening(const Plan& plan, std::int64_t steps, double passes_left, int most_passes) {
  constexpr double few = 6;
  constexpr std::int64_t fewest_segments = 4;
  if (!(passes_left > most_passes) || std::isinf(passes_left) || most_passes < few + 2) return 1;
  const std::int64_t factor = static_cast<std::int64_t>(std::ceil(passes_left / few));
  const double one_after_another = static_cast<double>(plan.steps_per_segment) * (static_cast<double>(factor) + passes_left);
  if (2 * one_after_another > static_cast<double>(steps)) return 1;
  return divide_up(plan.segments, factor) < fewest_segments ? 1 : factor;
}

/// Every so-many-th node becomes the node of a longer segment that has no past. One (n, b) of the longer ones an index.
template <class Scalar>
struct LengthenSegments {
  NodeArguments<Scalar> nodes;  // of the longer segments, not filled in yet
  const Scalar* shorter;        // nodes of the segments up to now
  std::int64_t factor;

  KOKKOS_FUNCTION void operator()(std::int64_t flat) const {
    const int D = nodes.state_size();
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
    const Scalar* from = shorter + (n * factor * nodes.batch() + b) * D;
    for (int i = 0; i < D; ++i) nodes.nodes[flat * D + i] = from[i];
    nodes.segments.records[flat] = SegmentRecord<Scalar>{};
    nodes.active[flat] = flat;
    nodes.active_flags[flat] = Activity::active_now;
    if (n == 0) nodes.reset_next_frontier(b);
  }
};

}  // namespace elaphos::impl

#endif
