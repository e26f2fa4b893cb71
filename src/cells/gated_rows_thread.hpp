// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_ROWS_THREAD_HPP
#define ELAPHOS_SRC_CELLS_GATED_ROWS_THREAD_HPP

#include "gated_rows_unit.hpp"
#include "team_tangent.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <cstdint>

namespace elaphos::impl {

/// One thread of a team that advances segments in step, a row each (`GatedRowsKernel`): a unit of some of the rows. The
/// first threads also judge a row each. Two barriers a step: behind the first all have read the states, behind the
/// second the next ones are there.
template <class Kernel, Sensitivity Carried>
class GatedRowsThread : GatedRowsUnit<Kernel> {
  using Base = GatedRowsUnit<Kernel>;
  using Base::fetch, Base::first_index, Base::has_segment, Base::multiply_hidden, Base::multiply_input, Base::put;
  using Base::gates, Base::width, Base::rows, Base::count;
  using Base::kernel, Base::member, Base::unit, Base::first_row, Base::real, Base::shared, Base::table;
  using Base::row, Base::staged;
  using typename Base::Gates, typename Base::Member, typename Base::Numbers, typename Base::Scalar, typename Base::Sums;
  using Row = SegmentRow;
  using Tangent = TeamTangent<Gates, Scalar, width, Carried>;
  static constexpr int states = Gates::states;
  static constexpr bool carries = Carried != Sensitivity::none;

 public:
  KOKKOS_FUNCTION GatedRowsThread(const Kernel& owner, const Member& team) : Base(owner, team) {
    for (int g = 0; g < gates; ++g) m_own_weight[g] = kernel.weights.hidden_diagonal[g * width + unit];
    for (int k = 0; k < Gates::unit_weights; ++k) m_unit_weight[k] = kernel.weights.unit_weights[k * width + unit];
  }

  KOKKOS_FUNCTION void run() {
    const SegmentArguments<Scalar>& segments = kernel.arguments;
    const int D = states * kernel.weights.hidden_size;
    const bool judges = member.team_rank() < rows;
    const bool has = judges && has_segment(member.team_rank());
    // Rows without a segment repeat the first one's numbers, and keep none.
    const SegmentRange range = segment_range(segments, first_index() + (has ? member.team_rank() : 0));
    MergeTest<Scalar> test(segments.records[range.flat], segments.merge);
    if (judges) {
      table[member.team_rank()] = {range.flat,
                                   range.begin * segments.problem.batch + range.sequence,
                                   range.end - range.begin - 1,
                                   has ? Row::running : Row::done,
                                   has && test.possible() ? 1 : 0,
                                   0,
                                   0};
      clear_differences(member.team_rank());
    }
    member.team_barrier();
    for (int r = 0; r < count; ++r) {
      const Scalar* node = segments.nodes + row(r).flat * D + unit;
      for (int s = 0; s < states; ++s) m_own[r][s] = real ? node[s * kernel.weights.hidden_size] : Scalar(0);
    }
    publish_states();
    if (staged()) {
      Numbers x;
      fetch(0, unit, 0, x);
      if (unit < kernel.weights.input_size) put(Kernel::inputs, unit, x);
    }
    member.team_barrier();

    std::int64_t step = 0, steps_run = 0;
    for (; any_running(); ++step) {
      make_step(step);
      member.team_barrier();
      if (judges && judge(step, test)) steps_run = step + 1;
      publish_states();
      if (staged() && unit < kernel.weights.input_size) put(Kernel::inputs, unit, m_next_input);
      member.team_barrier();
      store_states(step);
    }
    const Scalar growth = finish_sensitivities();
    if (!judges || !has) return;
    const Row& own = table[member.team_rank()];
    record_run(segments.records[own.flat], steps_run, own.has_merged != 0, own.has_merged ? test.jump() : Scalar(0),
               growth);
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION bool any_running() const {
    bool any = false;
    ELAPHOS_UNROLL
    for (int i = 0; i < rows; ++i) any = any || table[i].state == Row::running;
    return any;
  }

  KOKKOS_FORCEINLINE_FUNCTION void publish_states() const {
    Numbers h;
    ELAPHOS_UNROLL
    for (int r = 0; r < count; ++r) h[r] = m_own[r][0];
    put(Kernel::state, unit, h);
  }

  // The states behind a step, in `m_own`, and how far they are from the stored ones.
  KOKKOS_FORCEINLINE_FUNCTION void make_step(std::int64_t step) {
    const SegmentArguments<Scalar>& segments = kernel.arguments;
    // Asked for early: they are needed at the step's end.
    if (staged()) fetch(0, unit, step + 1, m_next_input);
    Scalar stored[count][states];
    bool compares[count];
    ELAPHOS_UNROLL
    for (int r = 0; r < count; ++r) {
      compares[r] = row(r).may_merge != 0 && row(r).state == Row::running;
      if (!compares[r] || !real) continue;
      const Scalar* y = state_of(r, step);
      for (int s = 0; s < states; ++s) stored[r][s] = y[s * kernel.weights.hidden_size];
    }
    Sums hidden, input;
    multiply_hidden(hidden);
    multiply_input(step, input);
    ELAPHOS_UNROLL
    for (int r = 0; r < count; ++r) {
      Scalar next[states];
      kernel.unit_step.next(input[r], hidden[r], m_unit_weight, m_own[r], next);
      if (carries && row(r).state == Row::running) advance_tangent(r, input[r], hidden[r]);
      for (int s = 0; s < states; ++s) m_own[r][s] = next[s];
      if (!compares[r]) continue;
      StateDifference<Scalar> apart;
      if (real) {
        for (int s = 0; s < states; ++s) {
          apart.add(next[s], stored[r][s], segments.absolute_tolerance, segments.relative_tolerance);
        }
      }
      if (!apart.identical) row(r).differs = 1;
      if (segments.merge != Merge::tolerance) continue;
      offer(0, r, apart.scaled);
      offer(1, r, apart.absolute);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar* state_of(int r, std::int64_t step) const {
    const Problem<Scalar>& problem = kernel.arguments.problem;
    return problem.y + (row(r).entry + step * problem.batch) * states * kernel.weights.hidden_size + unit;
  }

  // A maximum over units: its order does not matter.
  KOKKOS_FORCEINLINE_FUNCTION Scalar& largest(int which, int place) const {
    return shared[Kernel::differences + which * rows + place];
  }
  KOKKOS_FORCEINLINE_FUNCTION void offer(int which, int r, Scalar own) const {
    own = largest_in_lanes<warp_size>(own);
    if (!member_has_warps<Member> || unit % warp_size == 0) Kokkos::atomic_max(&largest(which, first_row + r), own);
  }
  KOKKOS_FORCEINLINE_FUNCTION void clear_differences(int place) const {
    table[place].differs = 0;
    largest(0, place) = Scalar(0);
    largest(1, place) = Scalar(0);
  }

  KOKKOS_FORCEINLINE_FUNCTION void advance_tangent(int r, const Scalar (&input)[gates], const Scalar (&hidden)[gates]) {
    Scalar by_gate[states][gates], direct[states][states];
    kernel.unit_step.partials(input, hidden, m_unit_weight, m_own[r], by_gate, direct);
    for (int s = 0; s < states; ++s) {
      for (int g = 0; g < gates; ++g) direct[s][0] += by_gate[s][g] * m_own_weight[g];
    }
    m_tangent[r].multiply_own(direct, kernel.arguments.merge == Merge::tolerance);
  }

  // Whether the row that this thread judges has made the step, and what becomes of it.
  KOKKOS_FORCEINLINE_FUNCTION bool judge(std::int64_t step, MergeTest<Scalar>& test) const {
    const int place = member.team_rank();
    Row& own = table[place];
    const bool made = own.state == Row::running;
    if (!made) {
      own.state = Row::done;
    } else {
      StateDifference<Scalar> apart;
      apart.identical = own.differs == 0;
      apart.scaled = largest(0, place);
      apart.absolute = largest(1, place);
      if (own.may_merge && test.merged(apart)) {
        own.state = Row::merged;
        own.has_merged = 1;
      } else if (step == own.last) {
        own.state = Row::ended;
      }
    }
    clear_differences(place);
    return made;
  }

  // At a merge the stored state stays, so that the jump lies between two neighbouring steps.
  KOKKOS_FORCEINLINE_FUNCTION void store_states(std::int64_t step) const {
    if (!real) return;
    ELAPHOS_UNROLL
    for (int r = 0; r < count; ++r) {
      const auto state = row(r).state;
      if (state != Row::running && state != Row::ended) continue;
      Scalar* y = state_of(r, step);
      for (int s = 0; s < states; ++s) y[s * kernel.weights.hidden_size] = m_own[r][s];
    }
  }

  // Writes the products of rows that did not merge, or zeros where one is not finite (the segment then counts as one
  // that forgets). Returns the worst growth, over all units, of the row that this thread judges.
  KOKKOS_FORCEINLINE_FUNCTION Scalar finish_sensitivities() const {
    if constexpr (!carries) {
      return infinite<Scalar>();
    } else {
      ELAPHOS_UNROLL
      for (int r = 0; r < count; ++r) {
        if (real && !m_tangent[r].finite()) row(r).differs = 1;
        offer(0, r, real ? m_tangent[r].worst() : Scalar(0));
      }
      member.team_barrier();
      ELAPHOS_UNROLL
      for (int r = 0; r < count; ++r) {
        if (!real || !has_segment(first_row + r) || row(r).has_merged != 0) continue;
        m_tangent[r].store(kernel.arguments.sensitivities, row(r).flat, kernel.weights.hidden_size, unit,
                           row(r).differs == 0);
      }
      return member.team_rank() < rows ? largest(0, member.team_rank()) : Scalar(0);
    }
  }

  Scalar m_own[count][states];
  Scalar m_own_weight[gates];
  Scalar m_unit_weight[GatedUnit<Gates, Scalar>::weights];
  Numbers m_next_input = {};
  Tangent m_tangent[carries ? count : 1];
};

}  // namespace elaphos::impl

#endif
