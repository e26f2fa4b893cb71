// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP

#include "carried_sensitivity.hpp"
#include "gated_team_lane.hpp"
#include "team_producer.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/team_scratch.hpp>
#include <elaphos/impl/warp.hpp>

#include <cstddef>

namespace elaphos::impl {

/// Of the 48 KiB that Kokkos before 5.2 gives.
inline constexpr std::size_t most_team_scratch = 46 * 1024;

/// Whether a team can carry dense products of this width: the Jacobian lives in its scratch, and a lane holds its
/// unit's columns in registers.
template <class Gates, class Scalar, int Width>
inline constexpr bool dense_fits_team =
    Gates::recurrent && (Gates::late == 0 || Width <= 32) && Gates::states* Gates::states* Width <= 64 &&
    GatedTeamScratch<Gates, Scalar, Width, Sensitivity::dense>::bytes <= most_team_scratch;

/// Advances one segment of a gated cell on one team, `GatedTeamLane`s; where those are at most four warps, others make
/// their inputs.
///
/// What is carried is decided when it runs: registers limit the teams of a multiprocessor without derivatives as well.
/// But where lanes share units, those of dense products do not: `DenseAlone`.
template <class TeamMember, class CellGates, class Number, int Width, bool DenseAlone>
struct GatedTeamKernel {
  using Member = TeamMember;
  using Gates = CellGates;
  using Scalar = Number;
  static constexpr int width = Width;
  static constexpr int slices = slices_of_unit<Gates, Scalar, Width, member_has_warps<Member>>();
  static constexpr int lanes = DenseAlone ? 1 : slices;  // that share a unit
  static constexpr int unit_lanes = lanes * Width;
  static constexpr bool dense = lanes == 1 && dense_fits_team<Gates, Scalar, Width>;
  static constexpr std::size_t scratch_with_producers =
      GatedTeamScratch<Gates, Scalar, Width, dense ? Sensitivity::dense : Sensitivity::diagonal,
                       TeamInput<Gates, Scalar, Width, lanes, true>>::bytes;
  static constexpr bool produced =
      member_has_warps<Member> && unit_lanes <= 4 * warp_size && scratch_with_producers <= most_team_scratch;
  static constexpr bool in_warp = produced && unit_lanes <= warp_size;
  static constexpr int unit_threads = unit_lanes < warp_size ? warp_size : unit_lanes;
  // Of registers, for a lane's weights; where those stay in memory, for what comes of them.
  static constexpr int weight_words = Gates::recurrent ? Gates::count * Width * int(sizeof(Scalar)) / 4 / lanes : 0;
  static constexpr int lane_words = weight_words <= 128 ? weight_words : 56;
  using Input = TeamInput<Gates, Scalar, Width, lanes, produced>;
  static constexpr int team_size = produced ? unit_threads + Input::makers : unit_lanes;

  PackedWeights<Scalar> weights;
  GatedUnit<Gates, Scalar> unit_step;
  SegmentArguments<Scalar> arguments;

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    if (!arguments.has(member.league_rank())) return;
    if constexpr (produced) {
      if (member.team_rank() >= unit_threads) return produce(member);
      if (member.team_rank() >= unit_lanes) return;
    }
    with_carried([&](auto carried) {
      GatedTeamLane<GatedTeamKernel, decltype(carried)::value> lane(*this, member);
      lane.run();
    });
  }

  static_assert(GatedTeamScratch<Gates, Scalar, Width, dense ? Sensitivity::dense : Sensitivity::diagonal, Input>::bytes <
                    48 * 1024,
                "more than Kokkos before 5.2 gives a team");

  std::size_t scratch_bytes() const {
    std::size_t bytes = 0;
    with_carried(
        [&](auto carried) { bytes = GatedTeamScratch<Gates, Scalar, Width, decltype(carried)::value, Input>::bytes; });
    return bytes;
  }

 private:
  KOKKOS_FORCEINLINE_FUNCTION void produce(const Member& member) const {
    const int lane = member.team_rank() - unit_threads;
    // Its part of scratch memory is the first, whatever is carried.
    using Layout = GatedTeamScratch<Gates, Scalar, Width, Sensitivity::none, Input>;
    auto* const shared = scratch_of<Scalar>(member, Layout::bytes);
    const Input input{arguments.problem, weights, shared + Layout::input, lane % Width,
                      lane / Width,      lane,    Input::makers};
    TeamProducer<GatedTeamKernel, Input>(member, input).run(segment_range(arguments, member.league_rank()));
  }

  ELAPHOS_IMPL_NO_EXECUTION_CHECK
  template <class Work>
  KOKKOS_INLINE_FUNCTION void with_carried(const Work& work) const {
    if constexpr (DenseAlone) {
      work(std::integral_constant<Sensitivity, Sensitivity::dense>());
    } else {
      with_sensitivity<Gates, dense>(arguments.sensitivity, work);
    }
  }
};

}  // namespace elaphos::impl

#endif
