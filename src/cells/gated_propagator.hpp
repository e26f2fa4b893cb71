// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_PROPAGATOR_HPP
#define ELAPHOS_SRC_CELLS_GATED_PROPAGATOR_HPP

#include "../execution_spaces.hpp"
#include "gated_host_kernel.hpp"
#include "gated_team_kernel.hpp"
#include "packed_weights.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/errors.hpp>

#include <string>

namespace elaphos::impl {

/// The compiled widths: a hidden size is padded up to the next one.
inline constexpr int widest = 128;

inline int padded_width(int hidden_size) {
  int width = 4;
  while (width < hidden_size) width *= 2;
  return width;
}

template <class ExecutionSpace, class Gates, class Scalar>
GatedPropagator<ExecutionSpace, Gates, Scalar>::GatedPropagator(const ExecutionSpace& exec,
                                                                const GatedWeights<Scalar>& weights,
                                                                const GatedUnit<Gates, Scalar>& unit,
                                                                Workspace<ExecutionSpace>& workspace)
    : m_packed{}, m_unit(unit), m_width(padded_width(weights.hidden_size)) {
  if (weights.hidden_size > widest) {
    throw InvalidArgument("hidden size", std::to_string(weights.hidden_size),
                          "at most " + std::to_string(widest) + ", the widest compiled cell");
  }
  PackWeights<Scalar> pack{weights, nullptr, Gates::count, m_width, Gates::unit_weights, Gates::recurrent};
  pack.to = workspace.template reserve<Scalar>(exec, Buffer::packed_weights, static_cast<std::size_t>(pack.entries()));
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::pack_weights", Policy(exec, 0, pack.entries()), pack);
  m_packed = pack.packed();
}

template <class ExecutionSpace, class Gates, class Scalar>
JacobianBlocks GatedPropagator<ExecutionSpace, Gates, Scalar>::jacobian_blocks() const {
  if constexpr (Gates::states == 1) return {};
  return {Gates::states, m_packed.hidden_size};
}

template <class ExecutionSpace, class Gates, class Scalar>
std::int64_t GatedPropagator<ExecutionSpace, Gates, Scalar>::parallel_workers(const ExecutionSpace& exec) const {
  // On a device half of the resident threads: registers for the weights leave room for about so many teams.
  if constexpr (runs_on_host<ExecutionSpace>) return exec.concurrency();
  return std::int64_t(exec.concurrency()) / (2 * (m_width < 32 ? 32 : m_width));
}

/// Launches the kernel for one width and one sensitivity on whichever mapping suits the space.
template <class ExecutionSpace, class Gates, class Scalar, int Width, Sensitivity Carried>
void launch_gated(const ExecutionSpace& exec, const PackedWeights<Scalar>& weights,
                  const GatedUnit<Gates, Scalar>& unit, const SegmentArguments<Scalar>& arguments) {
  if constexpr (runs_on_host<ExecutionSpace>) {
    // Segments merge after different numbers of steps: threads take them one by one.
    using Policy =
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Dynamic>>;
    Policy policy(exec, 0, arguments.active_count);
    policy.set_chunk_size(1);
    Kokkos::parallel_for("Elaphos::propagate_gated", policy,
                         GatedHostKernel<Gates, Scalar, Width, Carried>{weights, unit, arguments});
  } else {
    using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
    using Kernel = GatedTeamKernel<typename Policy::member_type, Gates, Scalar, Width, Carried>;
    Policy policy(exec, static_cast<int>(arguments.active_count), Width);
    policy.set_scratch_size(0, Kokkos::PerTeam(Kernel::Layout::bytes + 16));
    Kokkos::parallel_for("Elaphos::propagate_gated", policy, Kernel{weights, unit, arguments});
  }
}

/// Whether a dense product of this width fits: on a device its Jacobian lives in a team's scratch, and a lane holds its
/// unit's columns in registers.
template <class ExecutionSpace, class Gates, class Scalar, int Width>
inline constexpr bool dense_fits = runs_on_host<ExecutionSpace> ||
                                   (GatedTeamScratch<Gates, Scalar, Width, Sensitivity::dense>::bytes <= 46 * 1024 &&
                                    Gates::states * Gates::states * Width <= 64);

template <class ExecutionSpace, class Gates, class Scalar, int Width>
void run_gated(const ExecutionSpace& exec, const PackedWeights<Scalar>& weights, const GatedUnit<Gates, Scalar>& unit,
               const SegmentArguments<Scalar>& arguments) {
  switch (arguments.sensitivity) {
    case Sensitivity::dense:
      if constexpr (dense_fits<ExecutionSpace, Gates, Scalar, Width>) {
        launch_gated<ExecutionSpace, Gates, Scalar, Width, Sensitivity::dense>(exec, weights, unit, arguments);
      }
      break;
    case Sensitivity::block:
      if constexpr (Gates::states > 1) {
        launch_gated<ExecutionSpace, Gates, Scalar, Width, Sensitivity::block>(exec, weights, unit, arguments);
      }
      break;
    case Sensitivity::diagonal:
      launch_gated<ExecutionSpace, Gates, Scalar, Width, Sensitivity::diagonal>(exec, weights, unit, arguments);
      break;
    default:
      launch_gated<ExecutionSpace, Gates, Scalar, Width, Sensitivity::none>(exec, weights, unit, arguments);
  }
}

template <class ExecutionSpace, class Gates, class Scalar>
void GatedPropagator<ExecutionSpace, Gates, Scalar>::check_sensitivity(Sensitivity sensitivity) const {
  if (sensitivity != Sensitivity::dense) return;
  const bool fits = m_width <= 16 || (m_width == 32 && dense_fits<ExecutionSpace, Gates, Scalar, 32>) ||
                    (m_width == 64 && dense_fits<ExecutionSpace, Gates, Scalar, 64>) ||
                    (m_width == 128 && dense_fits<ExecutionSpace, Gates, Scalar, 128>);
  if (!fits) {
    throw InvalidArgument(
        "options.method", "newton or levenberg_marquardt at hidden size " + std::to_string(m_packed.hidden_size),
        Gates::states == 1 ? "quasi_newton or jacobi: a dense product of this size does not fit in a team's memory"
                           : "block_quasi_newton, quasi_newton or jacobi: a dense product of this size does not fit "
                             "in a team's memory");
  }
}

template <class ExecutionSpace, class Gates, class Scalar>
void GatedPropagator<ExecutionSpace, Gates, Scalar>::run(const ExecutionSpace& exec,
                                                         const SegmentArguments<Scalar>& arguments) const {
  switch (m_width) {
    case 4:
      return run_gated<ExecutionSpace, Gates, Scalar, 4>(exec, m_packed, m_unit, arguments);
    case 8:
      return run_gated<ExecutionSpace, Gates, Scalar, 8>(exec, m_packed, m_unit, arguments);
    case 16:
      return run_gated<ExecutionSpace, Gates, Scalar, 16>(exec, m_packed, m_unit, arguments);
    case 32:
      return run_gated<ExecutionSpace, Gates, Scalar, 32>(exec, m_packed, m_unit, arguments);
    case 64:
      return run_gated<ExecutionSpace, Gates, Scalar, 64>(exec, m_packed, m_unit, arguments);
    default:
      return run_gated<ExecutionSpace, Gates, Scalar, 128>(exec, m_packed, m_unit, arguments);
  }
}

}  // namespace elaphos::impl

#endif
