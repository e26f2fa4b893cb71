// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_LANE_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_LANE_HPP

#include "gated_team_unit.hpp"
#include "team_producer.hpp"

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
  // Over plain inputs: most of all steps, and nothing to ask for in between. With `merging`, to the first tile's end at
  // which the state is the stored one in all bits: steps that met it before have made what was there. `carrying`: with
  // the derivatives. Returns the number of steps.
  template <bool merging, bool carrying>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t walk(const SegmentRange& range, Scalar (&own)[states], bool& merged) {
    const Problem<Scalar>& problem = kernel.arguments.problem;
    const int H = kernel.weights.hidden_size, D = states * H;
    const std::int64_t stride = problem.batch * D;
    const Input input_of_tile = input_ahead();
    TileSource<Kernel, Input> source(member, input_of_tile);
    const bool writes = real && part == 0;
    Scalar* y = problem.y + (range.begin * problem.batch + range.sequence) * D + unit;
    int half = 0;
    merged = false;
    std::int64_t t = range.begin;
    while (t < range.end && !merged) {
      source.take(range.sequence, t, range.end, [this] { sync(); });
      const int count = range.end - t < Input::steps ? static_cast<int>(range.end - t) : Input::steps;
      Scalar stored[states];
      if (merging && real) {
        for (int s = 0; s < states; ++s) stored[s] = y[(count - 1) * stride + s * H];
      }
      ELAPHOS_UNROLL_BY(1)
      for (int step = 0; step < count; ++step) {
        Scalar input[gates], hidden[gates], next[states];
        source.read(step, input);
        pre_activate(input, half, own, hidden);
        kernel.unit_step.next(input, hidden, unit_weight, own, next);
        if constexpr (carrying) advance_tangent(input, hidden, own);
        half = 1 - half;
        shared[Layout::state + half * width + unit] = next[0];
        for (int s = 0; s < states; ++s) {
          if (writes) y[s * H] = next[s];
          own[s] = next[s];
        }
        y += stride;
        sync();
      }
      t += count;
      if constexpr (merging) {
        StateDifference<Scalar> apart;
        for (int s = 0; s < states; ++s) {
          if (real && !same_bits(own[s], stored[s])) apart.identical = false;
        }
        difference.offer(apart);
        difference.clear_next();
        sync();
        merged = difference.agreed(H).identical;
        difference.next_step();
      }
    }
    source.stop(t < range.end);
    return t - range.begin;
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

    if (!problem.division.divided()) {
      constexpr bool carries = Carried != Sensitivity::none;
      bool met = false;
      if (!may_merge) {
        const std::int64_t steps_run =
            propagating ? walk<false, carries>(range, own, met) : walk<false, false>(range, own, met);
        return finish(range, steps_run, met, test);
      }
      if constexpr (!carries) {
        if (test.exact_only()) {
          const std::int64_t steps_run = walk<true, false>(range, own, met);
          return finish(range, steps_run, met, test);
        }
      }
    }
    const Input input_of_tile = input_ahead();
    TileSource<Kernel, Input> source(member, input_of_tile);
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
        source.take(range.sequence, t, range.end, [this] { sync(); });
        made = 0;
      }
      Scalar next[states];
      if (site.held) {
        for (int s = 0; s < states; ++s) next[s] = own[s];
      } else {
        Scalar input[gates], hidden[gates];
        source.read(made, input);
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
    // The tile in use may end behind the segment's end; steps behind it are asked for only before that.
    source.stop(t + (Input::steps - made) < range.end);
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
    const Input input_of_tile = input_ahead();
    TileSource<Kernel, Input> source(member, input_of_tile);
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
        source.take(range.sequence, t, range.end, [this] { sync(); });
        made = 0;
      }
      for (int s = 0; s < states; ++s) next[s] = own[s];
      if (!site.held) {
        Scalar input[gates], hidden[gates];
        source.read(made, input);
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
