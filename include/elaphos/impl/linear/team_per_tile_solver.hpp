// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TEAM_PER_TILE_SOLVER_HPP
#define ELAPHOS_IMPL_LINEAR_TEAM_PER_TILE_SOLVER_HPP

#include <elaphos/errors.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/impl/linear/team_per_tile.hpp>
#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/runs_on_host.hpp>
#include <elaphos/linear_options.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <string>

namespace elaphos::impl {

/// Runs `TeamPerTile`: the tiles' maps, the recurrence over tiles by `solve_tiles(problem_of_tiles)`, the tiles' states.
template <class ExecutionSpace, class Scalar, int size>
class TeamPerTileSolver {
 public:
  TeamPerTileSolver(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_workspace(workspace) {}

  /// `extra` numbers of workspace are left for `solve_tiles(of_tiles, memory)`.
  template <class SolveTiles>
  void solve(const LinearProblem<Scalar>& problem, int scan_tile, std::size_t extra, const SolveTiles& solve_tiles) {
    const TileScratchLayout layout{scan_tile, static_cast<int>(problem.blocks), problem.block_size};
    check_scratch(layout);
    const std::int64_t tiles = divide_up(problem.steps, scan_tile);
    if (tiles == 1) {
      launch(problem, layout, tiles, {}, nullptr);
      return;
    }
    LinearMemory<ExecutionSpace, Scalar> memory(m_exec, m_workspace,
                                                LinearMemory<ExecutionSpace, Scalar>::needed(problem, tiles, 0) + extra);
    const TileTotals<Scalar> totals = memory.take_totals(problem, tiles, 0);
    Scalar* const ends = memory.take_states(problem, tiles);
    launch(problem, layout, tiles, totals, nullptr);
    solve_tiles(problem_of_tiles(problem, tiles, totals, ends), memory);
    launch(problem, layout, tiles, {}, ends);
  }

 private:
  using Policy = Kokkos::TeamPolicy<ExecutionSpace>;
  // Blocks of at most so many numbers, as few kernels as do: speed is not what this plan is for.
  static constexpr int width = size == 1 ? 1 : size <= 4 ? 4 : size <= 16 ? 16 : widest_block;
  using Kernel = TeamPerTile<typename Policy::member_type, Scalar, width>;

  static std::size_t bytes(const TileScratchLayout& layout) {
    return team_per_tile_scratch_bytes(sizeof(Scalar), layout.steps, layout.blocks, layout.block_size) + 16;
  }

  void check_scratch(const TileScratchLayout& layout) const {
    // A device's limit; hosts have none that matters.
    const std::size_t limit = static_cast<std::size_t>(Policy(m_exec, 1, 1).scratch_size_max(0));
    if (bytes(layout) <= limit) return;
    throw InvalidArgument("options.scan_tile",
                          std::to_string(layout.steps) + " with D = " + std::to_string(layout.blocks * layout.block_size),
                          "a tile whose maps fit in scratch memory: it needs " + std::to_string(bytes(layout)) +
                              " bytes, the limit is " + std::to_string(limit));
  }

  void launch(const LinearProblem<Scalar>& problem, const TileScratchLayout& layout, std::int64_t tiles,
              const TileTotals<Scalar>& totals, const Scalar* ends) {
    const Kernel kernel{problem, layout, totals, ends, tiles == 1};
    Policy policy(m_exec, static_cast<int>(tiles * problem.batch), 1);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes(layout))));
    // A thread a step where teams can be so large; a host's thread takes a whole tile, since its barriers are dear.
    const int most = runs_on_host<ExecutionSpace> ? 1 : policy.team_size_max(kernel, Kokkos::ParallelForTag());
    Policy sized(m_exec, static_cast<int>(tiles * problem.batch), std::min(layout.steps, most));
    sized.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(bytes(layout))));
    Kokkos::parallel_for("Elaphos::linear_team_per_tile", sized, kernel);
  }

  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
};

}  // namespace elaphos::impl

#endif
