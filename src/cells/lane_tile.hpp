// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_LANE_TILE_HPP
#define ELAPHOS_SRC_CELLS_LANE_TILE_HPP

#include <elaphos/impl/linear/host_vector.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Segments that a host's thread advances together: four vector registers of 256 bits. One alone would leave the
/// arithmetic units waiting for the chain of operations that a gate is.
template <class Scalar>
inline constexpr int group_lanes = int(128 / sizeof(Scalar));

/// Where a lane's numbers stand: its first one of each step lies `stride` behind that of the step before.
template <class Pointer>
struct LaneRows {
  Pointer* first;  ///< one a lane
  int numbers;     ///< of a step
  std::int64_t stride;
};

// Numbers of one step lie side by side; those of the steps behind it as well where a step's stride is no longer.
template <class Rows, class Body>
void for_each_stretch(const Rows& rows, int steps, const Body& body) {
  if (rows.stride == rows.numbers) return body(std::int64_t(0), 0, steps * rows.numbers);
  for (int p = 0; p < steps; ++p) body(p * rows.stride, p * rows.numbers, rows.numbers);
}

/// Asks for the lanes' numbers of so many steps: more streams than a processor follows by itself.
template <class Pointer>
void read_lanes_soon(const LaneRows<Pointer>& rows, int lanes, int from, int to) {
  constexpr int line = int(64 / sizeof(*Pointer()));
  if (rows.stride != rows.numbers) return;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int c = from * rows.numbers; c < to * rows.numbers; c += line) read_soon(rows.first[lane] + c);
  }
}

/// rows(number, lane) = the lane's number, of `count` from `from` on, for all lanes: in square blocks that are
/// transposed.
template <class Scalar>
void read_stretch(const LaneRows<const Scalar*>& lanes_rows, std::int64_t from, int count, Scalar* rows) {
  constexpr int lanes = group_lanes<Scalar>;
  int c = 0;
#if ELAPHOS_HAS_HOST_VECTORS
  constexpr int side = HostVector<Scalar>::lanes;
  for (; c + side <= count; c += side) {
    for (int lane = 0; lane < lanes; lane += side) {
      HostVector<Scalar> block[side];
      for (int k = 0; k < side; ++k) block[k].read(lanes_rows.first[lane + k] + from + c);
      transpose(block);
      for (int k = 0; k < side; ++k) block[k].write(rows + (c + k) * lanes + lane);
    }
  }
#endif
  for (; c < count; ++c) {
    for (int lane = 0; lane < lanes; ++lane) rows[c * lanes + lane] = lanes_rows.first[lane][from + c];
  }
}

/// The way back.
template <class Scalar>
void write_stretch(const Scalar* rows, int count, const LaneRows<Scalar*>& lanes_rows, std::int64_t to) {
  constexpr int lanes = group_lanes<Scalar>;
  int c = 0;
#if ELAPHOS_HAS_HOST_VECTORS
  constexpr int side = HostVector<Scalar>::lanes;
  for (; c + side <= count; c += side) {
    for (int lane = 0; lane < lanes; lane += side) {
      HostVector<Scalar> block[side];
      for (int k = 0; k < side; ++k) block[k].read(rows + (c + k) * lanes + lane);
      transpose(block);
      for (int k = 0; k < side; ++k) block[k].write(lanes_rows.first[lane + k] + to + c);
    }
  }
#endif
  for (; c < count; ++c) {
    for (int lane = 0; lane < lanes; ++lane) lanes_rows.first[lane][to + c] = rows[c * lanes + lane];
  }
}

/// tile(p, number, lane) = the lane's number of step p, for all lanes.
template <class Scalar>
void read_lanes(const LaneRows<const Scalar*>& rows, int steps, Scalar* tile) {
  for_each_stretch(rows, steps, [&](std::int64_t from, int to, int count) {
    read_stretch(rows, from, count, tile + to * group_lanes<Scalar>);
  });
}

/// The way back.
template <class Scalar>
void write_lanes(const Scalar* tile, int steps, const LaneRows<Scalar*>& rows) {
  for_each_stretch(rows, steps, [&](std::int64_t to, int from, int count) {
    write_stretch(tile + from * group_lanes<Scalar>, count, rows, to);
  });
}

/// Whether so many numbers are whole blocks: then a step's can be transposed by themselves.
template <class Scalar>
constexpr bool is_whole_blocks([[maybe_unused]] int numbers) {
#if ELAPHOS_HAS_HOST_VECTORS
  return numbers % HostVector<Scalar>::lanes == 0;
#else
  return true;
#endif
}

}  // namespace elaphos::impl

#endif
