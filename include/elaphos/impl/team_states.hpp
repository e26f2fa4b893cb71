// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_TEAM_STATES_HPP
#define ELAPHOS_IMPL_TEAM_STATES_HPP

#include <elaphos/impl/input_blocks.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/runs_on_host.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// What a team does with a state of any size, a thread an entry. All threads of the team call these together.
namespace elaphos::impl {

/// Threads of a team for states of this size; a power of two.
template <class ExecutionSpace>
int threads_for_state(int state_size) {
  int threads = runs_on_host<ExecutionSpace> ? 1 : 32;
  const int most = runs_on_host<ExecutionSpace> ? 1 : 256;
  while (threads < state_size && threads < most) threads *= 2;
  return threads;
}

template <class Member, class Scalar>
KOKKOS_INLINE_FUNCTION void team_copy(const Member& team, const std::type_identity_t<Scalar>* from, Scalar* to,
                                      std::int64_t count) {
  Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), [&](std::int64_t i) { to[i] = from[i]; });
}

template <class Member, class Scalar>
KOKKOS_INLINE_FUNCTION void team_copy_input(const Member& team, const InputBlocks<Scalar>& inputs, std::int64_t entry,
                                            Scalar* to) {
  for (int block = 0; block < inputs.count; ++block) {
    team_copy(team, inputs.row(block, entry), to, inputs.sizes[block]);
    to += inputs.sizes[block];
  }
}

/// The input of an entry: where it stands, or, if that is in several places, gathered into `room` (I numbers).
template <class Member, class Scalar>
KOKKOS_INLINE_FUNCTION const Scalar* team_input(const Member& team, const InputBlocks<Scalar>& inputs,
                                                std::int64_t entry, Scalar* room) {
  if (inputs.count == 1) return inputs.row(0, entry);
  team_copy_input(team, inputs, entry, room);
  team.team_barrier();
  return room;
}

/// The largest of `number(i)`, none of which is negative or NaN. All threads get the answer.
template <class Scalar, class Member, class Number>
KOKKOS_INLINE_FUNCTION Scalar team_largest(const Member& team, std::int64_t count, const Number& number) {
  Scalar all = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(team, count),
      [&](std::int64_t i, Scalar& largest) {
        const Scalar own = number(i);
        if (own > largest) largest = own;
      },
      Kokkos::Max<Scalar>(all));
  return all;
}

/// Whether two states have the same bits, as exact merges ask for; no distances. All threads get the answer.
template <class Member, class Scalar>
KOKKOS_INLINE_FUNCTION StateDifference<Scalar> team_difference(const Member& team, const Scalar* now,
                                                               const Scalar* stored, std::int64_t count) {
  std::int64_t different = 0;
  Kokkos::parallel_reduce(
      Kokkos::TeamThreadRange(team, count),
      [&](std::int64_t i, std::int64_t& sum) { sum += same_bits(now[i], stored[i]) ? 0 : 1; }, different);
  StateDifference<Scalar> difference;
  difference.identical = different == 0;
  return difference;
}

/// The same with distances, as merges within a tolerance ask for.
template <class Member, class Scalar>
KOKKOS_INLINE_FUNCTION StateDifference<Scalar> team_difference(const Member& team, const Scalar* now,
                                                               const Scalar* stored, std::int64_t count,
                                                               Scalar absolute_tolerance, Scalar relative_tolerance) {
  StateDifference<Scalar> all = team_difference(team, now, stored, count);
  if (all.identical) return all;
  const auto of = [&](std::int64_t i) {
    StateDifference<Scalar> own;
    own.add(now[i], stored[i], absolute_tolerance, relative_tolerance);
    return own;
  };
  all.scaled = team_largest<Scalar>(team, count, [&](std::int64_t i) { return of(i).scaled; });
  all.absolute = team_largest<Scalar>(team, count, [&](std::int64_t i) { return of(i).absolute; });
  return all;
}

/// The largest difference between two states; infinite where it is not a number. All threads get the answer.
template <class Member, class Scalar>
KOKKOS_INLINE_FUNCTION Scalar team_distance(const Member& team, const Scalar* now, const Scalar* stored,
                                            std::int64_t count) {
  return team_largest<Scalar>(team, count, [&](std::int64_t i) {
    StateDifference<Scalar> difference;
    difference.add(now[i], stored[i], Scalar(1), Scalar(0));
    return difference.absolute;
  });
}

}  // namespace elaphos::impl

#endif
