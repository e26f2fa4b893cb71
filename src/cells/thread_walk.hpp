// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_THREAD_WALK_HPP
#define ELAPHOS_SRC_CELLS_THREAD_WALK_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/segment_arguments.hpp>
#include <elaphos/impl/unroll.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Most steps of a narrow cell on a device's thread: plain ones, of one View of at most `units` inputs.
///
/// A thread reads whole tiles of steps ahead, so that it waits for no memory, and holds its weights in registers where
/// they are few. `Width`: of the rows of packed weights; `units`: as many as the cell has, or more.
template <class Gates, class Scalar, int Width, int units>
class ThreadWalk {
  static constexpr int gates = Gates::count, states = Gates::states, row = gates * Width;
  static constexpr bool in_registers = units * sizeof(Scalar) <= 8;
  static constexpr int tile = 8 / units;
  using Unit = GatedUnit<Gates, Scalar>;
  using Inputs = Scalar[tile][units];
  using State = Scalar[states][units];

 public:
  KOKKOS_FORCEINLINE_FUNCTION ThreadWalk(const PackedWeights<Scalar>& weights, const Unit& unit,
                                         const SegmentArguments<Scalar>& arguments, const SegmentRange& range)
      : m_weights(weights),
        m_unit(unit),
        m_problem(arguments.problem),
        m_range(range),
        m_stride(m_problem.batch * states * weights.hidden_size),
        m_inputs(m_problem.inputs.sizes[0]) {
    if constexpr (in_registers) {
      for_each_weight([&](int k, int g, int unit_of, int place) {
        m_of_input[k][g][unit_of] = k < m_inputs ? weights.input_weights[place] : Scalar(0);
        m_of_hidden[k][g][unit_of] = weights.hidden_weights[place];
      });
      ELAPHOS_UNROLL
      for (int g = 0; g < gates; ++g) {
        ELAPHOS_UNROLL
        for (int unit_of = 0; unit_of < units; ++unit_of) {
          m_bias[0][g][unit_of] = weights.input_bias[g * Width + unit_of];
          m_bias[1][g][unit_of] = weights.hidden_bias[g * Width + unit_of];
        }
      }
    }
  }

  /// From the segment's node to its end, or with `merging` to the end of the first tile at which the state is the
  /// stored one in all bits: steps that met it before have made what was there. Returns the number of steps.
  template <bool merging>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t run(const Scalar* node, bool& merged) {
    State state = {};
    for_each_number([&](int s, int unit, int place) { state[s][unit] = node[place]; });
    Scalar* y = m_problem.y + (m_range.begin * m_problem.batch + m_range.sequence) * states * m_weights.hidden_size;
    Inputs ahead;
    fetch(m_range.begin, ahead);
    State stored_ahead = {};
    if constexpr (merging) fetch_stored(m_range.begin, y, stored_ahead);
    merged = false;
    std::int64_t t = m_range.begin;
    while (t < m_range.end && !merged) {
      const int count = m_range.end - t < tile ? static_cast<int>(m_range.end - t) : tile;
      Inputs x;
      State stored;
      copy(ahead, x);
      copy(stored_ahead, stored);
      if (t + tile < m_range.end) {
        fetch(t + tile, ahead);
        if constexpr (merging) fetch_stored(t + tile, y + tile * m_stride, stored_ahead);
      }
      ELAPHOS_UNROLL
      for (int step = 0; step < tile; ++step) {
        if (step >= count) break;
        advance(x[step], state);
        for_each_number([&](int s, int unit, int place) { y[place] = state[s][unit]; });
        y += m_stride;
      }
      t += count;
      if constexpr (merging) {
        merged = true;
        for_each_number([&](int s, int unit, int) { merged = merged && same_bits(state[s][unit], stored[s][unit]); });
      }
    }
    return t - m_range.begin;
  }

 private:
  // The inputs of the tile that begins at step t; beyond the segment's end its last step stands in.
  KOKKOS_FORCEINLINE_FUNCTION void fetch(std::int64_t t, Inputs& x) const {
    const std::int64_t last = m_range.end - 1 - t, stride = m_problem.batch * m_inputs;
    const Scalar* from = m_problem.inputs.row(0, t * m_problem.batch + m_range.sequence);
    ELAPHOS_UNROLL
    for (int step = 0; step < tile; ++step) {
      const Scalar* its = from + (step < last ? step : last) * stride;
      ELAPHOS_UNROLL
      for (int i = 0; i < units; ++i) x[step][i] = i < m_inputs ? its[i] : Scalar(0);
    }
  }

  // The stored state at the end of the tile whose first state is at `y`.
  KOKKOS_FORCEINLINE_FUNCTION void fetch_stored(std::int64_t t, const Scalar* y, State& stored) const {
    const std::int64_t left = m_range.end - t;
    const Scalar* from = y + ((left < tile ? left : std::int64_t(tile)) - 1) * m_stride;
    for_each_number([&](int s, int unit, int place) { stored[s][unit] = from[place]; });
  }

  KOKKOS_FORCEINLINE_FUNCTION void advance(const Scalar (&x)[units], State& state) const {
    Scalar input[gates][units], hidden[gates][units];
    ELAPHOS_UNROLL
    for (int g = 0; g < gates; ++g) {
      ELAPHOS_UNROLL
      for (int unit = 0; unit < units; ++unit) {
        input[g][unit] = in_registers ? m_bias[0][g][unit] : m_weights.input_bias[g * Width + unit];
        hidden[g][unit] = in_registers ? m_bias[1][g][unit] : m_weights.hidden_bias[g * Width + unit];
      }
    }
    for_each_weight([&](int k, int g, int unit, int place) {
      if (k < m_inputs) {
        input[g][unit] =
            multiply_add(x[k], in_registers ? m_of_input[k][g][unit] : m_weights.input_weights[place], input[g][unit]);
      }
      hidden[g][unit] = multiply_add(
          state[0][k], in_registers ? m_of_hidden[k][g][unit] : m_weights.hidden_weights[place], hidden[g][unit]);
    });
    ELAPHOS_UNROLL
    for (int unit = 0; unit < units; ++unit) {
      Scalar of_input[gates], of_hidden[gates], own_weights[Unit::weights] = {}, own[states], next[states];
      ELAPHOS_UNROLL
      for (int g = 0; g < gates; ++g) {
        of_input[g] = input[g][unit];
        of_hidden[g] = hidden[g][unit];
        // Kernels that go through all of `Width` add the zeros of padded units, which turn -0 into 0.
        if (units < Width) of_hidden[g] += Scalar(0);
      }
      ELAPHOS_UNROLL
      for (int k = 0; k < Gates::unit_weights; ++k) own_weights[k] = m_weights.unit_weights[k * Width + unit];
      ELAPHOS_UNROLL
      for (int s = 0; s < states; ++s) own[s] = state[s][unit];
      m_unit.next(of_input, of_hidden, own_weights, own, next);
      ELAPHOS_UNROLL
      for (int s = 0; s < states; ++s) state[s][unit] = next[s];
    }
  }

  // body(k, gate, unit, place) for the weights of the units' sums.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION static void for_each_weight(const Body& body) {
    ELAPHOS_UNROLL
    for (int k = 0; k < units; ++k) {
      ELAPHOS_UNROLL
      for (int g = 0; g < gates; ++g) {
        ELAPHOS_UNROLL
        for (int unit = 0; unit < units; ++unit) body(k, g, unit, k * row + g * Width + unit);
      }
    }
  }

  // body(s, unit, place) for the cell's own numbers.
  template <class Body>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_number(const Body& body) const {
    const int H = m_weights.hidden_size;
    ELAPHOS_UNROLL
    for (int s = 0; s < states; ++s) {
      ELAPHOS_UNROLL
      for (int unit = 0; unit < units; ++unit) {
        if (unit < H) body(s, unit, s * H + unit);
      }
    }
  }

  template <int rows, int columns>
  KOKKOS_FORCEINLINE_FUNCTION static void copy(const Scalar (&from)[rows][columns], Scalar (&to)[rows][columns]) {
    ELAPHOS_UNROLL
    for (int r = 0; r < rows; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < columns; ++c) to[r][c] = from[r][c];
    }
  }

  const PackedWeights<Scalar>& m_weights;
  const Unit& m_unit;
  const Problem<Scalar>& m_problem;
  const SegmentRange& m_range;
  const std::int64_t m_stride;
  const int m_inputs;
  Scalar m_of_input[units][gates][units], m_of_hidden[units][gates][units], m_bias[2][gates][units];
};

}  // namespace elaphos::impl

#endif
