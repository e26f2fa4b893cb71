// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_TEAM_INPUT_HPP
#define ELAPHOS_SRC_CELLS_TEAM_INPUT_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/problem.hpp>
#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The gates' input parts W x + b of a segment's next few steps, made by its team ahead of the steps themselves: they
/// wait for nothing, and a weight that is read serves several steps.
///
/// A lane makes `steps_of_lane` steps of its unit. Per step G H I multiply-adds and I numbers from memory; for each
/// weight that a lane reads, from the cache, it does `steps_of_lane` of them.
template <class Gates, class Scalar, int Width, int Lanes>
struct TeamInput {
  static constexpr int gates = Gates::count;
  static constexpr int steps_of_lane = (sizeof(Scalar) == 4 ? 8 : 4) / (Lanes > 2 ? 2 : 1);
  static constexpr int steps = steps_of_lane * Lanes;
  static constexpr int staged = 32;  // inputs of all these steps that are in scratch at a time

  // In scratch.
  static constexpr int sums = 0;                               // (steps, gates, Width)
  static constexpr int inputs = sums + steps * gates * Width;  // (staged, steps)
  static constexpr int scalars = inputs + staged * steps;

  const Problem<Scalar>& problem;
  const PackedWeights<Scalar>& weights;
  Scalar* const scratch;
  const int unit;
  const int part;   // of the lanes that share the unit
  const int lane;   // of all of the team
  const int lanes;  // in the team

  /// Makes the steps from t on; beyond the segment's end its last one stands in. All lanes call it; `sync` makes what
  /// they wrote to scratch visible to all.
  template <class Sync>
  KOKKOS_FORCEINLINE_FUNCTION void make(std::int64_t sequence, std::int64_t t, std::int64_t end,
                                        const Sync& sync) const {
    Scalar sum[steps_of_lane][gates];
    ELAPHOS_UNROLL
    for (int s = 0; s < steps_of_lane; ++s) {
      for (int g = 0; g < gates; ++g) sum[s][g] = weights.input_bias[g * Width + unit];
    }
    const Scalar* columns = weights.input_weights + unit;
    for (int block = 0; block < problem.inputs.count; ++block) {
      const int size = problem.inputs.sizes[block];
      for (int first = 0; first < size; first += staged) {
        const int count = size - first < staged ? size - first : staged;
        sync();
        stage(block, first, count, sequence, t, end);
        sync();
        // No further: the registers hold weights.
        ELAPHOS_UNROLL_BY(2)
        for (int i = 0; i < count; ++i) {
          add(scratch + inputs + i * steps + part * steps_of_lane, columns, sum);
          columns += gates * Width;
        }
      }
    }
    ELAPHOS_UNROLL
    for (int s = 0; s < steps_of_lane; ++s) {
      for (int g = 0; g < gates; ++g) {
        scratch[sums + ((part * steps_of_lane + s) * gates + g) * Width + unit] = sum[s][g];
      }
    }
    // One lane's own sums it sees at once.
    if constexpr (Lanes > 1) sync();
  }

  KOKKOS_FORCEINLINE_FUNCTION void read(int step, Scalar (&input)[gates]) const {
    for (int g = 0; g < gates; ++g) input[g] = scratch[sums + (step * gates + g) * Width + unit];
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void stage(int block, int first, int count, std::int64_t sequence, std::int64_t t,
                                         std::int64_t end) const {
    const std::int64_t stride = problem.batch * problem.inputs.sizes[block], last = end - 1 - t;
    ELAPHOS_UNROLL_BY(1)
    for (int i = lane; i < count; i += lanes) {
      const Scalar* from = problem.inputs.row(block, t * problem.batch + sequence) + first + i;
      Scalar x[steps];
      ELAPHOS_UNROLL
      for (int s = 0; s < steps; ++s) x[s] = from[(s < last ? s : last) * stride];
      write_numbers(scratch + inputs + i * steps, x);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(const Scalar* x, const Scalar* column,
                                       Scalar (&sum)[steps_of_lane][gates]) const {
    Scalar weight[gates];
    for (int g = 0; g < gates; ++g) weight[g] = column[g * Width];
    constexpr int pack = Pack<Scalar>::size;
    ELAPHOS_UNROLL
    for (int s = 0; s < steps_of_lane; s += pack) {
      const Pack<Scalar> some = read_pack(x + s);
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) {
        for (int g = 0; g < gates; ++g) sum[s + v][g] = multiply_add(some.v[v], weight[g], sum[s + v][g]);
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
