// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_TEAM_PROPAGATOR_HPP
#define ELAPHOS_IMPL_TEAM_PROPAGATOR_HPP

#include <elaphos/errors.hpp>
#include <elaphos/impl/batched_propagator.hpp>
#include <elaphos/impl/plain_step.hpp>
#include <elaphos/impl/step_site.hpp>
#include <elaphos/impl/team_scratch.hpp>
#include <elaphos/impl/team_states.hpp>
#include <elaphos/team_recurrence.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace elaphos::impl {

/// The one compiled step of a team recurrence, see plain_step.hpp.
template <class R, class Member>
ELAPHOS_IMPL_ONE_COPY KOKKOS_FUNCTION void plain_team_step(const R& recurrence, const Member& member, StepContext at,
                                                           const typename R::scalar_type* y,
                                                           const typename R::scalar_type* x,
                                                           typename R::scalar_type* next) {
  recurrence.team_step(member, at, y, x, next);
}

/// Scratch that two states and an input take: each is rounded up to 16 bytes, and so is the beginning.
template <class Scalar>
std::size_t step_scratch_bytes(int state_size, int input_size) {
  const std::size_t numbers = 2 * static_cast<std::size_t>(state_size) + static_cast<std::size_t>(input_size);
  return sizeof(Scalar) * numbers + 4 * 16;
}

/// Advances one segment a team: the state in scratch, a thread an entry. An input that stands in several places is
/// gathered there, too.
///
/// Per step it moves I + D numbers (x in, y out), D more when there is a trajectory to merge with, and evaluates f
/// once; one barrier, and a reduction where it may merge. Merges are exact: there is no Jacobian, and the plan knows
/// it.
template <class ExecutionSpace, class R>
struct TeamKernel {
  using Scalar = typename R::scalar_type;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  R recurrence;
  SegmentArguments<Scalar> arguments;

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    if (!arguments.has(member.league_rank())) return;
    const SegmentRange range = segment_range(arguments, member.league_rank());
    const TeamScratch scratch(member);
    const std::size_t D = static_cast<std::size_t>(arguments.problem.state_size);
    Scalar* state = scratch.template take<Scalar>(D);
    Scalar* next = scratch.template take<Scalar>(D);
    Scalar* room = scratch.template take<Scalar>(static_cast<std::size_t>(arguments.problem.inputs.size));
    if (arguments.pass == Pass::verify) {
      verify(member, range, state, next, room);
    } else {
      advance(member, range, state, next, room);
    }
  }

 private:
  KOKKOS_FUNCTION void advance(const Member& member, const SegmentRange& range, Scalar* state, Scalar* next,
                               Scalar* room) const {
    const Problem<Scalar>& problem = arguments.problem;
    const std::int64_t D = problem.state_size;
    SegmentRecord<Scalar>& record = arguments.records[range.flat];
    MergeTest<Scalar> test(record, Merge::exact);
    const bool may_merge = arguments.pass == Pass::propagate && test.possible();
    team_copy(member, arguments.nodes + range.flat * D, state, D);
    member.team_barrier();

    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    std::int64_t t = range.begin;
    bool merged = false;
    while (t < range.end && !merged) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      const StepSite<Scalar> site = cursor.site(t);
      if (site.beginning != nullptr) {
        // All have taken over the state that ends here.
        member.team_barrier();
        team_copy(member, site.beginning, state, D);
        member.team_barrier();
      }
      step(member, site, entry, state, next, room);
      Scalar* y = problem.y + entry * D;
      if (may_merge) merged = test.merged(team_difference(member, next, y, D));
      if (!merged) team_copy(member, next, y, D);
      Scalar* const old = state;
      state = next;
      next = old;
      ++t;
    }
    // All have read the record.
    member.team_barrier();
    Kokkos::single(Kokkos::PerTeam(member),
                   [&]() { record_run(record, t - range.begin, merged, Scalar(0), infinite<Scalar>()); });
  }

  KOKKOS_FUNCTION void verify(const Member& member, const SegmentRange& range, Scalar* state, Scalar* next,
                              Scalar* room) const {
    const Problem<Scalar>& problem = arguments.problem;
    const std::int64_t D = problem.state_size;
    Scalar residual = 0;
    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    for (std::int64_t t = range.begin; t < range.end; ++t) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      const StepSite<Scalar> site = cursor.site(t);
      team_copy(member, state_before(problem, site, range.sequence, t), state, D);
      member.team_barrier();
      step(member, site, entry, state, next, room);
      const Scalar distance = team_distance(member, next, problem.y + entry * D, D);
      if (distance > residual) residual = distance;
    }
    Kokkos::single(Kokkos::PerTeam(member), [&]() { arguments.records[range.flat].jump = residual; });
  }

  // Makes `next`, which all may read then.
  KOKKOS_FUNCTION void step(const Member& member, const StepSite<Scalar>& site, std::int64_t entry, const Scalar* state,
                            Scalar* next, Scalar* room) const {
    if (site.held) {
      team_copy(member, state, next, arguments.problem.state_size);
    } else {
      plain_team_step(recurrence, member, site.at, state, team_input(member, arguments.problem.inputs, entry, room),
                      next);
    }
    member.team_barrier();
  }
};

/// A recurrence of teams as one of batches: a team takes a row.
template <class R>
struct TeamBatch {
  using scalar_type = typename R::scalar_type;
  R recurrence;

  int state_size() const { return recurrence.state_size(); }
  int input_size() const { return recurrence.input_size(); }

  template <class ExecutionSpace>
  struct Rows {
    using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
    R recurrence;
    StepBatch<ExecutionSpace, scalar_type> batch;
    KOKKOS_FUNCTION void operator()(const Member& member) const {
      const std::int64_t r = member.league_rank();
      const std::size_t D = batch.y.extent(1);
      const std::int64_t count = static_cast<std::int64_t>(D);
      const TeamScratch scratch(member);
      scalar_type* state = scratch.template take<scalar_type>(D);
      scalar_type* next = scratch.template take<scalar_type>(D);
      team_copy(member, batch.y.data() + r * count, state, count);
      // What the batch holds stands for what scratch memory may hold.
      team_copy(member, batch.next.data() + r * count, next, count);
      member.team_barrier();
      const scalar_type* x = batch.x.data() + r * static_cast<std::int64_t>(batch.x.extent(1));
      plain_team_step(recurrence, member, batch.at(r), state, x, next);
      member.team_barrier();
      team_copy(member, next, batch.next.data() + r * count, count);
    }
  };

  template <class ExecutionSpace>
  void step(const ExecutionSpace& exec, const StepBatch<ExecutionSpace, scalar_type>& batch) const {
    const int D = recurrence.state_size();
    Kokkos::TeamPolicy<ExecutionSpace> policy(exec, static_cast<int>(batch.count),
                                              threads_for_state<ExecutionSpace>(D));
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(step_scratch_bytes<scalar_type>(D, 0))));
    Kokkos::parallel_for("Elaphos::step_rows", policy, Rows<ExecutionSpace>{recurrence, batch});
  }
};

template <TeamRecurrence R>
TeamBatch<R> as_batched(const R& recurrence) {
  return {recurrence};
}

/// Propagator of a team recurrence: compiled where the user calls `solve`.
template <class ExecutionSpace, class R>
class TeamPropagator final : public Propagator<ExecutionSpace, typename R::scalar_type> {
 public:
  using Scalar = typename R::scalar_type;
  static_assert(
      TeamRecurrence<R, ExecutionSpace>,
      "Elaphos: this recurrence's team_step cannot be called as team_step(member, at, y, x, next): it must be "
      "const, and its arguments a member, a StepContext and three of type auto");

  explicit TeamPropagator(const R& recurrence)
      : m_recurrence(recurrence), m_team_size(threads_for_state<ExecutionSpace>(recurrence.state_size())) {
    check_sizes(recurrence);
    m_scratch = step_scratch_bytes<Scalar>(recurrence.state_size(), recurrence.input_size());
    const int most = Kokkos::TeamPolicy<ExecutionSpace>(1, 1).scratch_size_max(0);
    if (m_scratch > static_cast<std::size_t>(most)) {
      throw InvalidArgument("state_size()", std::to_string(recurrence.state_size()),
                            "two states and an input to fit in the " + std::to_string(most) + " bytes of a team's scratch memory");
    }
  }

  bool has_jacobian() const override { return false; }

  std::int64_t parallel_workers(const ExecutionSpace& exec) const override {
    const std::int64_t teams = std::int64_t(exec.concurrency()) / m_team_size;
    return teams < 1 ? 1 : teams;
  }

  void check_sensitivity(Sensitivity) const override {}

  // Segments merge after different numbers of steps: hosts' threads take them one by one.
  void run(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const override {
    if (arguments.active_count == 0) return;
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::Schedule<Kokkos::Dynamic>>;
    Policy policy(exec, static_cast<int>(arguments.active_count), m_team_size);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(m_scratch)));
    Kokkos::parallel_for("Elaphos::propagate_team", policy, TeamKernel<ExecutionSpace, R>{m_recurrence, arguments});
  }

 private:
  R m_recurrence;
  int m_team_size;
  std::size_t m_scratch = 0;
};

}  // namespace elaphos::impl

#endif
