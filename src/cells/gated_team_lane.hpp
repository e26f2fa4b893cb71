// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_LANE_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_LANE_HPP

#include "team_difference.hpp"
#include "team_input.hpp"
#include "team_tangent.hpp"
#include "team_weights.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/step_site.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// One lane of the team that advances a segment of a gated cell: a unit, or a part of one; h is broadcast through
/// scratch, the unit's other states and, where they fit, its recurrent weights are in registers.
///
/// Per step: G H (H + I) multiply-adds and about G H transcendental functions; memory traffic I + D numbers (+ D to
/// merge); one barrier (two with `dense`, whose lanes each carry their unit's columns of the product).
template <class Kernel, Sensitivity Carried>
struct GatedTeamLane {
  using Member = typename Kernel::Member;
  using Gates = typename Kernel::Gates;
  using Scalar = typename Kernel::Scalar;
  static constexpr int width = Kernel::width, slices = Kernel::slices, lanes = Kernel::lanes;
  static constexpr int team_size = Kernel::team_size;
  static constexpr int gates = Gates::count;
  static constexpr int states = Gates::states;
  static constexpr int early = gates - Gates::late;  // gates whose product is with h
  using Layout = GatedTeamScratch<Gates, Scalar, width, Carried, lanes>;
  using Input = TeamInput<Gates, Scalar, width, lanes>;
  using Weights = TeamWeights<Gates, Scalar, width, slices, lanes>;
  using Difference = TeamDifference<Scalar, width>;
  using Tangent = TeamTangent<Gates, Scalar, width, Carried>;
  using Unit = GatedUnit<Gates, Scalar>;

  const Kernel& kernel;
  const Member& member;
  const int unit;
  const int part;   // of the lanes that share the unit; all make its step, the first one writes it
  const bool real;  // padded units stay at 0
  Scalar* const shared;
  Difference difference;
  Weights weights;
  Scalar own_weight[gates];
  Scalar hidden_bias[gates];
  Scalar unit_weight[Unit::weights];
  Tangent tangent;

  KOKKOS_FUNCTION GatedTeamLane(const Kernel& owner, const Member& team)
      : kernel(owner),
        member(team),
        unit(team.team_rank() / lanes),
        part(team.team_rank() % lanes),
        real(unit < owner.weights.hidden_size),
        shared(static_cast<Scalar*>(team.team_shmem().get_shmem_aligned(static_cast<std::size_t>(Layout::bytes), 16))),
        difference(shared + Layout::difference, reinterpret_cast<int*>(shared + Layout::scalars), unit,
                   owner.arguments.merge),
        weights(owner.weights, unit, part),
        tangent(unit) {
    for (int g = 0; g < gates; ++g) {
      own_weight[g] = owner.weights.hidden_diagonal[g * width + unit];
      hidden_bias[g] = owner.weights.hidden_bias[g * width + unit];
    }
    for (int k = 0; k < Gates::unit_weights; ++k) unit_weight[k] = owner.weights.unit_weights[k * width + unit];
  }

  // What the team's lanes have written to scratch, all see from here on.
  KOKKOS_FORCEINLINE_FUNCTION void sync() const {
    if constexpr (team_size <= warp_size) {
      sync_warp(member);
    } else {
      member.team_barrier();
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

  KOKKOS_FORCEINLINE_FUNCTION Input input_ahead() const {
    return {kernel.arguments.problem,
            kernel.weights,
            shared + Layout::input,
            unit,
            part,
            static_cast<int>(member.team_rank()),
            team_size};
  }

  // The unit's recurrent pre-activations from the state in scratch half `half`. With late gates lanes wait in
  // between.
  KOKKOS_FORCEINLINE_FUNCTION void pre_activate(const Scalar (&input)[gates], int half, const Scalar (&own)[states],
                                                Scalar (&hidden)[gates]) const {
    for (int g = 0; g < gates; ++g) hidden[g] = hidden_bias[g];
    if constexpr (Gates::recurrent) multiply_hidden<0, early>(shared + Layout::state + half * width, hidden);
    if constexpr (Gates::late > 0) {
      shared[Layout::between + unit] = kernel.unit_step.of.between(input, hidden, own);
      sync();
      multiply_hidden<early, gates>(shared + Layout::between, hidden);
    }
  }

  // Adds the products of gates from ... to - 1 with a factor a unit, within the unit's head.
  template <int from, int to>
  KOKKOS_FORCEINLINE_FUNCTION void multiply_hidden(const Scalar* factors, Scalar (&hidden)[gates]) const {
    const int H = kernel.weights.hidden_size, K = kernel.weights.head_size;
    if (K == H) {
      weights.template multiply<from, to>(factors, hidden);
      return;
    }
    if (!real) return;
    const Scalar* seen = factors + (unit - unit % K);
    for (int k = 0; k < K; ++k) {
      for (int g = from; g < to; ++g) hidden[g] = multiply_add(seen[k], weights.from_memory(k, g), hidden[g]);
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
    sync();

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
        sync();
      }
      for (int s = 0; s < states; ++s) {
        Scalar* own_row = jacobian + s * width * Layout::jacobian_row;
        write_jacobian_row(own_row, by_gate[s], direct[s]);
        if constexpr (Gates::late > 0) add_late(own_row + unit * Layout::jacobian_row, by_gate[s][early]);
      }
      sync();
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
    for (int k = 0; k < width; ++k) {
      Scalar entry = k == unit ? direct[0] : Scalar(0);
      if constexpr (Gates::recurrent) {
        if (K == H) {
          for (int g = 0; g < early; ++g) entry += by_gate[g] * weights.of(k, g);
        } else if (real && k / K == unit / K && k < H) {
          for (int g = 0; g < early; ++g) entry += by_gate[g] * weights.from_memory(k % K, g);
        }
      }
      own_row[k] = entry;
    }
    for (int r = 1; r < states; ++r) {
      if constexpr (Layout::full_rows) {
        ELAPHOS_UNROLL
        for (int k = 0; k < width; ++k) own_row[r * width + k] = k == unit ? direct[r] : Scalar(0);
      } else {
        own_row[width + r - 1] = direct[r];
      }
    }
  }

  // Adds what the late gate sees of the states, by way of all units k that it multiplies.
  KOKKOS_FORCEINLINE_FUNCTION void add_late(Scalar* own_row, Scalar by_late) const {
    if (!real) return;
    const int K = kernel.weights.head_size, first = unit - unit % K;
    const Scalar* rows = shared + Layout::between_jacobian;
    for (int k = first; k < first + K; ++k) {
      const Scalar factor = by_late * weights.from_memory(k - first, early);
      const Scalar* row_k = rows + k * Layout::jacobian_row;
      for (int c = first; c < first + K; ++c) own_row[c] += factor * row_k[c];
      // Of other states it sees k's own.
      for (int r = 1; r < states; ++r) own_row[r * width + k] += factor * row_k[r * width + k];
    }
  }

  // d (W `between`)[unit] / d own[r] of the late gate: over all units k that the unit sees, since each k sees it.
  KOKKOS_FORCEINLINE_FUNCTION void own_late(const Scalar (&input)[gates], const Scalar (&hidden)[gates],
                                            const Scalar (&own)[states], Scalar (&late)[states]) const {
    Scalar of_between[gates], direct_between[states];
    kernel.unit_step.of.between_partials(input, hidden, own, of_between, direct_between);
    for (int r = 0; r < states; ++r) late[r] = own_weight[early] * direct_between[r];
    for (int g = 0; g < early; ++g) shared[Layout::between_gates + g * width + unit] = of_between[g];
    sync();
    if (!real) return;
    const std::int64_t H = kernel.weights.hidden_size, K = kernel.weights.head_size;
    const std::int64_t first = unit - unit % K;
    for (std::int64_t k = 0; k < K; ++k) {
      Scalar seen = 0;
      for (int g = 0; g < early; ++g) {
        seen += shared[Layout::between_gates + g * width + first + k] *
                kernel.weights.hidden_rows[(g * H + first + k) * K + unit % K];
      }
      late[0] += weights.from_memory(static_cast<int>(k), early) * seen;
    }
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
