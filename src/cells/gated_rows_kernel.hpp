// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_ROWS_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_ROWS_KERNEL_HPP

#include "carried_sensitivity.hpp"
#include "gated_rows_thread.hpp"
#include "team_weights.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/warp.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

/// Advances some segments of a cell with many units on one team of a device, in step, as a product of their states with
/// the weights: no register file holds those of so many units, and a weight that comes from the cache is to serve
/// several segments. A thread has a unit of `rows_of_thread` segments, and two threads share a unit's weights by way of
/// the first-level cache.
///
/// Per step G H (H + I) multiply-adds a segment, in sums of the same order as `GatedTeamKernel`'s, so that the bits are
/// the same; G (H + I) words of weights a thread from the cache, and per multiply-add a twelfth of a 16-byte load from
/// scratch (GRU, float). A segment that has ended or merged is evaluated in vain until the last of its team has.
template <class TeamMember, class CellGates, class Number, int Width>
struct GatedRowsKernel {
  using Member = TeamMember;
  using Gates = CellGates;
  using Scalar = Number;
  static constexpr int width = Width;
  static constexpr int slices = slices_of_unit<Gates, Scalar, Width, member_has_warps<Member>>();
  static constexpr int rows_of_thread = int(32 / sizeof(Scalar));
  static constexpr int groups = 2;
  static constexpr int rows = groups * rows_of_thread;
  static constexpr int team_size = groups * Width;
  // Of registers, with 255 for a thread.
  static constexpr int resident_teams = 65536 / (team_size * 256);
  // Narrower cells' weights fit in registers.
  static constexpr bool is_compiled = Gates::recurrent && Gates::late == 0 && Width >= 64 && resident_teams > 0;

  // Of scratch memory.
  static constexpr int state = 0;                       // (Width, rows): h
  static constexpr int inputs = Width * rows;           // (Width, rows): as many as are staged at a time
  static constexpr int differences = 2 * inputs;        // (2, rows)
  static constexpr int table = differences + 2 * rows;  // (rows): SegmentRow
  static constexpr std::size_t scratch_bytes = sizeof(Scalar) * table + sizeof(SegmentRow) * rows;
  static_assert(sizeof(Scalar) * table % alignof(SegmentRow) == 0);

  PackedWeights<Scalar> weights;
  GatedUnit<Gates, Scalar> unit_step;
  SegmentArguments<Scalar> arguments;

  /// Whether it does this: plain sequences, all of whose units see each other.
  static bool takes(const PackedWeights<Scalar>& weights, const SegmentArguments<Scalar>& arguments) {
    return arguments.pass == Pass::propagate && arguments.sensitivity != Sensitivity::dense &&
           !arguments.problem.division.divided() && weights.head_size == weights.hidden_size;
  }

  std::int64_t teams() const { return divide_up(arguments.active_count, std::int64_t(rows)); }

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    if (!arguments.has(std::int64_t(member.league_rank()) * rows)) return;
    with_sensitivity<Gates, false>(arguments.sensitivity, [&](auto carried) {
      GatedRowsThread<GatedRowsKernel, decltype(carried)::value> thread(*this, member);
      thread.run();
    });
  }
};

}  // namespace elaphos::impl

#endif
