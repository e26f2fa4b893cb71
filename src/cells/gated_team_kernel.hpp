// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_TEAM_KERNEL_HPP

#include "carried_sensitivity.hpp"
#include "gated_team_lane.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/warp.hpp>

#include <cstddef>

namespace elaphos::impl {

/// Whether a team can carry dense products of this width: the Jacobian lives in its scratch, and a lane holds its
/// unit's columns in registers.
template <class Gates, class Scalar, int Width>
inline constexpr bool dense_fits_team =
    Gates::recurrent && (Gates::late == 0 || Width <= 32) && Gates::states* Gates::states* Width <= 64 &&
    GatedTeamScratch<Gates, Scalar, Width, Sensitivity::dense>::bytes <= 46 * 1024;

/// Advances one segment of a gated cell on one team, `GatedTeamLane`s.
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
  static constexpr int team_size = lanes * Width;
  static constexpr bool dense = lanes == 1 && dense_fits_team<Gates, Scalar, Width>;

  PackedWeights<Scalar> weights;
  GatedUnit<Gates, Scalar> unit_step;
  SegmentArguments<Scalar> arguments;

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    if (!arguments.has(member.league_rank())) return;
    with_carried([&](auto carried) {
      GatedTeamLane<GatedTeamKernel, decltype(carried)::value> lane(*this, member);
      lane.run();
    });
  }

  std::size_t scratch_bytes() const {
    std::size_t bytes = 0;
    with_carried(
        [&](auto carried) { bytes = GatedTeamScratch<Gates, Scalar, Width, decltype(carried)::value, lanes>::bytes; });
    return bytes;
  }

 private:
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
