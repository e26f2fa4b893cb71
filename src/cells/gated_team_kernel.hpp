// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP

#include "team_tangent.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/step_site.hpp>
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
  static constexpr int early = gates - Gates::late;  // gates whose product is with h
  static constexpr bool weights_in_registers = Gates::recurrent && sizeof(Scalar) * row <= 512;
  using Layout = GatedTeamScratch<Gates, Scalar, Width, Carried>;
  using Tangent = TeamTangent<Gates, Scalar, Width, Carried>;

  using Unit = GatedUnit<Gates, Scalar>;

  PackedWeights<Scalar> weights;
  Unit unit_step;
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
    Scalar unit_weight[Unit::weights];
    Tangent tangent;

    KOKKOS_FUNCTION Lane(const GatedTeamKernel& owner, const Member& team)
        : kernel(owner),
          member(team),
          unit(team.team_rank()),
          real(unit < owner.weights.hidden_size),
          shared(
              static_cast<Scalar*>(team.team_shmem().get_shmem_aligned(static_cast<std::size_t>(Layout::bytes), 16))),
          differs(reinterpret_cast<int*>(shared + Layout::scalars)),
          tangent(unit) {
      if constexpr (weights_in_registers) {
        for (int c = 0; c < row; ++c) weight[c] = load_weight(c / gates, c % gates);
      }
      for (int g = 0; g < gates; ++g) own_weight[g] = owner.weights.hidden_diagonal[g * Width + unit];
      for (int k = 0; k < Gates::unit_weights; ++k) unit_weight[k] = owner.weights.unit_weights[k * Width + unit];
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

    // The unit's pre-activations from the state in scratch half `half`. With late gates there is a barrier in between.
    KOKKOS_FORCEINLINE_FUNCTION void pre_activate(std::int64_t entry, int half, const Scalar (&own)[states],
                                                  Scalar (&input)[gates], Scalar (&hidden)[gates]) const {
      const PackedWeights<Scalar>& w = kernel.weights;
      for (int g = 0; g < gates; ++g) input[g] = w.input_bias[g * Width + unit];
      kernel.arguments.problem.inputs.for_each(entry, [&](int i, const Scalar& x) {
        for (int g = 0; g < gates; ++g) {
          input[g] = multiply_add(x, w.input_weights[std::int64_t(i) * row + g * Width + unit], input[g]);
        }
      });
      for (int g = 0; g < gates; ++g) hidden[g] = w.hidden_bias[g * Width + unit];
      if constexpr (Gates::recurrent) multiply_hidden<0, early>(shared + Layout::state + half * Width, hidden);
      if constexpr (Gates::late > 0) {
        shared[Layout::between + unit] = kernel.unit_step.of.between(input, hidden, own);
        member.team_barrier();
        multiply_hidden<early, gates>(shared + Layout::between, hidden);
      }
    }

    // Adds the products of gates from ... to - 1 with a factor a unit, within the unit's head.
    template <int from, int to>
    KOKKOS_FORCEINLINE_FUNCTION void multiply_hidden(const Scalar* factors, Scalar (&hidden)[gates]) const {
      const int H = kernel.weights.hidden_size, K = kernel.weights.head_size;
      if (K == H) {
        ELAPHOS_UNROLL
        for (int k = 0; k < Width; ++k) {
          const Scalar factor = factors[k];
          for (int g = from; g < to; ++g) hidden[g] = multiply_add(factor, recurrent_weight(k, g), hidden[g]);
        }
        return;
      }
      if (!real) return;
      const Scalar* seen = factors + (unit - unit % K);
      for (int k = 0; k < K; ++k) {
        for (int g = from; g < to; ++g) hidden[g] = multiply_add(seen[k], load_weight(k, g), hidden[g]);
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

      bool from_node = propagating;  // the state depends on the segment's node
      StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
      std::int64_t t = range.begin;
      int half = 0, flag = 0;
      bool merged = false;
      while (t < range.end && !merged) {
        const std::int64_t entry = t * problem.batch + range.sequence;
        const StepSite<Scalar> site = cursor.site(t);
        if (site.beginning != nullptr) {
          load(site.beginning, own);
          shared[Layout::state + half * Width + unit] = own[0];
          tangent.clear();
          from_node = false;
          member.team_barrier();
        }
        Scalar next[states];
        if (site.held) {
          for (int s = 0; s < states; ++s) next[s] = own[s];
        } else {
          Scalar input[gates], hidden[gates];
          pre_activate(entry, half, own, input, hidden);
          kernel.unit_step.next(input, hidden, unit_weight, own, next);
          if (Carried != Sensitivity::none && from_node) advance_tangent(input, hidden, own);
        }

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
      kernel.unit_step.partials(input, hidden, unit_weight, own, by_gate, direct);
      const bool growth_wanted = kernel.arguments.merge == Merge::tolerance;
      if constexpr (Carried == Sensitivity::dense) {
        Scalar* jacobian = shared + Layout::jacobian;
        if constexpr (Gates::late > 0) {
          Scalar of_between[gates], direct_between[states];
          kernel.unit_step.of.between_partials(input, hidden, own, of_between, direct_between);
          write_jacobian_row(shared + Layout::between_jacobian, of_between, direct_between);
          member.team_barrier();
        }
        for (int s = 0; s < states; ++s) {
          Scalar* own_row = jacobian + s * Width * Layout::jacobian_row;
          write_jacobian_row(own_row, by_gate[s], direct[s]);
          if constexpr (Gates::late > 0) add_late(own_row + unit * Layout::jacobian_row, by_gate[s][early]);
        }
        member.team_barrier();
        tangent.multiply_dense(jacobian, growth_wanted);
        // The barrier of the step that follows keeps the next Jacobian from overwriting this one too early.
      } else {
        // What no other unit has a part in.
        Scalar late[states] = {};
        if constexpr (Gates::late > 0) own_late(input, hidden, own, late);
        for (int s = 0; s < states; ++s) {
          for (int g = 0; g < early; ++g) direct[s][0] += by_gate[s][g] * own_weight[g];
          if constexpr (Gates::late > 0) {
            for (int r = 0; r < states; ++r) direct[s][r] += by_gate[s][early] * late[r];
          }
        }
        tangent.multiply_own(direct, growth_wanted);
      }
    }

    // The unit's row of a Jacobian in scratch: the columns of h, then those of other states.
    KOKKOS_FORCEINLINE_FUNCTION void write_jacobian_row(Scalar* rows, const Scalar (&by_gate)[gates],
                                                        const Scalar (&direct)[states]) const {
      const int H = kernel.weights.hidden_size, K = kernel.weights.head_size;
      Scalar* own_row = rows + unit * Layout::jacobian_row;
      ELAPHOS_UNROLL
      for (int k = 0; k < Width; ++k) {
        Scalar entry = k == unit ? direct[0] : Scalar(0);
        if constexpr (Gates::recurrent) {
          if (K == H) {
            for (int g = 0; g < early; ++g) entry += by_gate[g] * recurrent_weight(k, g);
          } else if (real && k / K == unit / K && k < H) {
            for (int g = 0; g < early; ++g) entry += by_gate[g] * load_weight(k % K, g);
          }
        }
        own_row[k] = entry;
      }
      for (int r = 1; r < states; ++r) {
        if constexpr (Layout::full_rows) {
          ELAPHOS_UNROLL
          for (int k = 0; k < Width; ++k) own_row[r * Width + k] = k == unit ? direct[r] : Scalar(0);
        } else {
          own_row[Width + r - 1] = direct[r];
        }
      }
    }

    // Adds what the late gate sees of the states, by way of all units k that it multiplies.
    KOKKOS_FORCEINLINE_FUNCTION void add_late(Scalar* own_row, Scalar by_late) const {
      if (!real) return;
      const int K = kernel.weights.head_size, first = unit - unit % K;
      const Scalar* rows = shared + Layout::between_jacobian;
      for (int k = first; k < first + K; ++k) {
        const Scalar factor = by_late * load_weight(k - first, early);
        const Scalar* row_k = rows + k * Layout::jacobian_row;
        for (int c = first; c < first + K; ++c) own_row[c] += factor * row_k[c];
        // Of other states it sees k's own.
        for (int r = 1; r < states; ++r) own_row[r * Width + k] += factor * row_k[r * Width + k];
      }
    }

    // d (W `between`)[unit] / d own[r] of the late gate: over all units k that the unit sees, since each k sees it.
    KOKKOS_FORCEINLINE_FUNCTION void own_late(const Scalar (&input)[gates], const Scalar (&hidden)[gates],
                                              const Scalar (&own)[states], Scalar (&late)[states]) const {
      Scalar of_between[gates], direct_between[states];
      kernel.unit_step.of.between_partials(input, hidden, own, of_between, direct_between);
      for (int r = 0; r < states; ++r) late[r] = own_weight[early] * direct_between[r];
      for (int g = 0; g < early; ++g) shared[Layout::between_gates + g * Width + unit] = of_between[g];
      member.team_barrier();
      if (!real) return;
      const std::int64_t H = kernel.weights.hidden_size, K = kernel.weights.head_size;
      const std::int64_t first = unit - unit % K;
      for (std::int64_t k = 0; k < K; ++k) {
        Scalar seen = 0;
        for (int g = 0; g < early; ++g) {
          seen += shared[Layout::between_gates + g * Width + first + k] *
                  kernel.weights.hidden_rows[(g * H + first + k) * K + unit % K];
        }
        late[0] += load_weight(static_cast<int>(k), early) * seen;
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
      StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
      for (std::int64_t t = range.begin; t < range.end; ++t) {
        const std::int64_t entry = t * problem.batch + range.sequence;
        Scalar own[states], next[states];
        const StepSite<Scalar> site = cursor.site(t);
        load(state_before(problem, site, range.sequence, t), own);
        member.team_barrier();
        shared[Layout::state + unit] = own[0];
        member.team_barrier();
        for (int s = 0; s < states; ++s) next[s] = own[s];
        if (!site.held) {
          Scalar input[gates], hidden[gates];
          pre_activate(entry, 0, own, input, hidden);
          kernel.unit_step.next(input, hidden, unit_weight, own, next);
        }
        StateDifference<Scalar> apart;
        if (real) {
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
