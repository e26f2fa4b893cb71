// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_HOST_GROUPS_HPP
#define ELAPHOS_SRC_CELLS_GATED_HOST_GROUPS_HPP

#include "gated_host_kernel.hpp"
#include "gated_interleaved_kernel.hpp"
#include "gated_lanes_kernel.hpp"

#include <elaphos/impl/lockstep.hpp>
#include <elaphos/impl/propagator.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// What a step of a group of lanes costs, in steps of one segment alone: measured on one thread of an Intel Xeon, with
/// GRUs, and with minimal ones, whose steps are so short alone. A segment alone waits for its gates; a wider one has
/// arithmetic enough to do meanwhile; of the widest all lanes share the weights that come from the second-level cache.
template <class Gates, class Scalar>
double cost_of_lanes(int hidden_size) {
  constexpr bool is_float = sizeof(Scalar) == 4;
  const double H = hidden_size;
  if (!Gates::recurrent) return (4 + 3 * H) * group_lanes<Scalar> / 32;
#if defined(__AVX512F__)
  if (is_float) return hidden_size > 40 ? 17.0 : hidden_size > 16 ? 31.0 : std::min(1.2 + 1.7 * H, 22.0);
  return hidden_size > 40 ? 9.0 : std::min(1.2 + 1.6 * H, 13.5);
#elif defined(__FMA__)
  return is_float ? 1 + 2.5 * H : 1 + 3.2 * H;
#else
  return (2 + 6 * H) * group_lanes<Scalar> / 32;
#endif
}

/// How many segments a thread takes together, and what that gains: by `GatedInterleavedKernel` where that is compiled,
/// measured with GRUs, else in lanes.
template <class Gates, class Scalar>
Lockstep host_lockstep(const PackedWeights<Scalar>& weights, int width) {
  const bool whole = weights.head_size == weights.hidden_size;
  const bool interleaved = (width == 16 && GatedInterleavedKernel<Gates, Scalar, 16>::is_compiled) ||
                           (width == 32 && GatedInterleavedKernel<Gates, Scalar, 32>::is_compiled);
  if (whole && interleaved) return {segments_interleaved, longest_vector<Scalar> * sizeof(Scalar) > 32 ? 1.4 : 1.1};
  return {group_lanes<Scalar>, group_lanes<Scalar> / cost_of_lanes<Gates, Scalar>(weights.hidden_size)};
}

/// Advances segments of a gated cell on a host: a thread takes some together, or one after another. The only place that
/// knows which.
template <class Gates, class Scalar, int Width>
struct GatedHostGroups {
  using Interleaved = GatedInterleavedKernel<Gates, Scalar, Width>;

  GatedHostKernel<Gates, Scalar, Width> alone;
  GatedLanesKernel<Gates, Scalar> lanes;
  LockstepGroups groups;

  GatedHostGroups(const PackedWeights<Scalar>& weights, const GatedUnit<Gates, Scalar>& unit,
                  const SegmentArguments<Scalar>& arguments, std::int64_t threads)
      : alone{weights, unit, arguments},
        lanes{{weights, Width, unit}, arguments},
        groups(arguments.active_count, threads, interleaves() ? 4 * segments_interleaved : group_lanes<Scalar>) {
    const std::int64_t share = divide_up(arguments.active_count, groups.count);
    const bool together = interleaves() ? share > 1 : lanes.fits() && lanes_pay(share);
    // Threads take segments one by one: they merge after different numbers of steps.
    if (!lockstep_takes(arguments) || !together) groups.count = arguments.active_count;
  }

  void operator()(std::int64_t group) const {
    if (groups.count == alone.arguments.active_count) return alone(group);
    const ActiveShare share = groups.share(alone.arguments, group);
    const std::int64_t count = share.last - share.first;
    if constexpr (Interleaved::is_compiled) {
      if (interleaves() && count > 1) return Interleaved{alone.weights, alone.unit_step, alone.arguments}.advance(share);
    }
    // Lanes stand idle from their merges on until the last one's, about half of the time.
    if (!interleaves() && count > 0 && lanes_pay(may_merge(share) ? count / 2 : count)) return lanes.advance(share);
    for (std::int64_t index = share.first; index < share.last; ++index) alone(index);
  }

 private:
  bool interleaves() const {
    return Interleaved::is_compiled && alone.weights.head_size == alone.weights.hidden_size;
  }

  bool lanes_pay(std::int64_t segments) const {
    return static_cast<double>(segments) > cost_of_lanes<Gates, Scalar>(alone.weights.hidden_size);
  }

  bool may_merge(const ActiveShare& share) const {
    return alone.arguments.pass == Pass::propagate &&
           alone.arguments.records[alone.arguments.active[share.first]].visited != 0;
  }
};

}  // namespace elaphos::impl

#endif
