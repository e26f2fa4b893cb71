// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_LANES_STEP_HPP
#define ELAPHOS_SRC_CELLS_GATED_LANES_STEP_HPP

#include "gated_tangent.hpp"
#include "lane_tile.hpp"
#include "lane_vector.hpp"
#include "lane_weights.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/scalar.hpp>

#include <cstdint>

namespace elaphos::impl {

/// One step of a gated cell for a group of segments, a vector lane each: the lane index is fastest in all arrays.
///
/// The arithmetic of `GatedHostKernel` in its order, so that bits agree. Sizes are those of the cell: nothing is
/// padded, and one kernel serves all. Weights come from the cache, a number for all lanes at a time. Per step and lane
/// G H (H + I) multiply-adds and about G H transcendental functions.
template <class Gates, class Scalar>
struct GatedLanesStep {
  static constexpr int lanes = group_lanes<Scalar>;
  static constexpr int gates = Gates::count, states = Gates::states;
  static constexpr int early = gates - Gates::late;  // gates whose product is with h
  static constexpr int block = units_of_lane_block<Gates>;

  PackedWeights<Scalar> weights;
  int width;  ///< to which units are padded in `weights`
  GatedUnit<Gates, Scalar> unit_step;

  /// Rows of lanes that a step needs beside x and the states: between two products, where gates are late.
  int scratch_rows() const { return Gates::late > 0 ? (2 * gates + 1) * weights.hidden_size : 0; }

  /// x (I, lanes), state and next (D, lanes), scratch (rows, lanes), all aligned to 64 bytes.
  void operator()(const Scalar* x, const Scalar* state, Scalar* next, Scalar* scratch) const {
    const int H = weights.hidden_size;
    if constexpr (Gates::late > 0) {
      Scalar* between = scratch;
      auto* const input = reinterpret_cast<Sums<1>*>(scratch + H * lanes);
      auto* const hidden = input + H;
      for (int unit = 0; unit < H; ++unit) {
        multiply_input(unit, x, input[unit]);
        multiply_hidden<0, early>(unit, state, hidden[unit]);
        make_between(unit, input[unit], hidden[unit], state, between);
      }
      for (int unit = 0; unit < H; ++unit) {
        multiply_hidden<early, gates>(unit, between, hidden[unit]);
        activate<0>(unit, input[unit], hidden[unit], state, next);
      }
    } else {
      int unit = 0;
      for (; unit + block <= H; unit += block) step_units<block>(unit, x, state, next);
      for (; unit < H; ++unit) step_units<1>(unit, x, state, next);
    }
  }

 private:
  using Unit = GatedUnit<Gates, Scalar>;

  // Pre-activations of neighbouring units, (gate, unit, lane).
  template <int units>
  struct Sums {
    alignas(64) Scalar of[gates * units][lanes];
  };

  template <int units>
  void step_units(int first, const Scalar* x, const Scalar* state, Scalar* next) const {
    Sums<units> input, hidden;
    multiply_input(first, x, input);
    multiply_hidden<0, gates>(first, state, hidden);
    unrolled<units>([&](auto u) { activate<u>(first + u, input, hidden, state, next); });
  }

  // Weights of so many units from `first` on, of inputs and, behind them, of the state.
  const Scalar* weights_of(int first) const {
    return weights.lane_weights + std::int64_t(first) * gates * (weights.input_size + lane_columns<Gates>(weights));
  }

  template <int units>
  void multiply_input(int first, const Scalar* x, Sums<units>& out) const {
    multiply<0, gates, 0, units>(weights_of(first), weights.input_bias + first, x, weights.input_size, out);
  }

  // Gates from ... to - 1.
  template <int from, int to, int units>
  void multiply_hidden(int first, const Scalar* factors, Sums<units>& out) const {
    const Scalar* columns = weights_of(first) + std::int64_t(weights.input_size) * gates * units;
    const Scalar* bias = weights.hidden_bias + first;
    const int K = lane_columns<Gates>(weights);
    if (K == 0 || K == weights.hidden_size) {
      multiply<from, to, 0, units>(columns, bias, factors, K, out);
    } else {
      // Units of a block may see different heads.
      unrolled<units>([&](auto u) {
        const int unit = first + u;
        multiply<from, to, u, 1>(columns, bias, factors + (unit - unit % K) * lanes, K, out);
      });
    }
  }

  // out = bias + sum over k of factor k * column k, in ascending order of k, of `some` units from `unit` on.
  template <int from, int to, int unit, int some, int units>
  void multiply(const Scalar* columns, const Scalar* bias, const Scalar* factors, int count,
                Sums<units>& KOKKOS_RESTRICT out) const {
    constexpr int sums = (to - from) * some, vectors = lanes / longest_vector<Scalar>;
    LaneVector<Scalar> sum[sums][vectors];
    unrolled<sums>([&](auto s) {
      const LaneVector<Scalar> own(bias[(from + s / some) * width + unit + s % some]);
      unrolled<vectors>([&](auto v) { sum[s][v] = own; });
    });
    for (int k = 0; k < count; ++k) {
      LaneVector<Scalar> factor[vectors];
      unrolled<vectors>([&](auto v) { factor[v].read(factors + k * lanes + v * longest_vector<Scalar>); });
      const Scalar* column = columns + std::int64_t(k) * gates * units;
      unrolled<sums>([&](auto s) {
        const LaneVector<Scalar> weight(column[(from + s / some) * units + unit + s % some]);
        unrolled<vectors>([&](auto v) { sum[s][v].add_product(factor[v], weight); });
      });
    }
    unrolled<sums>([&](auto s) {
      Scalar* to_sum = out.of[(from + s / some) * units + unit + s % some];
      unrolled<vectors>([&](auto v) { sum[s][v].write(to_sum + v * longest_vector<Scalar>); });
    });
  }

  void make_between(int unit, const Sums<1>& KOKKOS_RESTRICT input, const Sums<1>& KOKKOS_RESTRICT hidden,
                    const Scalar* KOKKOS_RESTRICT state, Scalar* KOKKOS_RESTRICT between) const {
    const int H = weights.hidden_size;
    for (int lane = 0; lane < lanes; ++lane) {
      Scalar of_input[gates], of_hidden[gates], own[states];
      unrolled<gates>([&](auto g) { of_input[g] = input.of[g][lane]; });
      unrolled<early>([&](auto g) { of_hidden[g] = hidden.of[g][lane]; });
      unrolled<Gates::late>([&](auto g) { of_hidden[early + g] = Scalar(0); });
      unrolled<states>([&](auto s) { own[s] = state[(s * H + unit) * lanes + lane]; });
      between[unit * lanes + lane] = unit_step.of.between(of_input, of_hidden, own);
    }
  }

  // Restrict: compilers check only so many pairs of arrays for overlaps, then give vector code up.
  template <int u, int units>
  void activate(int unit, const Sums<units>& KOKKOS_RESTRICT input, const Sums<units>& KOKKOS_RESTRICT hidden,
                const Scalar* KOKKOS_RESTRICT state, Scalar* KOKKOS_RESTRICT next) const {
    const int H = weights.hidden_size;
    Scalar own_weights[Unit::weights];
    unrolled<Gates::unit_weights>([&](auto k) { own_weights[k] = weights.unit_weights[k * width + unit]; });
    for (int lane = 0; lane < lanes; ++lane) {
      Scalar of_input[gates], of_hidden[gates], own[states], own_next[states];
      unrolled<gates>([&](auto g) {
        of_input[g] = input.of[g * units + u][lane];
        of_hidden[g] = hidden.of[g * units + u][lane];
      });
      unrolled<states>([&](auto s) { own[s] = state[(s * H + unit) * lanes + lane]; });
      unit_step.next(of_input, of_hidden, own_weights, own, own_next);
      unrolled<states>([&](auto s) { next[(s * H + unit) * lanes + lane] = own_next[s]; });
    }
  }
};

}  // namespace elaphos::impl

#endif
