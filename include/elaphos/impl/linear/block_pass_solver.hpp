// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_BLOCK_PASS_SOLVER_HPP
#define ELAPHOS_IMPL_LINEAR_BLOCK_PASS_SOLVER_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/block_pass.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// Runs `BlockPass`.
template <class ExecutionSpace, class Scalar, int size>
class BlockPassSolver {
 public:
  using Problem = LinearProblem<Scalar>;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Kernel = BlockPass<Member, Scalar, size>;

  BlockPassSolver(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_workspace(workspace) {}

  static bool possible(const Problem& problem) { return BlockLine<Member, Scalar, size>::possible(problem); }

  // Measured on an H200, in float, against three kernels: 4 x 4 at 3 million steps 0.17 against 0.20 ms; 2 x 2 at 1
  // million 0.039 against 0.040, at 2 million 0.062 against 0.056; 3 x 3, whose numbers lie across packs, at 100 000
  // 0.029 against 0.038, at 1 million 0.112 against 0.102.
  bool pays(const Problem& problem) const {
    return possible(problem) && problem.steps <= (size == 4 ? 3'000'000 : size == 3 ? 100'000 : 1'000'000);
  }

  void solve(const Problem& problem) const {
    TileShape shape;
    shape.runs = team_size;
    shape.run_steps = steps_in_a_run<Scalar, size>;
    shape.tiles = divide_up(problem.steps, std::int64_t(warp_size * shape.run_steps));
    // As many teams as the device holds at a time, but no map more than all threads of a team look at side by side.
    const std::int64_t at_a_time = std::max(1, m_exec.concurrency() / 2048) * teams_at_a_time;
    const std::int64_t most = at_a_time < team_size ? at_a_time : at_a_time / team_size * team_size;
    const int places = static_cast<int>(std::min(most, divide_up(shape.tiles, std::int64_t(shape.warps()))));
    const int share = static_cast<int>(divide_up(places, shape.team_size()));
    shape.tiles_a_team = shape.tiles / (places * shape.warps());  // a warp's, or one more
    const TeamBoards boards = reserve_boards(m_exec, m_workspace);
    Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<team_size, teams_at_a_time>> policy(m_exec, places,
                                                                                               shape.team_size());
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(shape))));
    Kokkos::parallel_for("Elaphos::linear_single_pass", policy, Kernel{problem, shape, boards, places, share});
  }

 private:
  static constexpr int team_size = int(512 / sizeof(Scalar));
  static constexpr int teams_at_a_time = size == 2 ? 5 : (size == 4 ? 4 : 3);

  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
};

}  // namespace elaphos::impl

#endif
