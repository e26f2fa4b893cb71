// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_LANE_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_LANE_HPP

#include "gated_team_unit.hpp"

#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/step_site.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// One lane of the team that advances a segment of a gated cell.
///
/// Per step: G H (H + I) multiply-adds and about G H transcendental functions; memory traffic I + D numbers (+ D to
/// merge); one barrier (two with `dense`, whose lanes each carry their unit's columns of the product).
template <class Kernel, Sensitivity Carried>
class GatedTeamLane : GatedTeamUnit<Kernel, Carried> {
  using Base = GatedTeamUnit<Kernel, Carried>;
  using Base::advance_tangent, Base::input_ahead, Base::load, Base::pre_activate, Base::sync;
  using Base::gates, Base::states, Base::width;
  using Base::kernel, Base::member, Base::unit, Base::part, Base::real, Base::shared, Base::difference, Base::tangent;
  using Base::unit_weight;
  using typename Base::Difference, typename Base::Input, typename Base::Layout, typename Base::Scalar;

 public:
  using Base::Base;

  KOKKOS_FUNCTION void run() {
    const SegmentArguments<Scalar>& segments = kernel.arguments;
    const SegmentRange range = segment_range(segments, member.league_rank());
    // A copy: the record is written by one lane while others may still read theirs.
    const SegmentRecord<Scalar> before = segments.records[range.flat];
    if (segments.pass == Pass::verify) {
      verify(range);
    } else {
      advance(range, before);
    }
  }

 private:
  // A first pass without derivatives over plain inputs: most of all steps, and nothing to ask for in between.
  KOKKOS_FORCEINLINE_FUNCTION void walk(const SegmentRange& range, Scalar (&own)[states]) {
    const Problem<Scalar>& problem = kernel.arguments.problem;
    const int H = kernel.weights.hidden_size, D = states * H;
    const std::int64_t stride = problem.batch * D;
    const Input ahead = input_ahead();
    const bool writes = real && part == 0;
    Scalar* y = problem.y + (range.begin * problem.batch + range.sequence) * D + unit;
    int half = 0;
    for (std::int64_t t = range.begin; t < range.end; t += Input::steps) {
      ahead.make(range.sequence, t, range.end, [this] { sync(); });
      const int count = range.end - t < Input::steps ? static_cast<int>(range.end - t) : Input::steps;
      ELAPHOS_UNROLL_BY(1)
      for (int step = 0; step < count; ++step) {
        Scalar input[gates], hidden[gates], next[states];
        ahead.read(step, input);
        pre_activate(input, half, own, hidden);
        kernel.unit_step.next(input, hidden, unit_weight, own, next);
        half = 1 - half;
        shared[Layout::state + half * width + unit] = next[0];
        for (int s = 0; s < states; ++s) {
          if (writes) y[s * H] = next[s];
          own[s] = next[s];
        }
        y += stride;
        sync();
      }
    }
  }

  KOKKOS_FUNCTION void advance(const SegmentRange& range, const SegmentRecord<Scalar>& before) {
    const SegmentArguments<Scalar>& segments = kernel.arguments;
    const Problem<Scalar>& problem = segments.problem;
    const int H = kernel.weights.hidden_size, D = states * H;
    const bool propagating = segments.pass == Pass::propagate;
    MergeTest<Scalar> test(before, segments.merge);
    const bool may_merge = propagating && test.possible();

    Scalar own[states];
    load(segments.nodes + range.flat * D, own);
    shared[Layout::state + unit] = own[0];
    sync();

    if constexpr (Carried == Sensitivity::none) {
      if (!may_merge && !problem.division.divided()) {
        walk(range, own);
        return finish(range, range.end - range.begin, false, test);
      }
    }
    const Input ahead = input_ahead();
    int made = Input::steps;       // of the steps made ahead, how many have been used
    bool from_node = propagating;  // the state depends on the segment's node
    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    std::int64_t t = range.begin;
    const std::int64_t stride = problem.batch * D;
    Scalar* y = problem.y + (t * problem.batch + range.sequence) * D + unit;
    int half = 0;
    bool merged = false;
    while (t < range.end && !merged) {
      Scalar stored[states];
      // Asked for early: it is needed at the step's end.
      if (may_merge && real) {
        for (int s = 0; s < states; ++s) stored[s] = y[s * H];
      }
      const StepSite<Scalar> site = cursor.site(t);
      if (site.beginning != nullptr) {
        load(site.beginning, own);
        shared[Layout::state + half * width + unit] = own[0];
        tangent.clear();
        from_node = false;
        sync();
      }
      if (made == Input::steps) {
        ahead.make(range.sequence, t, range.end, [this] { sync(); });
        made = 0;
      }
      Scalar next[states];
      if (site.held) {
        for (int s = 0; s < states; ++s) next[s] = own[s];
      } else {
        Scalar input[gates], hidden[gates];
        ahead.read(made, input);
        pre_activate(input, half, own, hidden);
        kernel.unit_step.next(input, hidden, unit_weight, own, next);
        if (Carried != Sensitivity::none && from_node) advance_tangent(input, hidden, own);
      }

      ++made;
      if (may_merge && real) {
        StateDifference<Scalar> apart;
        for (int s = 0; s < states; ++s) {
          apart.add(next[s], stored[s], segments.absolute_tolerance, segments.relative_tolerance);
        }
        difference.offer(apart);
      }
      shared[Layout::state + (1 - half) * width + unit] = next[0];
      if (may_merge) difference.clear_next();
      sync();

      if (may_merge) merged = test.merged(difference.agreed(H));
      // At a merge the stored state stays, so that the jump lies between two neighbouring steps.
      for (int s = 0; s < states; ++s) {
        if (!merged && real && part == 0) y[s * H] = next[s];
        own[s] = next[s];
      }
      half = 1 - half;
      difference.next_step();
      y += stride;
      ++t;
    }
    finish(range, t - range.begin, merged, test);
  }

  KOKKOS_FUNCTION void finish(const SegmentRange& range, std::int64_t steps_run, bool merged,
                              const MergeTest<Scalar>& test) {
    const SegmentArguments<Scalar>& segments = kernel.arguments;
    Scalar worst = infinite<Scalar>();
    if constexpr (Carried != Sensitivity::none) {
      if (segments.pass == Pass::propagate && !merged) worst = store_sensitivity(range.flat);
    }
    if (member.team_rank() == 0) {
      record_run(segments.records[range.flat], steps_run, merged, merged ? test.jump() : Scalar(0), worst);
    }
  }

  // Writes the product, or zeros where it is not finite (the segment then counts as one that forgets), and returns
  // the worst growth over all lanes.
  KOKKOS_FUNCTION Scalar store_sensitivity(std::int64_t flat) {
    const int H = kernel.weights.hidden_size;
    Scalar* lanes_worst = shared + Layout::difference + Difference::scaled;
    Scalar* lanes_finite = shared + Layout::difference + Difference::absolute;
    const bool finite = tangent.finite();
    sync();
    lanes_worst[unit] = tangent.worst();
    lanes_finite[unit] = (finite || !real) ? Scalar(1) : Scalar(0);
    sync();
    Scalar worst = 0;
    bool all_finite = true;
    for (int i = 0; i < H; ++i) {
      if (lanes_worst[i] > worst) worst = lanes_worst[i];
      all_finite = all_finite && lanes_finite[i] != Scalar(0);
    }
    if (real && part == 0) tangent.store(kernel.arguments.sensitivities, flat, H, unit, all_finite);
    return worst;
  }

  KOKKOS_FUNCTION void verify(const SegmentRange& range) {
    const Problem<Scalar>& problem = kernel.arguments.problem;
    const int H = kernel.weights.hidden_size, D = states * H;
    Scalar residual = 0;
    const Input ahead = input_ahead();
    int made = Input::steps;
    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    for (std::int64_t t = range.begin; t < range.end; ++t) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      Scalar own[states], next[states];
      const StepSite<Scalar> site = cursor.site(t);
      load(state_before(problem, site, range.sequence, t), own);
      sync();
      shared[Layout::state + unit] = own[0];
      sync();
      if (made == Input::steps) {
        ahead.make(range.sequence, t, range.end, [this] { sync(); });
        made = 0;
      }
      for (int s = 0; s < states; ++s) next[s] = own[s];
      if (!site.held) {
        Scalar input[gates], hidden[gates];
        ahead.read(made, input);
        pre_activate(input, 0, own, hidden);
        kernel.unit_step.next(input, hidden, unit_weight, own, next);
      }
      ++made;
      StateDifference<Scalar> apart;
      if (real) {
        const Scalar* stored = problem.y + entry * D + unit;
        for (int s = 0; s < states; ++s) apart.add(next[s], stored[s * H], Scalar(1), Scalar(0));
      }
      if (apart.absolute > residual) residual = apart.absolute;
    }
    shared[Layout::difference + Difference::absolute + unit] = residual;
    sync();
    if (member.team_rank() != 0) return;
    for (int i = 0; i < H; ++i) {
      if (shared[Layout::difference + Difference::absolute + i] > residual)
        residual = shared[Layout::difference + Difference::absolute + i];
    }
    kernel.arguments.records[range.flat].jump = residual;
  }
};

}  // namespace elaphos::impl

#endif
