// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_THREAD_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_THREAD_KERNEL_HPP

#include "thread_walk.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/step_site.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Advances one segment of a narrow gated cell on one thread of a device, without derivatives: all units in its
/// registers, and weights from the cache, where the threads of a warp ask for the same ones.
///
/// Per step G H (H + I) multiply-adds and about G H transcendental functions; I + D numbers of memory (+ D to merge),
/// each thread in its own rows: neighbouring steps share the cache's lines. Sums run as in `GatedTeamKernel`, so that
/// the bits are the same.
template <class Gates, class Scalar, int Width>
struct GatedThreadKernel {
  static constexpr int gates = Gates::count, states = Gates::states, row = gates * Width;
  static constexpr int early = gates - Gates::late;  // gates whose product is with h
  using Unit = GatedUnit<Gates, Scalar>;
  using Sums = Scalar[gates][Width];
  using State = Scalar[states][Width];

  PackedWeights<Scalar> weights;
  Unit unit_step;
  SegmentArguments<Scalar> arguments;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    if (!arguments.has(index)) return;
    const SegmentRange range = segment_range(arguments, index);
    if (arguments.pass == Pass::verify) {
      verify(range);
    } else {
      advance(range);
    }
  }

 private:
  template <int units>
  KOKKOS_FORCEINLINE_FUNCTION void walk(const SegmentRange& range, bool may_merge) const {
    ThreadWalk<Gates, Scalar, Width, units> walk(weights, unit_step, arguments, range);
    const Scalar* node = arguments.nodes + range.flat * states * weights.hidden_size;
    bool merged = false;
    const std::int64_t steps_run =
        may_merge ? walk.template run<true>(node, merged) : walk.template run<false>(node, merged);
    record_run(arguments.records[range.flat], steps_run, merged, Scalar(0), infinite<Scalar>());
  }

  // sums += factor * a row of weights, of gates from ... to - 1.
  template <int from, int to>
  KOKKOS_FORCEINLINE_FUNCTION static void add(Scalar factor, const Scalar* column, Sums& sums) {
    constexpr int pack = Pack<Scalar>::size;
    ELAPHOS_UNROLL
    for (int g = from; g < to; ++g) {
      ELAPHOS_UNROLL
      for (int unit = 0; unit < Width; unit += pack) {
        const Pack<Scalar> some = read_pack(column + g * Width + unit);
        ELAPHOS_UNROLL
        for (int v = 0; v < pack; ++v) sums[g][unit + v] = multiply_add(factor, some.v[v], sums[g][unit + v]);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION static void start(const Scalar* bias, Sums& sums) {
    ELAPHOS_UNROLL
    for (int g = 0; g < gates; ++g) {
      ELAPHOS_UNROLL
      for (int unit = 0; unit < Width; ++unit) sums[g][unit] = bias[g * Width + unit];
    }
  }

  template <int from, int to>
  KOKKOS_FORCEINLINE_FUNCTION void multiply_hidden(const Scalar (&factors)[Width], Sums& sums) const {
    const int H = weights.hidden_size, K = weights.head_size;
    ELAPHOS_UNROLL
    for (int k = 0; k < Width; ++k) {
      if (K == H) {
        add<from, to>(factors[k], weights.hidden_weights + k * row, sums);
        continue;
      }
      if (k >= H) continue;
      ELAPHOS_UNROLL
      for (int unit = 0; unit < Width; ++unit) {
        if (unit >= H || unit / K != k / K) continue;
        ELAPHOS_UNROLL
        for (int g = from; g < to; ++g) {
          sums[g][unit] =
              multiply_add(factors[k], weights.hidden_weights[k % K * row + g * Width + unit], sums[g][unit]);
        }
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void step(std::int64_t entry, const State& state, State& next) const {
    Sums input, hidden;
    start(weights.input_bias, input);
    const InputBlocks<Scalar>& inputs = arguments.problem.inputs;
    const Scalar* column = weights.input_weights;
    for (int block = 0; block < inputs.count; ++block) {
      const Scalar* x = inputs.row(block, entry);
      for (int i = 0; i < inputs.sizes[block]; ++i) {
        add<0, gates>(x[i], column, input);
        column += row;
      }
    }
    start(weights.hidden_bias, hidden);
    if constexpr (Gates::recurrent) multiply_hidden<0, early>(state[0], hidden);
    if constexpr (Gates::late > 0) {
      Scalar between[Width];
      for_each_unit(
          [&](int unit, const Scalar(&of_input)[gates], const Scalar(&of_hidden)[gates], const Scalar(&)[Unit::weights],
              const Scalar(&own)[states]) { between[unit] = unit_step.of.between(of_input, of_hidden, own); },
          input, hidden, state);
      multiply_hidden<early, gates>(between, hidden);
    }
    for_each_unit(
        [&](int unit, const Scalar(&of_input)[gates], const Scalar(&of_hidden)[gates],
            const Scalar(&own_weights)[Unit::weights], const Scalar(&own)[states]) {
          Scalar own_next[states];
          unit_step.next(of_input, of_hidden, own_weights, own, own_next);
          ELAPHOS_UNROLL
          for (int s = 0; s < states; ++s) next[s][unit] = own_next[s];
        },
        input, hidden, state);
  }

  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_unit(const Body& body, const Sums& input, const Sums& hidden,
                                                 const State& state) const {
    ELAPHOS_UNROLL
    for (int unit = 0; unit < Width; ++unit) {
      Scalar of_input[gates], of_hidden[gates], own_weights[Unit::weights] = {}, own[states];
      ELAPHOS_UNROLL
      for (int g = 0; g < gates; ++g) {
        of_input[g] = input[g][unit];
        of_hidden[g] = hidden[g][unit];
      }
      ELAPHOS_UNROLL
      for (int k = 0; k < Gates::unit_weights; ++k) own_weights[k] = weights.unit_weights[k * Width + unit];
      ELAPHOS_UNROLL
      for (int s = 0; s < states; ++s) own[s] = state[s][unit];
      body(unit, of_input, of_hidden, own_weights, own);
    }
  }

  // body(s, unit, place) for the cell's own units; padded ones stay at 0.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_number(const Body& body) const {
    const int H = weights.hidden_size;
    ELAPHOS_UNROLL
    for (int s = 0; s < states; ++s) {
      ELAPHOS_UNROLL
      for (int unit = 0; unit < Width; ++unit) {
        if (unit < H) body(s, unit, s * H + unit);
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void load(const Scalar* from, State& state) const {
    for_each_number([&](int s, int unit, int place) { state[s][unit] = from[place]; });
  }

  KOKKOS_FORCEINLINE_FUNCTION static void copy(const State& from, State& to) {
    ELAPHOS_UNROLL
    for (int s = 0; s < states; ++s) {
      ELAPHOS_UNROLL
      for (int unit = 0; unit < Width; ++unit) to[s][unit] = from[s][unit];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void advance(const SegmentRange& range) const {
    const Problem<Scalar>& problem = arguments.problem;
    SegmentRecord<Scalar>& record = arguments.records[range.flat];
    const int D = states * weights.hidden_size;
    MergeTest<Scalar> test(record, arguments.merge);
    const bool may_merge = arguments.pass == Pass::propagate && test.possible();
    if constexpr (Gates::recurrent && Gates::late == 0) {
      const InputBlocks<Scalar>& inputs = problem.inputs;
      const int H = weights.hidden_size;
      const bool plain = !problem.division.divided() && weights.head_size == H && inputs.count == 1;
      if (plain && (!may_merge || test.exact_only())) {
        if (H == 1 && inputs.sizes[0] <= 1) return walk<1>(range, may_merge);
        if (H == 2 && inputs.sizes[0] <= 2) return walk<2>(range, may_merge);
        if (inputs.sizes[0] <= Width) return walk<Width>(range, may_merge);
      }
    }
    State state = {}, next;
    load(arguments.nodes + range.flat * D, state);

    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    std::int64_t t = range.begin;
    bool merged = false;
    while (t < range.end && !merged) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      Scalar* y = problem.y + entry * D;
      const StepSite<Scalar> site = cursor.site(t);
      if (site.beginning != nullptr) load(site.beginning, state);
      if (site.held) {
        copy(state, next);
      } else {
        step(entry, state, next);
      }
      if (may_merge) {
        StateDifference<Scalar> apart;
        for_each_number([&](int s, int unit, int place) {
          apart.add(next[s][unit], y[place], arguments.absolute_tolerance, arguments.relative_tolerance);
        });
        merged = test.merged(apart);
      }
      // At a merge the stored state stays, so that the jump lies between two neighbouring steps.
      if (!merged) for_each_number([&](int s, int unit, int place) { y[place] = next[s][unit]; });
      copy(next, state);
      ++t;
    }
    record_run(record, t - range.begin, merged, merged ? test.jump() : Scalar(0), infinite<Scalar>());
  }

  KOKKOS_FORCEINLINE_FUNCTION void verify(const SegmentRange& range) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int D = states * weights.hidden_size;
    Scalar residual = 0;
    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    for (std::int64_t t = range.begin; t < range.end; ++t) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      const StepSite<Scalar> site = cursor.site(t);
      State state = {}, next;
      load(state_before(problem, site, range.sequence, t), state);
      copy(state, next);
      if (!site.held) step(entry, state, next);
      StateDifference<Scalar> apart;
      const Scalar* stored = problem.y + entry * D;
      for_each_number(
          [&](int s, int unit, int place) { apart.add(next[s][unit], stored[place], Scalar(1), Scalar(0)); });
      if (apart.absolute > residual) residual = apart.absolute;
    }
    arguments.records[range.flat].jump = residual;
  }
};

}  // namespace elaphos::impl

#endif
