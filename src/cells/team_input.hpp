// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_TEAM_INPUT_HPP
#define ELAPHOS_SRC_CELLS_TEAM_INPUT_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/problem.hpp>
#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The gates' input parts W x + b of a segment's next few steps, a tile, made ahead of the steps themselves: they wait
/// for nothing, and a weight that is read serves several steps.
///
/// `Produced`: by warps of their own (`TeamProducer`) into two tiles in turn; else by the lanes that make the steps.
/// A lane makes `steps_of_lane` steps of its unit. Per step G H I multiply-adds and I numbers from memory; for each
/// weight that a lane reads, from the cache, it does `steps_of_lane` of them.
template <class Gates, class Scalar, int Width, int Lanes, bool Produced>
struct TeamInput {
  static constexpr int gates = Gates::count;
  static constexpr int makers = Width < warp_size ? warp_size : Width;  // lanes, where they do nothing else
  static constexpr int parts = Produced ? makers / Width : Lanes;       // lanes that share a unit's steps
  static constexpr int steps_of_lane = Produced ? 8 / parts : (sizeof(Scalar) == 4 ? 8 : 4) / (Lanes > 2 ? 2 : 1);
  static constexpr int steps = steps_of_lane * parts;
  static constexpr int staged = Produced ? makers : 32;  // inputs of all these steps that are in scratch at a time
  static constexpr int tiles = Produced ? 2 : 1;
  static constexpr int tile = steps * gates * Width;

  // In scratch.
  static constexpr int sums = 0;                        // (tiles, steps, gates, Width)
  static constexpr int inputs = sums + tiles * tile;    // (staged, steps)
  static constexpr int stop = inputs + staged * steps;  // (tiles) ints: this one is not wanted, nor are any behind it
  static constexpr int scalars = stop + (Produced ? 4 : 0);

  const Problem<Scalar>& problem;
  const PackedWeights<Scalar>& weights;
  Scalar* const scratch;
  const int unit;
  const int part;  // of the lanes that share the unit's steps
  const int lane;  // of all that make tiles
  const int lanes;

  /// Whether all inputs of a step are staged at once.
  KOKKOS_FORCEINLINE_FUNCTION bool fits() const {
    return problem.inputs.count == 1 && problem.inputs.sizes[0] <= staged;
  }

  /// Asks for this lane's input of all steps from t on, where they fit; beyond the segment's end its last one stands
  /// in.
  KOKKOS_FORCEINLINE_FUNCTION void fetch(int block, int input, std::int64_t sequence, std::int64_t t, std::int64_t end,
                                         Scalar (&x)[steps]) const {
    const std::int64_t stride = problem.batch * problem.inputs.sizes[block], last = end - 1 - t;
    const Scalar* from = problem.inputs.row(block, t * problem.batch + sequence) + input;
    ELAPHOS_UNROLL
    for (int s = 0; s < steps; ++s) x[s] = from[(s < last ? s : last) * stride];
  }
  KOKKOS_FORCEINLINE_FUNCTION void put(int place, const Scalar (&x)[steps]) const {
    write_numbers(scratch + inputs + place * steps, x);
  }

  /// Makes the steps from t on. All lanes call it; `sync` makes what they wrote to scratch visible to all.
  template <class Sync>
  KOKKOS_FORCEINLINE_FUNCTION void make(int slot, std::int64_t sequence, std::int64_t t, std::int64_t end,
                                        const Sync& sync) const {
    Scalar sum[steps_of_lane][gates];
    start(sum);
    const Scalar* columns = weights.input_weights + unit;
    for (int block = 0; block < problem.inputs.count; ++block) {
      const int size = problem.inputs.sizes[block];
      for (int first = 0; first < size; first += staged) {
        const int count = size - first < staged ? size - first : staged;
        sync();
        ELAPHOS_UNROLL_BY(1)
        for (int i = lane; i < count; i += lanes) {
          Scalar x[steps];
          fetch(block, first + i, sequence, t, end, x);
          put(i, x);
        }
        sync();
        add_staged(count, columns, sum);
      }
    }
    keep(slot, sum);
    // One lane's own sums it sees at once.
    if constexpr (Lanes > 1 && !Produced) sync();
  }

  /// The same of inputs that are staged.
  KOKKOS_FORCEINLINE_FUNCTION void make_staged(int slot) const {
    Scalar sum[steps_of_lane][gates];
    start(sum);
    const Scalar* columns = weights.input_weights + unit;
    add_staged(problem.inputs.sizes[0], columns, sum);
    keep(slot, sum);
  }

  KOKKOS_FORCEINLINE_FUNCTION void read(int slot, int step, Scalar (&input)[gates]) const {
    for (int g = 0; g < gates; ++g) input[g] = scratch[sums + slot * tile + (step * gates + g) * Width + unit];
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void start(Scalar (&sum)[steps_of_lane][gates]) const {
    ELAPHOS_UNROLL
    for (int s = 0; s < steps_of_lane; ++s) {
      for (int g = 0; g < gates; ++g) sum[s][g] = weights.input_bias[g * Width + unit];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void keep(int slot, const Scalar (&sum)[steps_of_lane][gates]) const {
    Scalar* const to = scratch + sums + slot * tile;
    ELAPHOS_UNROLL
    for (int s = 0; s < steps_of_lane; ++s) {
      for (int g = 0; g < gates; ++g) to[((part * steps_of_lane + s) * gates + g) * Width + unit] = sum[s][g];
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void add_staged(int count, const Scalar*& columns,
                                              Scalar (&sum)[steps_of_lane][gates]) const {
    // Where the same lanes make the steps, registers hold their weights.
    ELAPHOS_UNROLL_BY(Produced ? 4 : 2)
    for (int i = 0; i < count; ++i) {
      add(scratch + inputs + i * steps + part * steps_of_lane, columns, sum);
      columns += gates * Width;
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void add(const Scalar* x, const Scalar* column,
                                       Scalar (&sum)[steps_of_lane][gates]) const {
    Scalar weight[gates];
    for (int g = 0; g < gates; ++g) weight[g] = column[g * Width];
    constexpr int pack = Pack<Scalar>::size;
    if constexpr (steps_of_lane % pack == 0) {
      ELAPHOS_UNROLL
      for (int s = 0; s < steps_of_lane; s += pack) {
        const Pack<Scalar> some = read_pack(x + s);
        ELAPHOS_UNROLL
        for (int v = 0; v < pack; ++v) {
          for (int g = 0; g < gates; ++g) sum[s + v][g] = multiply_add(some.v[v], weight[g], sum[s + v][g]);
        }
      }
    } else {
      ELAPHOS_UNROLL
      for (int s = 0; s < steps_of_lane; ++s) {
        for (int g = 0; g < gates; ++g) sum[s][g] = multiply_add(x[s], weight[g], sum[s][g]);
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
