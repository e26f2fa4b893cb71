// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_HOST_GROUPS_HPP
#define ELAPHOS_SRC_CELLS_GATED_HOST_GROUPS_HPP

#include "gated_host_kernel.hpp"
#include "gated_lanes_kernel.hpp"

#include <elaphos/impl/lockstep.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// What a step of a group of lanes costs, in steps of one segment alone: measured with GRUs in float on one thread of an
/// Intel Xeon. A segment alone waits for its gates; a wide one has arithmetic enough to do meanwhile.
template <class Scalar>
double cost_of_lanes(int hidden_size) {
  return std::min(1.5 + 2.5 * hidden_size, 28.0) * group_lanes<Scalar> / 32;
}

/// Advances segments of a gated cell on a host: a thread takes a group of lanes, or one segment after another. The only
/// place that knows which.
template <class Gates, class Scalar, int Width>
struct GatedHostGroups {
  GatedHostKernel<Gates, Scalar, Width> alone;
  GatedLanesKernel<Gates, Scalar> together;
  LockstepGroups groups;

  GatedHostGroups(const PackedWeights<Scalar>& weights, const GatedUnit<Gates, Scalar>& unit,
                  const SegmentArguments<Scalar>& arguments, std::int64_t threads)
      : alone{weights, unit, arguments},
        together{{weights, Width, unit}, arguments},
        groups(arguments.active_count, threads, group_lanes<Scalar>) {
    const std::int64_t share = divide_up(arguments.active_count, groups.count);
    // Threads take segments one by one: they merge after different numbers of steps.
    if (!lockstep_takes(arguments) || !together.fits() || !pays(share)) groups.count = arguments.active_count;
  }

  void operator()(std::int64_t group) const {
    if (groups.count == alone.arguments.active_count) return alone(group);
    const ActiveShare share = groups.share(alone.arguments, group);
    const std::int64_t count = share.last - share.first;
    // Lanes stand idle from their merges on until the last one's, about half of the time.
    if (count > 0 && pays(may_merge(share) ? count / 2 : count)) return together.advance(share);
    for (std::int64_t index = share.first; index < share.last; ++index) alone(index);
  }

 private:
  bool pays(std::int64_t segments) const {
    return static_cast<double>(segments) > cost_of_lanes<Scalar>(together.step.weights.hidden_size);
  }

  bool may_merge(const ActiveShare& share) const {
    return alone.arguments.pass == Pass::propagate &&
           alone.arguments.records[alone.arguments.active[share.first]].visited != 0;
  }
};

}  // namespace elaphos::impl

#endif
