// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP

#include "team_tangent.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Advances one segment of a gated cell on one team: a lane per hidden unit, h broadcast through scratch, the unit's
/// other states and, where they fit, its recurrent weights in registers.
///
/// Per step: G H (H + I) multiply-adds and about G H transcendental functions; memory traffic I + D numbers (+ D to
/// merge); one barrier (two with `dense`, whose lanes each carry their unit's columns of the product).
template <class Member, class Gates, class Scalar, int Width, Sensitivity Carried>
struct GatedTeamKernel {
  static constexpr int gates = Gates::count;
  static constexpr int states = Gates::states;
  static constexpr int row = gates * Width;
  static constexpr bool weights_in_registers = sizeof(Scalar) * row <= 512;
  using Layout = GatedTeamScratch<Gates, Scalar, Width, Carried>;
  using Tangent = TeamTangent<Gates, Scalar, Width, Carried>;

  PackedWeights<Scalar> weights;
  SegmentArguments<Scalar> arguments;

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    if (!arguments.has(member.league_rank())) return;
    Lane lane(*this, member);
    lane.run();
  }

  // What one lane of the team holds while it walks a segment.
  struct Lane {
    const GatedTeamKernel& kernel;
    const Member& member;
    const int unit;
    const bool real;  // padded units stay at 0
    Scalar* const shared;
    int* const differs;  // three flags in turn: one is written, one is read, one is cleared
    Scalar weight[weights_in_registers ? row : 1];
    Scalar own_weight[gates];
    Tangent tangent;

    KOKKOS_FUNCTION Lane(const GatedTeamKernel& owner, const Member& team)
        : kernel(owner),
          member(team),
          unit(team.team_rank()),
          real(unit < owner.weights.hidden_size),
          shared(static_cast<Scalar*>(team.team_shmem().get_shmem_aligned(static_cast<std::size_t>(Layout::bytes), 16))),
          differs(reinterpret_cast<int*>(shared + Layout::scalars)),
          tangent(unit) {
      if constexpr (weights_in_registers) {
        for (int c = 0; c < row; ++c) weight[c] = load_weight(c / gates, c % gates);
      }
      for (int g = 0; g < gates; ++g) own_weight[g] = owner.weights.hidden_diagonal[g * Width + unit];
      if (unit < Layout::flags) differs[unit] = 0;
    }

    KOKKOS_FORCEINLINE_FUNCTION Scalar load_weight(int k, int g) const {
      return kernel.weights.hidden_weights[std::int64_t(k) * row + g * Width + unit];
    }

    KOKKOS_FORCEINLINE_FUNCTION Scalar recurrent_weight(int k, int g) const {
      if constexpr (weights_in_registers) {
        return weight[k * gates + g];
      } else {
        return load_weight(k, g);
      }
    }

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

    // The unit's pre-activations from the state in scratch half `half`.
    KOKKOS_FORCEINLINE_FUNCTION void pre_activate(const Scalar* x, int half, Scalar (&input)[gates],
                                                  Scalar (&hidden)[gates]) const {
      const PackedWeights<Scalar>& w = kernel.weights;
      for (int g = 0; g < gates; ++g) input[g] = w.input_bias[g * Width + unit];
      for (int i = 0; i < w.input_size; ++i) {
        for (int g = 0; g < gates; ++g) {
          input[g] = multiply_add(x[i], w.input_weights[std::int64_t(i) * row + g * Width + unit], input[g]);
        }
      }
      for (int g = 0; g < gates; ++g) hidden[g] = w.hidden_bias[g * Width + unit];
      const Scalar* h = shared + Layout::state + half * Width;
      ELAPHOS_UNROLL
      for (int k = 0; k < Width; ++k) {
        const Scalar h_k = h[k];
        for (int g = 0; g < gates; ++g) hidden[g] = multiply_add(h_k, recurrent_weight(k, g), hidden[g]);
      }
    }

    // The unit's states out of D numbers.
    KOKKOS_FORCEINLINE_FUNCTION void load(const Scalar* from, Scalar (&own)[states]) const {
      for (int s = 0; s < states; ++s) own[s] = real ? from[s * kernel.weights.hidden_size + unit] : Scalar(0);
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
      member.team_barrier();

      std::int64_t t = range.begin;
      int half = 0, flag = 0;
      bool merged = false;
      while (t < range.end && !merged) {
        const std::int64_t entry = t * problem.batch + range.sequence;
        Scalar input[gates], hidden[gates];
        pre_activate(problem.x + entry * kernel.weights.input_size, half, input, hidden);
        Scalar next[states];
        Gates::next(input, hidden, own, next);
        if (Carried != Sensitivity::none && propagating) advance_tangent(input, hidden, own);

        Scalar* y = problem.y + entry * D + unit;
        if (may_merge && real) offer_difference(next, y, half, flag);
        shared[Layout::state + (1 - half) * Width + unit] = next[0];
        if (unit == 0) differs[(flag + 1) % Layout::flags] = 0;
        member.team_barrier();

        if (may_merge) merged = test.merged(agreed_difference(half, flag));
        // At a merge the stored state stays, so that the jump lies between two neighbouring steps.
        for (int s = 0; s < states; ++s) {
          if (!merged && real) y[s * H] = next[s];
          own[s] = next[s];
        }
        half = 1 - half;
        flag = (flag + 1) % Layout::flags;
        ++t;
      }
      finish(range, t - range.begin, merged, test);
    }

    // Every lane puts its difference where all can see it after the barrier.
    KOKKOS_FORCEINLINE_FUNCTION void offer_difference(const Scalar (&next)[states], const Scalar* stored, int half,
                                                      int flag) const {
      StateDifference<Scalar> own;
      for (int s = 0; s < states; ++s) {
        own.add(next[s], stored[s * kernel.weights.hidden_size], kernel.arguments.absolute_tolerance,
                kernel.arguments.relative_tolerance);
      }
      if (!own.identical) differs[flag] = 1;
      if (kernel.arguments.merge == Merge::tolerance) {
        shared[Layout::scaled + half * Width + unit] = own.scaled;
        shared[Layout::absolute + half * Width + unit] = own.absolute;
      }
    }

    KOKKOS_FORCEINLINE_FUNCTION StateDifference<Scalar> agreed_difference(int half, int flag) const {
      StateDifference<Scalar> all;
      all.identical = differs[flag] == 0;
      if (all.identical || kernel.arguments.merge == Merge::exact) return all;
      for (int i = 0; i < kernel.weights.hidden_size; ++i) {
        const Scalar scaled = shared[Layout::scaled + half * Width + i];
        const Scalar absolute = shared[Layout::absolute + half * Width + i];
        if (scaled > all.scaled) all.scaled = scaled;
        if (absolute > all.absolute) all.absolute = absolute;
      }
      return all;
    }

    KOKKOS_FUNCTION void advance_tangent(const Scalar (&input)[gates], const Scalar (&hidden)[gates],
                                         const Scalar (&own)[states]) {
      Scalar by_gate[states][gates], direct[states][states];
      Gates::partials(input, hidden, own, by_gate, direct);
      const bool growth_wanted = kernel.arguments.merge == Merge::tolerance;
      if constexpr (Carried == Sensitivity::dense) {
        Scalar* jacobian = shared + Layout::jacobian;
        for (int s = 0; s < states; ++s) {
          Scalar* own_row = jacobian + (s * Width + unit) * Layout::jacobian_row;
          ELAPHOS_UNROLL
          for (int k = 0; k < Width; ++k) {
            Scalar entry = k == unit ? direct[s][0] : Scalar(0);
            for (int g = 0; g < gates; ++g) entry += by_gate[s][g] * recurrent_weight(k, g);
            own_row[k] = entry;
          }
          for (int r = 1; r < states; ++r) own_row[Width + r - 1] = direct[s][r];
        }
        member.team_barrier();
        tangent.multiply_dense(jacobian, growth_wanted);
        // The barrier of the step that follows keeps the next Jacobian from overwriting this one too early.
      } else {
        // What no other unit has a part in.
        for (int s = 0; s < states; ++s) {
          for (int g = 0; g < gates; ++g) direct[s][0] += by_gate[s][g] * own_weight[g];
        }
        tangent.multiply_own(direct, growth_wanted);
      }
    }

    KOKKOS_FUNCTION void finish(const SegmentRange& range, std::int64_t steps_run, bool merged,
                                const MergeTest<Scalar>& test) {
      const SegmentArguments<Scalar>& segments = kernel.arguments;
      Scalar worst = infinite<Scalar>();
      if constexpr (Carried != Sensitivity::none) {
        if (segments.pass == Pass::propagate && !merged) worst = store_sensitivity(range.flat);
      }
      if (unit == 0) {
        record_run(segments.records[range.flat], steps_run, merged, merged ? test.jump() : Scalar(0), worst);
      }
    }

    // Writes the product, or zeros where it is not finite (the segment then counts as one that forgets), and returns
    // the worst growth over all lanes.
    KOKKOS_FUNCTION Scalar store_sensitivity(std::int64_t flat) {
      const int H = kernel.weights.hidden_size;
      Scalar* lanes_worst = shared + Layout::scaled;
      Scalar* lanes_finite = shared + Layout::absolute;
      const bool finite = tangent.finite();
      member.team_barrier();
      lanes_worst[unit] = tangent.worst();
      lanes_finite[unit] = (finite || !real) ? Scalar(1) : Scalar(0);
      member.team_barrier();
      Scalar worst = 0;
      bool all_finite = true;
      for (int i = 0; i < H; ++i) {
        if (lanes_worst[i] > worst) worst = lanes_worst[i];
        all_finite = all_finite && lanes_finite[i] != Scalar(0);
      }
      if (real) tangent.store(kernel.arguments.sensitivities, flat, H, unit, all_finite);
      return worst;
    }

    KOKKOS_FUNCTION void verify(const SegmentRange& range) {
      const Problem<Scalar>& problem = kernel.arguments.problem;
      const int H = kernel.weights.hidden_size, D = states * H;
      Scalar residual = 0;
      for (std::int64_t t = range.begin; t < range.end; ++t) {
        const std::int64_t entry = t * problem.batch + range.sequence;
        Scalar own[states], next[states];
        load(problem.state_before(t, range.sequence), own);
        member.team_barrier();
        shared[Layout::state + unit] = own[0];
        member.team_barrier();
        Scalar input[gates], hidden[gates];
        pre_activate(problem.x + entry * kernel.weights.input_size, 0, input, hidden);
        StateDifference<Scalar> apart;
        if (real) {
          Gates::next(input, hidden, own, next);
          const Scalar* stored = problem.y + entry * D + unit;
          for (int s = 0; s < states; ++s) apart.add(next[s], stored[s * H], Scalar(1), Scalar(0));
        }
        if (apart.absolute > residual) residual = apart.absolute;
      }
      shared[Layout::absolute + unit] = residual;
      member.team_barrier();
      if (unit != 0) return;
      for (int i = 0; i < H; ++i) {
        if (shared[Layout::absolute + i] > residual) residual = shared[Layout::absolute + i];
      }
      kernel.arguments.records[range.flat].jump = residual;
    }
  };
};

}  // namespace elaphos::impl

#endif
