// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_LANES_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_LANES_KERNEL_HPP

#include "gated_lanes_step.hpp"

#include <elaphos/impl/lockstep.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/plain_step.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace elaphos::impl {

/// Advances a group of segments of a gated cell on one thread, a vector lane each, in lockstep until all have ended.
///
/// A group takes a tile of steps at a time: inputs are transposed into it, states out of it. Lanes that have ended or
/// merged go on with what they have, and nothing of it is stored. Merges are exact ones: without sensitivities a
/// segment's growth is unbounded, so that no other can happen (`MergeTest`). Memory traffic I + D numbers a step (+ D
/// to merge).
template <class Gates, class Scalar>
struct GatedLanesKernel {
  static constexpr int lanes = group_lanes<Scalar>;
  static constexpr int longest_tile = 16;  // steps
  static constexpr int most_rows = 2048;   // of lanes: 256 KiB of a thread's stack
  static constexpr int cached_rows = 512;  // of a tile: 64 KiB

  GatedLanesStep<Gates, Scalar> step;
  SegmentArguments<Scalar> arguments;

  /// Whether a thread's memory holds a group.
  bool fits() const { return other_rows() + rows_of_step() <= most_rows; }

  /// At most `lanes` segments. One copy of it, however many kernels call it.
  ELAPHOS_IMPL_ONE_COPY void advance(const ActiveShare& share) const {
    const int D = state_size(), I = step.weights.input_size, tile = tile_steps();
    alignas(64) Scalar memory[most_rows * lanes];
    Scalar* const states = memory + step.scratch_rows() * lanes;  // (tile + 1, D, lanes)
    Scalar* const inputs = states + (tile + 1) * D * lanes;       // (tile, I, lanes)
    Lanes group;
    for (int lane = 0; lane < lanes; ++lane) start(share, lane, group, states);
    std::fill_n(inputs, tile * I * lanes, Scalar(0));
    while (const std::int64_t longest = *std::max_element(group.left, group.left + lanes)) {
      const int steps = static_cast<int>(std::min<std::int64_t>(longest, tile));
      if (step_by_step() && is_whole(group, steps)) {
        advance_whole(group, steps, longest > steps, states, inputs, memory);
        continue;
      }
      read_inputs(group, steps, inputs);
      for (int p = 0; p < steps; ++p) {
        if (longest > steps) read_soon_at(group, p, steps);
        step(inputs + p * I * lanes, states + p * D * lanes, states + (p + 1) * D * lanes, memory);
      }
      store(group, steps, states + D * lanes);
      std::copy_n(states + steps * D * lanes, D * lanes, states);
    }
    for (std::int64_t lane = 0; lane < share.last - share.first; ++lane) {
      record_run(arguments.records[group.flat[lane]], group.run[lane], group.merged[lane], Scalar(0),
                 infinite<Scalar>());
    }
  }

 private:
  // What is known of each lane's segment.
  struct Lanes {
    const Scalar* x[lanes];
    Scalar* y[lanes];
    std::int64_t left[lanes];  // steps to go; 0: the lane has ended
    std::int64_t run[lanes];
    std::int64_t flat[lanes];
    bool may_merge[lanes];
    bool merged[lanes];
  };

  int state_size() const { return Gates::states * step.weights.hidden_size; }
  int rows_of_step() const { return state_size() + step.weights.input_size; }
  int other_rows() const { return state_size() + step.scratch_rows(); }

  int tile_steps() const {
    const int room = (most_rows - other_rows()) / rows_of_step();
    return std::max(1, std::min({longest_tile, cached_rows / rows_of_step(), room}));
  }

  // Whether a step's numbers are read and stored by themselves where nothing else is to be asked: those of a tile of
  // wide states would come from the second-level cache.
  bool step_by_step() const {
    return is_whole_blocks<Scalar>(state_size()) && is_whole_blocks<Scalar>(step.weights.input_size);
  }

  bool is_whole(const Lanes& group, int steps) const {
    bool whole = true;
    for (int lane = 0; lane < lanes; ++lane) whole = whole && group.left[lane] >= steps && !group.may_merge[lane];
    return whole;
  }

  // Lanes of which none ends or may merge within these steps. States and inputs are rows of one step.
  void advance_whole(Lanes& group, int steps, bool more, Scalar* states, Scalar* inputs, Scalar* scratch) const {
    const int D = state_size(), I = step.weights.input_size;
    const std::int64_t x_stride = arguments.problem.batch * I, y_stride = arguments.problem.batch * D;
    Scalar *state = states, *next = states + D * lanes;
    for (int p = 0; p < steps; ++p) {
      if (more) read_soon_at(group, p, steps);
      read_stretch<Scalar>({group.x, I, x_stride}, p * x_stride, I, inputs);
      step(inputs, state, next, scratch);
      write_stretch<Scalar>(next, D, {group.y, D, y_stride}, p * y_stride);
      std::swap(state, next);
    }
    if (state != states) std::copy_n(state, D * lanes, states);
    for (int lane = 0; lane < lanes; ++lane) {
      group.run[lane] += steps;
      group.left[lane] -= steps;
      group.x[lane] += x_stride * steps;
      group.y[lane] += y_stride * steps;
    }
  }

  // Asks, at step p of a tile, for a part of the next one's numbers: all at once would wait for one another.
  void read_soon_at(const Lanes& group, int p, int steps) const {
    const int I = step.weights.input_size, D = state_size(), from = lanes * p / steps, to = lanes * (p + 1) / steps;
    read_lanes_soon<const Scalar* const>({group.x + from, I, arguments.problem.batch * I}, to - from, steps, 2 * steps);
    read_lanes_soon<Scalar* const>({group.y + from, D, arguments.problem.batch * D}, to - from, steps, 2 * steps);
  }

  // A lane without a segment has ended, and looks at the first one's.
  void start(const ActiveShare& share, int lane, Lanes& group, Scalar* states) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int D = state_size();
    const bool real = lane < share.last - share.first;
    const SegmentRange range = segment_range(arguments, share.first + (real ? lane : 0));
    const std::int64_t entry = range.begin * problem.batch + range.sequence;
    group.x[lane] = problem.inputs.row(0, entry);
    group.y[lane] = problem.y + entry * D;
    group.left[lane] = real ? range.end - range.begin : 0;
    group.run[lane] = 0;
    group.flat[lane] = range.flat;
    group.may_merge[lane] = arguments.pass == Pass::propagate &&
                            MergeTest<Scalar>(arguments.records[range.flat], arguments.merge).possible();
    group.merged[lane] = false;
    for (int i = 0; i < D; ++i) states[i * lanes + lane] = arguments.nodes[range.flat * D + i];
  }

  void read_inputs(Lanes& group, int steps, Scalar* inputs) const {
    const int I = step.weights.input_size;
    const std::int64_t stride = arguments.problem.batch * I;
    bool all = true;
    const std::int64_t running = std::max_element(group.left, group.left + lanes) - group.left;
    for (int lane = 0; lane < lanes; ++lane) {
      // Lanes that have ended read what another one reads: their own may lie behind the last input.
      if (group.left[lane] == 0) group.x[lane] = group.x[running];
      all = all && (group.left[lane] == 0 || group.left[lane] >= steps);
    }
    if (all) {
      read_lanes<Scalar>({group.x, I, stride}, steps, inputs);
    } else {
      for (int lane = 0; lane < lanes; ++lane) {
        const int own = static_cast<int>(std::min<std::int64_t>(group.left[lane], steps));
        for (int p = 0; p < own; ++p) {
          for (int i = 0; i < I; ++i) inputs[(p * I + i) * lanes + lane] = group.x[lane][p * stride + i];
        }
      }
    }
  }

  void store(Lanes& group, int steps, const Scalar* states) const {
    const int D = state_size();
    const std::int64_t stride = arguments.problem.batch * D;
    const bool all = is_whole(group, steps);
    if (all) write_lanes<Scalar>(states, steps, {group.y, D, stride});
    for (int lane = 0; lane < lanes; ++lane) {
      const int own = static_cast<int>(std::min<std::int64_t>(group.left[lane], steps));
      int stored = all ? own : 0;
      for (; stored < own && !group.merged[lane]; ++stored) {
        const Scalar* next = states + stored * D * lanes + lane;
        Scalar* y = group.y[lane] + stored * stride;
        group.merged[lane] = group.may_merge[lane] && identical(next, y);
        for (int i = 0; i < D; ++i) y[i] = next[i * lanes];
      }
      group.run[lane] += stored;
      group.left[lane] = group.merged[lane] ? 0 : group.left[lane] - own;
      group.x[lane] += arguments.problem.batch * step.weights.input_size * steps;
      group.y[lane] += stride * steps;
    }
  }

  bool identical(const Scalar* next, const Scalar* stored) const {
    for (int i = 0; i < state_size(); ++i) {
      if (!same_bits(next[i * lanes], stored[i])) return false;
    }
    return true;
  }
};

}  // namespace elaphos::impl

#endif
