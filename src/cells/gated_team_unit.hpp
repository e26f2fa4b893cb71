// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_UNIT_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_UNIT_HPP

#include "team_difference.hpp"
#include "team_input.hpp"
#include "team_tangent.hpp"
#include "team_weights.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/team_scratch.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// What a lane of a team holds of a gated cell, and what it has to do with a step: it is a unit, or a part of one. h is
/// broadcast through scratch; the unit's other states and, where they fit, its recurrent weights are in registers.
template <class Kernel, Sensitivity Carried>
struct GatedTeamUnit {
  using Member = typename Kernel::Member;
  using Gates = typename Kernel::Gates;
  using Scalar = typename Kernel::Scalar;
  static constexpr int width = Kernel::width, slices = Kernel::slices, lanes = Kernel::lanes;
  static constexpr int gates = Gates::count;
  static constexpr int states = Gates::states;
  static constexpr int early = gates - Gates::late;  // gates whose product is with h
  using Input = typename Kernel::Input;
  using Layout = GatedTeamScratch<Gates, Scalar, width, Carried, Input>;
  using Weights = TeamWeights<Gates, Scalar, width, slices, lanes>;
  using Difference = TeamDifference<Scalar, width, Kernel::unit_lanes, Kernel::in_warp>;
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

  KOKKOS_FUNCTION GatedTeamUnit(const Kernel& owner, const Member& team)
      : kernel(owner),
        member(team),
        unit(team.team_rank() / lanes),
        part(team.team_rank() % lanes),
        real(unit < owner.weights.hidden_size),
        shared(scratch_of<Scalar>(team, Layout::bytes)),
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
    if constexpr (Kernel::unit_lanes <= warp_size) {
      sync_warp(member);
    } else if constexpr (Kernel::produced) {
      sync_warps<1, Kernel::unit_lanes>(member);
    } else {
      member.team_barrier();
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Input input_ahead() const {
    return {kernel.arguments.problem,
            kernel.weights,
            shared + Layout::input,
            unit,
            part,
            static_cast<int>(member.team_rank()),
            Kernel::unit_lanes};
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
};

}  // namespace elaphos::impl

#endif
