// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_HOST_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_HOST_KERNEL_HPP

#include "carried_sensitivity.hpp"
#include "gated_tangent.hpp"
#include "lane_vector.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/step_site.hpp>

#include <cstdint>
#include <cstring>
#include <utility>

namespace elaphos::impl {

/// Advances one segment of a gated cell on one thread: vector lanes over hidden units, weights from the cache.
///
/// A core has few, wide and fast lanes, so it takes a segment alone; a device needs a team for one (gated_team_kernel).
/// Per step: G H (H + I) multiply-adds and about G H transcendental functions; memory traffic I + D numbers (+ D to
/// merge). A state in registers is (states, Width), that of memory (states, H).
template <class Gates, class Scalar, int Width>
struct GatedHostKernel {
  static constexpr int gates = Gates::count;
  static constexpr int states = Gates::states;
  static constexpr int row = gates * Width;
  static constexpr int early_row = (gates - Gates::late) * Width;  // gates whose product is with h
  // Those of late gates are dear, and without recurrent weights the diagonal is all.
  static constexpr bool dense_fits = Gates::recurrent && (Gates::late == 0 || Width <= 32);

  PackedWeights<Scalar> weights;
  GatedUnit<Gates, Scalar> unit_step;
  SegmentArguments<Scalar> arguments;

  void operator()(std::int64_t index) const {
    if (!arguments.has(index)) return;
    const SegmentRange range = segment_range(arguments, index);
    SegmentRecord<Scalar>& record = arguments.records[range.flat];
    if (arguments.pass == Pass::verify) {
      verify(range, record);
    } else {
      with_sensitivity<Gates, dense_fits>(arguments.sensitivity,
                                          [&](auto carried) { advance<decltype(carried)::value>(range, record); });
    }
  }

 private:
  // Pre-activations of all gates, W x + b and W h + b apart, unit index fastest.
  struct PreActivations {
    alignas(64) Scalar input[row];
    alignas(64) Scalar hidden[row] = {};

    void gather(int unit, Scalar (&of_input)[gates], Scalar (&of_hidden)[gates]) const {
      unrolled<gates>([&](auto g) {
        of_input[g] = input[g * Width + unit];
        of_hidden[g] = hidden[g * Width + unit];
      });
    }
  };

  void pre_activate(const Scalar* state, std::int64_t entry, PreActivations& out) const {
    multiply_input(entry, out.input);
    if constexpr (Gates::recurrent) multiply_hidden<0, early_row>(state, out);
    if constexpr (Gates::late > 0) {
      alignas(64) Scalar between[Width];
      make_between(out, state, between);
      multiply_hidden<early_row, row>(between, out);
    }
  }

  void multiply_input(std::int64_t entry, Scalar* out) const {
    const InputBlocks<Scalar>& inputs = arguments.problem.inputs;
    const Scalar* columns = weights.input_weights;
    const Scalar* sums = weights.input_bias;
    for (int block = 0; block < inputs.count; ++block) {
      multiply<0, row>(columns, sums, inputs.row(block, entry), inputs.sizes[block], out);
      columns += std::int64_t(inputs.sizes[block]) * row;
      sums = out;
    }
  }

  void make_between(const PreActivations& KOKKOS_RESTRICT at, const Scalar* KOKKOS_RESTRICT state,
                    Scalar* KOKKOS_RESTRICT between) const {
    for (int unit = 0; unit < Width; ++unit) {
      Scalar input[gates], hidden[gates], own[states];
      at.gather(unit, input, hidden);
      unrolled<states>([&](auto s) { own[s] = state[s * Width + unit]; });
      between[unit] = unit_step.of.between(input, hidden, own);
    }
  }

  // A vector of units, and how many of them a product makes at a time: a divisor of all, that the registers hold.
  static constexpr int vector = Width < longest_vector<Scalar> ? Width : longest_vector<Scalar>;
  static constexpr int vectors_at_a_time(int all) {
    int some = 12;
    while (all % some != 0) --some;
    return some;
  }

  template <int from, int to>
  void multiply_hidden(const Scalar* factors, PreActivations& out) const {
    if (weights.head_size == weights.hidden_size) {
      multiply<from, to>(weights.hidden_weights, weights.hidden_bias, factors, weights.hidden_size, out.hidden);
    } else {
      multiply_heads<from, to>(factors, out.hidden);
    }
  }

  // out = start + sum over k of factor[k] * column k, in ascending order of k; of entries from ... to - 1.
  template <int from, int to>
  static void multiply(const Scalar* columns, const Scalar* start, const Scalar* factors, int count, Scalar* out) {
    constexpr int some = vectors_at_a_time((to - from) / vector);
    for (int first = from; first < to; first += some * vector) {
      LaneVector<Scalar, vector> sums[some];
      unrolled<some>([&](auto v) { sums[v].read(start + first + v * vector); });
      for (int k = 0; k < count; ++k) {
        const LaneVector<Scalar, vector> factor(factors[k]);
        const Scalar* column = columns + std::int64_t(k) * row + first;
        unrolled<some>([&](auto v) {
          LaneVector<Scalar, vector> weight;
          weight.read(column + v * vector);
          sums[v].add_product(factor, weight);
        });
      }
      unrolled<some>([&](auto v) { sums[v].write(out + first + v * vector); });
    }
  }

  // The same where units see their own head only: k counts within it.
  template <int from, int to>
  void multiply_heads(const Scalar* factors, Scalar* out) const {
    const int H = weights.hidden_size, K = weights.head_size;
    for (int c = from; c < to; ++c) out[c] = weights.hidden_bias[c];
    for (int k = 0; k < K; ++k) {
      alignas(64) Scalar seen[Width] = {};
      for (int unit = 0; unit < H; ++unit) seen[unit] = factors[unit - unit % K + k];
      const Scalar* column = weights.hidden_weights + std::int64_t(k) * row;
      for (int g = from; g < to; g += Width) {
        for (int unit = 0; unit < Width; ++unit) {
          out[g + unit] = multiply_add(seen[unit], column[g + unit], out[g + unit]);
        }
      }
    }
  }

  using Partials = GatedPartials<Gates, Scalar, Width>;
  using Unit = GatedUnit<Gates, Scalar>;

  // Restrict: compilers check only so many pairs of arrays for overlaps, then give vector code up.
  void activate(const PreActivations& KOKKOS_RESTRICT at, const Scalar* KOKKOS_RESTRICT state,
                Scalar* KOKKOS_RESTRICT next) const {
    for (int unit = 0; unit < Width; ++unit) {
      Scalar input[gates], hidden[gates], own_weights[Unit::weights], own[states], own_next[states];
      at.gather(unit, input, hidden);
      gather(unit, state, own_weights, own);
      unit_step.next(input, hidden, own_weights, own, own_next);
      unrolled<states>([&](auto s) { next[s * Width + unit] = own_next[s]; });
    }
  }

  // In one loop with the step, so that the compiler shares the gates' values between the two.
  void activate(const PreActivations& KOKKOS_RESTRICT at, const Scalar* KOKKOS_RESTRICT state,
                Scalar* KOKKOS_RESTRICT next, Partials& KOKKOS_RESTRICT partials) const {
    for (int unit = 0; unit < Width; ++unit) {
      Scalar input[gates], hidden[gates], own_weights[Unit::weights], own[states], own_next[states];
      Scalar by_gate[states][gates], direct[states][states];
      at.gather(unit, input, hidden);
      gather(unit, state, own_weights, own);
      unit_step.next(input, hidden, own_weights, own, own_next);
      unit_step.partials(input, hidden, own_weights, own, by_gate, direct);
      unrolled<states>([&](auto s) {
        next[s * Width + unit] = own_next[s];
        unrolled<gates>([&](auto g) { partials.by_gate[s][g][unit] = by_gate[s][g]; });
        unrolled<states>([&](auto r) { partials.direct[s][r][unit] = direct[s][r]; });
      });
      if constexpr (Gates::late > 0) {
        unit_step.of.between_partials(input, hidden, own, by_gate[0], direct[0]);
        unrolled<gates>([&](auto g) { partials.by_gate[states][g][unit] = by_gate[0][g]; });
        unrolled<states>([&](auto r) { partials.direct[states][r][unit] = direct[0][r]; });
      }
    }
  }

  void gather(int unit, const Scalar* state, Scalar (&own_weights)[Unit::weights], Scalar (&own)[states]) const {
    unrolled<Gates::unit_weights>([&](auto k) { own_weights[k] = weights.unit_weights[k * Width + unit]; });
    unrolled<states>([&](auto s) { own[s] = state[s * Width + unit]; });
  }

  // Between memory and the padded state.
  void load(const Scalar* from, Scalar* state) const {
    const int H = weights.hidden_size;
    for (int s = 0; s < states; ++s) std::memcpy(state + s * Width, from + s * H, sizeof(Scalar) * std::size_t(H));
  }

  void store(const Scalar* state, Scalar* to) const {
    const int H = weights.hidden_size;
    for (int s = 0; s < states; ++s) std::memcpy(to + s * H, state + s * Width, sizeof(Scalar) * std::size_t(H));
  }

  template <Sensitivity Carried>
  void advance(const SegmentRange& range, SegmentRecord<Scalar>& record) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int D = states * weights.hidden_size;
    const bool propagating = arguments.pass == Pass::propagate;
    MergeTest<Scalar> test(record, arguments.merge);
    const bool may_merge = propagating && test.possible();

    // They change places with every step: a copy would be on the way from one step to the next.
    alignas(64) Scalar memory[2][states * Width] = {};
    Scalar* state = memory[0];
    Scalar* next = memory[1];
    load(arguments.nodes + range.flat * D, state);
    PreActivations at;
    GatedTangent<Gates, Scalar, Width, Carried> tangent;
    bool from_node = propagating;  // the state depends on the segment's node

    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    std::int64_t t = range.begin;
    bool merged = false;
    while (t < range.end && !merged) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      const StepSite<Scalar> site = cursor.site(t);
      if (site.beginning != nullptr) {
        load(site.beginning, state);
        tangent.clear();
        from_node = false;
      }
      if (site.held) {
        std::memcpy(next, state, sizeof memory[0]);
      } else {
        pre_activate(state, entry, at);
        if constexpr (Carried == Sensitivity::none) {
          activate(at, state, next);
        } else {
          Partials partials;
          activate(at, state, next, partials);
          if (from_node) tangent.advance(weights, partials, arguments.merge == Merge::tolerance);
        }
      }

      Scalar* y = problem.y + entry * D;
      if (may_merge) merged = test.merged(difference(next, y));
      // At a merge the stored state stays, so that the jump lies between two neighbouring steps.
      if (!merged) store(next, y);
      std::swap(state, next);
      ++t;
    }
    record_run(record, t - range.begin, merged, merged ? test.jump() : Scalar(0), tangent.growth(weights.hidden_size));
    if (propagating && !merged) tangent.store(arguments.sensitivities, range.flat, weights.hidden_size);
  }

  StateDifference<Scalar> difference(const Scalar* next, const Scalar* stored) const {
    StateDifference<Scalar> out;
    const int H = weights.hidden_size;
    bool identical = true;
    for (int s = 0; s < states; ++s) {
      identical = identical && std::memcmp(next + s * Width, stored + s * H, sizeof(Scalar) * std::size_t(H)) == 0;
    }
    if (identical) return out;
    if (arguments.merge == Merge::exact) {
      out.identical = false;
      return out;
    }
    for (int s = 0; s < states; ++s) {
      for (int i = 0; i < H; ++i) {
        out.add(next[s * Width + i], stored[s * H + i], arguments.absolute_tolerance, arguments.relative_tolerance);
      }
    }
    return out;
  }

  void verify(const SegmentRange& range, SegmentRecord<Scalar>& record) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int H = weights.hidden_size, D = states * H;
    alignas(64) Scalar state[states * Width] = {};
    alignas(64) Scalar next[states * Width];
    PreActivations at;
    Scalar residual = 0;
    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    for (std::int64_t t = range.begin; t < range.end; ++t) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      const StepSite<Scalar> site = cursor.site(t);
      load(state_before(problem, site, range.sequence, t), state);
      if (site.held) {
        std::memcpy(next, state, sizeof next);
      } else {
        pre_activate(state, entry, at);
        activate(at, state, next);
      }
      StateDifference<Scalar> apart;
      const Scalar* stored = problem.y + entry * D;
      for (int s = 0; s < states; ++s) {
        for (int i = 0; i < H; ++i) apart.add(next[s * Width + i], stored[s * H + i], Scalar(1), Scalar(0));
      }
      if (apart.absolute > residual) residual = apart.absolute;
    }
    record.jump = residual;
  }
};

}  // namespace elaphos::impl

#endif
