// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_TEAM_RECURRENCE_HPP
#define ELAPHOS_TEAM_RECURRENCE_HPP

#include <elaphos/batched_recurrence.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>

namespace elaphos {

/// \brief What a recurrence must offer whose step a Kokkos team takes together: for states of tens to thousands of
/// numbers, too large for a thread.
///
/// - `scalar_type`: float or double; `state_size()` (D >= 1) and `input_size()` (I >= 0), which do not change during a
/// solve;
/// - `team_step(member, at, y, x, next)`, const and callable on the device, by all threads of the team: reads y[0..D)
/// and
///   x[0..I), writes next[0..D). y and next are in the team's scratch memory. All threads see y when it is called, and
///   the library waits for all before it reads next; in between, barriers are the recurrence's own affair. It has no
///   side effects, and the bits of next depend on nothing but y, x, t and b;
///
/// Two states must fit in a team's scratch memory (level 0); else `solve` throws `InvalidArgument`. On a device a team
/// has D threads, rounded up to a power of two from 32 to 256; on a host it is one thread. The object is copied into
/// kernels; it may hold Views. Declare `member` and the arrays `auto`.
template <class R, class ExecutionSpace = Kokkos::DefaultExecutionSpace>
concept TeamRecurrence = std::copyable<R> && impl::HasRunTimeSizes<R> &&
    requires(const R& recurrence, const typename Kokkos::TeamPolicy<ExecutionSpace>::member_type& member,
             StepContext at, const typename R::scalar_type* in, typename R::scalar_type* next) {
  recurrence.team_step(member, at, in, in, next);
};

}  // namespace elaphos

#endif
