// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_PROPAGATOR_HPP
#define ELAPHOS_SRC_CELLS_GATED_PROPAGATOR_HPP

#include "../execution_spaces.hpp"
#include "carried_sensitivity.hpp"
#include "gated_host_groups.hpp"
#include "gated_rows_kernel.hpp"
#include "gated_team_kernel.hpp"
#include "gated_thread_kernel.hpp"
#include "packed_weights.hpp"
#include "wide_gated_step.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/errors.hpp>
#include <elaphos/impl/warp.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <type_traits>

namespace elaphos::impl {

/// The compiled widths: a hidden size is padded up to the next one. Beyond the widest, gates of all segments are made
/// together (`WideGatedStep`).
inline constexpr int widest = 128;

/// Up to so many units a device's thread takes a segment alone, where it carries no derivatives and there are so many.
inline constexpr int widest_of_thread = 4;
inline constexpr std::int64_t enough_for_threads = 2048;

/// From so many segments a multiprocessor on, those of many units are advanced in step: that takes as long for one as for
/// all rows of a team.
inline constexpr std::int64_t enough_for_rows = 4;

/// Whether kernels are compiled for so many units: fewer of the cells with late gates, whose kernels take longest to
/// compile, and of those without recurrent weights, where padding costs little.
template <class Gates>
constexpr bool is_compiled(int width) {
  if (!Gates::recurrent) return width == 16 || width == widest;
  return Gates::late == 0 || width == 8 || width == 32 || width == widest;
}

template <class Gates>
int padded_width(int hidden_size) {
  int width = 4;
  while (width < hidden_size || !is_compiled<Gates>(width)) width *= 2;
  return width;
}

/// Teams that share a multiprocessor's registers: where others make the inputs as many as four schedulers have registers
/// for, each 512 for every lane, of which a lane needs its weights and some 72 more, or 40 where they are many; else of
/// eight warps, or one of more.
template <class Kernel>
constexpr int resident_teams() {
  if (!Kernel::produced) return Kernel::team_size <= warp_size ? 8 : std::max(1, 256 / Kernel::team_size);
  const int words = Kernel::lane_words + (Kernel::lane_words < 96 ? 72 : 40);
  return std::max(1, 4 * (512 / words) / (Kernel::team_size / warp_size));
}

template <class Gates, class ExecutionSpace, class Scalar>
const Scalar* pack_for_lanes(const ExecutionSpace& exec, const PackedWeights<Scalar>& weights, int width,
                             Workspace<ExecutionSpace>& workspace) {
  PackLaneWeights<Scalar> pack{weights, width, Gates::count, units_of_lane_block<Gates>, lane_columns<Gates>(weights),
                               nullptr};
  pack.to = workspace.template reserve<Scalar>(exec, Buffer::lane_weights, static_cast<std::size_t>(pack.entries()));
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::pack_lane_weights", Policy(exec, 0, weights.hidden_size), pack);
  return pack.to;
}

template <class ExecutionSpace, class Gates, class Scalar>
GatedPropagator<ExecutionSpace, Gates, Scalar>::GatedPropagator(const ExecutionSpace& exec,
                                                                const GatedWeights<Scalar>& weights,
                                                                const GatedUnit<Gates, Scalar>& unit,
                                                                Workspace<ExecutionSpace>& workspace)
    : m_packed{}, m_unit(unit), m_width(0), m_wide() {
  using Wide = WideGatedPropagator<ExecutionSpace, Gates, Scalar>;
  const bool wide = weights.hidden_size > widest;
  m_width = wide ? Wide::padded_width(weights.hidden_size) : padded_width<Gates>(weights.hidden_size);
  PackWeights<Scalar> pack{weights, nullptr, Gates::count, m_width, Gates::unit_weights, Gates::recurrent};
  pack.to = workspace.template reserve<Scalar>(exec, Buffer::packed_weights, static_cast<std::size_t>(pack.entries()));
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::pack_weights", Policy(exec, 0, pack.entries()), pack);
  m_packed = pack.packed();
  if constexpr (runs_on_host<ExecutionSpace>) {
    if (!wide) m_packed.lane_weights = pack_for_lanes<Gates>(exec, m_packed, m_width, workspace);
  }
  if (wide) m_wide = std::make_unique<Wide>(m_packed, m_width, m_unit, workspace);
}

template <class ExecutionSpace, class Gates, class Scalar>
JacobianBlocks GatedPropagator<ExecutionSpace, Gates, Scalar>::jacobian_blocks() const {
  if (Gates::states == 1 || m_wide) return {};
  return {Gates::states, m_packed.hidden_size};
}

template <class ExecutionSpace, class Gates, class Scalar>
std::int64_t GatedPropagator<ExecutionSpace, Gates, Scalar>::parallel_workers(const ExecutionSpace& exec) const {
  if (m_wide) return m_wide->parallel_workers(exec);
  if constexpr (runs_on_host<ExecutionSpace>) {
    return exec.concurrency();
  } else {
    // A quarter of the resident threads where each takes a segment. Of teams whose inputs other warps make as many as are
    // resident: the second pass is over when the slowest merge is, and no team waits for its turn. Wider ones would
    // rather run several times than long segments twice; where segments go in step, each row is a worker.
    const std::int64_t threads = exec.concurrency(), multiprocessors = threads / 2048;
    if (m_width <= widest_of_thread) return threads / 4;
    std::int64_t segments = m_width <= 32 ? 16 : m_width == 64 ? 24 : 8;
    with_width([&]<int Width>(std::integral_constant<int, Width>) {
      using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
      using Teams = GatedTeamKernel<Member, Gates, Scalar, Width, false>;
      using Rows = GatedRowsKernel<Member, Gates, Scalar, Width>;
      if constexpr (Teams::in_warp) segments = resident_teams<Teams>();
      if constexpr (Rows::is_compiled) segments = std::int64_t(Rows::resident_teams) * Rows::rows;
    });
    return multiprocessors * segments;
  }
}

template <class ExecutionSpace, class Gates, class Scalar>
Lockstep GatedPropagator<ExecutionSpace, Gates, Scalar>::lockstep() const {
  if (m_wide || !runs_on_host<ExecutionSpace>) return {};
  return host_lockstep<Gates>(m_packed, m_width);
}

/// Whether dense products of this width are compiled.
template <class ExecutionSpace, class Gates, class Scalar, int Width>
inline constexpr bool dense_fits = runs_on_host<ExecutionSpace> ? GatedHostKernel<Gates, Scalar, Width>::dense_fits
                                                                : dense_fits_team<Gates, Scalar, Width>;

/// Groups of segments, or segments one by one, a thread: they merge after different numbers of steps.
template <class ExecutionSpace, class Gates, class Scalar, int Width>
void launch_on_host(const ExecutionSpace& exec, const GatedHostGroups<Gates, Scalar, Width>& kernel) {
  using Policy =
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Dynamic>>;
  Policy policy(exec, 0, kernel.groups.count);
  policy.set_chunk_size(1);
  Kokkos::parallel_for("Elaphos::propagate_gated", policy, kernel);
}

/// A segment a thread, in blocks of one warp, so that few segments are spread over all multiprocessors.
template <class ExecutionSpace, class Gates, class Scalar, int Width>
void launch_threads(const ExecutionSpace& exec, const GatedThreadKernel<Gates, Scalar, Width>& kernel) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>, Kokkos::LaunchBounds<32, 16>>;
  Kokkos::parallel_for("Elaphos::propagate_gated", Policy(exec, 0, kernel.arguments.active_count), kernel);
}

/// Teams of segments. The compiler is to know how many registers a lane may have.
template <int resident, class ExecutionSpace, class Kernel>
void launch_teams(const ExecutionSpace& exec, const Kernel& kernel, std::int64_t teams, std::size_t scratch_bytes) {
  using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<Kernel::team_size, resident>>;
  Policy policy(exec, static_cast<int>(teams), Kernel::team_size);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes) + 16));
  Kokkos::parallel_for("Elaphos::propagate_gated", policy, kernel);
}

/// A segment a team.
template <class ExecutionSpace, class Kernel>
void launch_teams(const ExecutionSpace& exec, const Kernel& kernel) {
  launch_teams<resident_teams<Kernel>()>(exec, kernel, kernel.arguments.active_count, kernel.scratch_bytes());
}

/// Launches the kernel for one width on whichever mapping suits the space; all make the same bits. A device's threads
/// take segments of narrow cells alone, where there are enough of them to hide each other's waiting.
template <class ExecutionSpace, class Gates, class Scalar, int Width>
void launch_gated(const ExecutionSpace& exec, const PackedWeights<Scalar>& weights,
                  const GatedUnit<Gates, Scalar>& unit, const SegmentArguments<Scalar>& arguments) {
  if constexpr (runs_on_host<ExecutionSpace>) {
    launch_on_host(exec, GatedHostGroups<Gates, Scalar, Width>(weights, unit, arguments, exec.concurrency()));
  } else {
    using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
    using Teams = GatedTeamKernel<Member, Gates, Scalar, Width, false>;
    if constexpr (Width <= widest_of_thread) {
      if (arguments.sensitivity == Sensitivity::none && arguments.active_count >= enough_for_threads) {
        return launch_threads(exec, GatedThreadKernel<Gates, Scalar, Width>{weights, unit, arguments});
      }
    }
    using Rows = GatedRowsKernel<Member, Gates, Scalar, Width>;
    if constexpr (Rows::is_compiled) {
      const std::int64_t multiprocessors = exec.concurrency() / 2048;
      if (Rows::takes(weights, arguments) && arguments.active_count >= enough_for_rows * multiprocessors) {
        const Rows rows{weights, unit, arguments};
        return launch_teams<Rows::resident_teams>(exec, rows, rows.teams(), Rows::scratch_bytes);
      }
    }
    if constexpr (dense_fits<ExecutionSpace, Gates, Scalar, Width> && !Teams::dense) {
      if (arguments.sensitivity == Sensitivity::dense) {
        return launch_teams(exec, GatedTeamKernel<Member, Gates, Scalar, Width, true>{weights, unit, arguments});
      }
    }
    launch_teams(exec, Teams{weights, unit, arguments});
  }
}

/// Calls `work` with the compiled width.
template <class ExecutionSpace, class Gates, class Scalar>
template <class Work>
void GatedPropagator<ExecutionSpace, Gates, Scalar>::with_width(const Work& work) const {
  const auto choose = [&]<int Width>(std::integral_constant<int, Width> width) {
    if constexpr (is_compiled<Gates>(Width)) {
      if (m_width == Width) work(width);
    }
  };
  choose(std::integral_constant<int, 4>());
  choose(std::integral_constant<int, 8>());
  choose(std::integral_constant<int, 16>());
  choose(std::integral_constant<int, 32>());
  choose(std::integral_constant<int, 64>());
  choose(std::integral_constant<int, 128>());
}

template <class ExecutionSpace, class Gates, class Scalar>
void GatedPropagator<ExecutionSpace, Gates, Scalar>::check_sensitivity(Sensitivity sensitivity) const {
  if (m_wide || sensitivity != Sensitivity::dense) return;
  bool fits = false;
  with_width(
      [&]<int Width>(std::integral_constant<int, Width>) { fits = dense_fits<ExecutionSpace, Gates, Scalar, Width>; });
  if (!fits) {
    throw InvalidArgument(
        "options.method", "newton or levenberg_marquardt at hidden size " + std::to_string(m_packed.hidden_size),
        !Gates::recurrent    ? "quasi_newton or jacobi: this cell's Jacobian is diagonal"
        : Gates::states == 1 ? "quasi_newton or jacobi: no kernel carries dense products of this size here"
                             : "block_quasi_newton, quasi_newton or jacobi: no kernel carries dense products of this "
                               "size here");
  }
}

template <class ExecutionSpace, class Gates, class Scalar>
void GatedPropagator<ExecutionSpace, Gates, Scalar>::run(const ExecutionSpace& exec,
                                                         const SegmentArguments<Scalar>& arguments) const {
  if (m_wide) return m_wide->run(exec, arguments);
  with_width([&]<int Width>(std::integral_constant<int, Width>) {
    launch_gated<ExecutionSpace, Gates, Scalar, Width>(exec, m_packed, m_unit, arguments);
  });
}

}  // namespace elaphos::impl

#endif
