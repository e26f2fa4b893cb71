// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LOCKSTEP_HPP
#define ELAPHOS_IMPL_LOCKSTEP_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/segment_arguments.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

// On hosts a thread may advance several segments step by step together, so that one's arithmetic fills the time that
// another's takes to become known. It does for each what the kernels do that take segments one by one, and those take what
// this cannot.

/// Whether segments of this problem may run in lockstep: the only place to say what they do not know of.
template <class Scalar>
bool lockstep_takes(const SegmentArguments<Scalar>& arguments) {
  return arguments.pass != Pass::verify && arguments.sensitivity == Sensitivity::none &&
         !arguments.problem.division.divided() && arguments.problem.inputs.count == 1;
}

/// A part of the list of active segments.
struct ActiveShare {
  std::int64_t first, last;
};

/// How the list of active segments falls to groups: even shares of at most `most` segments, as many for each thread.
struct LockstepGroups {
  std::int64_t count;

  LockstepGroups(std::int64_t active, std::int64_t threads, std::int64_t most)
      : count(threads * divide_up(active, threads * most)) {}

  template <class Scalar>
  ActiveShare share(const SegmentArguments<Scalar>& arguments, std::int64_t group) const {
    std::int64_t active = arguments.active_count;
    if (arguments.active_on_device != nullptr) active = std::min(active, *arguments.active_on_device);
    return {active * group / count, active * (group + 1) / count};
  }
};

}  // namespace elaphos::impl

#endif
