// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_INTERLEAVED_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_INTERLEAVED_KERNEL_HPP

#include "gated_tangent.hpp"
#include "lane_vector.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/lockstep.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/plain_step.hpp>

#include <cstdint>
#include <cstring>
#include <utility>

namespace elaphos::impl {

/// Segments that `GatedInterleavedKernel` advances together.
inline constexpr int segments_interleaved = 4;

/// Advances segments of a gated cell on one thread, a few at a time, vectors over units: a weight is read once for all of
/// them, and one's arithmetic fills the time that another's gates take.
///
/// Each place holds a segment until that has ended or merged, then the next one of the share: nobody waits for the
/// others. The arithmetic of `GatedHostKernel` in its order, so that bits agree; merges are exact ones, see
/// `GatedLanesKernel`. Needs no transposing, so it is the one for states that fill a vector. Per step and segment
/// G H (H + I) multiply-adds and about G H transcendental functions; memory traffic I + D numbers (+ D to merge).
template <class Gates, class Scalar, int Width>
struct GatedInterleavedKernel {
  /// Narrower states leave vectors half empty, and of wider ones lanes share more of each weight's way from the cache.
  static constexpr bool is_compiled = Gates::recurrent && Gates::late == 0 && (Width == 16 || Width == 32);
  static constexpr int gates = Gates::count, states = Gates::states;
  static constexpr int places = segments_interleaved;
  static constexpr int row = places * Width;  // a gate's numbers, of all places: (place, unit)

  PackedWeights<Scalar> weights;
  GatedUnit<Gates, Scalar> unit_step;
  SegmentArguments<Scalar> arguments;

  /// At least one segment, and every unit sees all others. One copy of it, however many kernels call it.
  ELAPHOS_IMPL_ONE_COPY void advance(ActiveShare share) const {
    alignas(64) Scalar memory[2][states * row] = {};
    alignas(64) Scalar own_weights[Unit::weights * row] = {};
    for (int k = 0; k < Gates::unit_weights; ++k) {
      for (int j = 0; j < row; ++j) own_weights[k * row + j] = weights.unit_weights[k * Width + j % Width];
    }
    Scalar *state = memory[0], *next = memory[1];
    PreActivations at;
    Place place[places];
    int live = 0;
    for (int s = 0; s < places; ++s) {
      place[s].x = place[0].x;  // without a segment it goes on with what another one has, and stores nothing
      live += begin(share, place[s], s, state) ? 1 : 0;
    }
    const std::int64_t x_stride = arguments.problem.batch * weights.input_size,
                       y_stride = arguments.problem.batch * states * weights.hidden_size;
    while (live > 0) {
      const Scalar *x[places], *h[places];
      for (int s = 0; s < places; ++s) {
        x[s] = place[s].x;
        h[s] = state + s * Width;
      }
      multiply(weights.input_weights, weights.input_bias, x, weights.input_size, at.input);
      multiply(weights.hidden_weights, weights.hidden_bias, h, weights.hidden_size, at.hidden);
      activate(at, own_weights, state, next);
      for (int s = 0; s < places; ++s) {
        Place& here = place[s];
        if (here.left == 0) continue;
        const bool merged = here.may_merge && identical(next, s, here.y);
        if (!merged) store(next, s, here.y);
        ++here.run;
        here.left = merged ? 0 : here.left - 1;
        if (here.left > 0) {
          here.x += x_stride;
          here.y += y_stride;
        } else {
          record_run(arguments.records[here.flat], here.run, merged, Scalar(0), infinite<Scalar>());
          live -= begin(share, here, s, next) ? 0 : 1;
        }
      }
      std::swap(state, next);
    }
  }

 private:
  using Unit = GatedUnit<Gates, Scalar>;

  struct Place {
    const Scalar* x = nullptr;
    Scalar* y = nullptr;
    std::int64_t left = 0;  // steps to go; 0: no segment
    std::int64_t run = 0;
    std::int64_t flat = 0;
    bool may_merge = false;
  };

  struct PreActivations {
    alignas(64) Scalar input[gates * row];
    alignas(64) Scalar hidden[gates * row];
  };

  // Takes the share's next segment, if there is one.
  bool begin(ActiveShare& share, Place& here, int s, Scalar* state) const {
    const Problem<Scalar>& problem = arguments.problem;
    while (share.first < share.last) {
      const SegmentRange range = segment_range(arguments, share.first++);
      SegmentRecord<Scalar>& record = arguments.records[range.flat];
      if (range.begin == range.end) {
        record_run(record, 0, false, Scalar(0), infinite<Scalar>());
        continue;
      }
      const std::int64_t entry = range.begin * problem.batch + range.sequence;
      const bool may_merge = arguments.pass == Pass::propagate && MergeTest<Scalar>(record, arguments.merge).possible();
      const int D = states * weights.hidden_size;
      here = {problem.inputs.row(0, entry), problem.y + entry * D, range.end - range.begin, 0, range.flat, may_merge};
      copy_rows(arguments.nodes + range.flat * D, weights.hidden_size, state + s * Width, row);
      return true;
    }
    return false;
  }

  // So many numbers of each state, between memory and the padded rows.
  void copy_rows(const Scalar* from, int from_stride, Scalar* to, int to_stride) const {
    for (int i = 0; i < states; ++i) {
      std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(Scalar) * std::size_t(weights.hidden_size));
    }
  }
  void store(const Scalar* state, int s, Scalar* to) const {
    copy_rows(state + s * Width, row, to, weights.hidden_size);
  }

  bool identical(const Scalar* state, int s, const Scalar* stored) const {
    const int H = weights.hidden_size;
    bool same = true;
    for (int i = 0; i < states; ++i) {
      same = same && std::memcmp(state + i * row + s * Width, stored + i * H, sizeof(Scalar) * std::size_t(H)) == 0;
    }
    return same;
  }

  // A vector of units, and how many of them a product makes at a time, for all places: what the registers hold.
#if defined(__AVX512F__)
  static constexpr int most_sums = 24;
#else
  static constexpr int most_sums = 12;
#endif
  static constexpr int vector = Width < longest_vector<Scalar> ? Width : longest_vector<Scalar>;
  static constexpr int vectors_at_a_time() {
    int some = most_sums / places;
    while (gates * Width / vector % some != 0) --some;
    return some;
  }

  // out(gate, place, unit) = start + sum over k of the place's factor k * column k, in ascending order of k.
  static void multiply(const Scalar* columns, const Scalar* start, const Scalar* const (&factors)[places], int count,
                       Scalar* out) {
    constexpr int some = vectors_at_a_time();
    for (int first = 0; first < gates * Width; first += some * vector) {
      LaneVector<Scalar, vector> sums[places][some];
      unrolled<places>([&](auto s) { unrolled<some>([&](auto v) { sums[s][v].read(start + first + v * vector); }); });
      for (int k = 0; k < count; ++k) {
        const Scalar* column = columns + std::int64_t(k) * gates * Width + first;
        LaneVector<Scalar, vector> weight[some];
        unrolled<some>([&](auto v) { weight[v].read(column + v * vector); });
        unrolled<places>([&](auto s) {
          const LaneVector<Scalar, vector> factor(factors[s][k]);
          unrolled<some>([&](auto v) { sums[s][v].add_product(factor, weight[v]); });
        });
      }
      unrolled<some>([&](auto v) {
        const int c = first + v * vector, gate = c / Width;
        unrolled<places>([&](auto s) { sums[s][v].write(out + gate * row + s * Width + (c - gate * Width)); });
      });
    }
  }

  // So many at a time that the compiler mixes the chains of two registers, see performance.md. Restrict: compilers check
  // only so many pairs of arrays for overlaps, then give vector code up.
  void activate(const PreActivations& KOKKOS_RESTRICT at, const Scalar* KOKKOS_RESTRICT all_weights,
                const Scalar* KOKKOS_RESTRICT state, Scalar* KOKKOS_RESTRICT next) const {
    constexpr int some = int(128 / sizeof(Scalar)) < row ? int(128 / sizeof(Scalar)) : row;
    for (int first = 0; first < row; first += some) {
      for (int j = first; j < first + some; ++j) {
        Scalar input[gates], hidden[gates], own_weights[Unit::weights], own[states], own_next[states];
        unrolled<gates>([&](auto g) {
          input[g] = at.input[g * row + j];
          hidden[g] = at.hidden[g * row + j];
        });
        unrolled<Gates::unit_weights>([&](auto k) { own_weights[k] = all_weights[k * row + j]; });
        unrolled<states>([&](auto i) { own[i] = state[i * row + j]; });
        unit_step.next(input, hidden, own_weights, own, own_next);
        unrolled<states>([&](auto i) { next[i * row + j] = own_next[i]; });
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
