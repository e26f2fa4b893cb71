// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SINGLE_PASS_SOLVER_HPP
#define ELAPHOS_IMPL_LINEAR_SINGLE_PASS_SOLVER_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/impl/linear/number_loader.hpp>
#include <elaphos/impl/linear/single_pass.hpp>
#include <elaphos/impl/linear/stored_tile.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Whether a space has the single pass.
template <class ExecutionSpace, class Scalar, int size>
inline constexpr bool has_single_pass = has_waiting_teams<ExecutionSpace> && size <= 4 && sizeof(Scalar) % 4 == 0;

/// Runs `SinglePass`.
template <class ExecutionSpace, class Scalar>
class SinglePassSolver {
 public:
  using Problem = LinearProblem<Scalar>;

  SinglePassSolver(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_workspace(workspace) {}

  static bool possible(const Problem&) { return true; }

  // Measured on an H200, in float: one channel is faster than by three kernels from some millions of steps on (10^7:
  // 0.070 against 0.079 ms, 10^8: 0.40 against 0.55), 512 channels of 65 536 steps too (0.158 against 0.183), 256 are
  // as fast. Between 2 and some 300 channels a tile has more maps to look at than numbers of its own.
  bool pays(const Problem& problem) const {
    if (problem.y == nullptr) return false;
    return problem.channels() == 1 ? problem.steps >= 4'000'000 : cut(problem).groups >= 12;
  }

  void solve(const Problem& problem) const {
    const TileShape shape = cut(problem);
    const std::int64_t most = std::max<std::int64_t>(1, processors() * teams_at_a_time / shape.groups);
    const std::int64_t teams = std::min(most, shape.tiles);  // of a group
    const int window = window_of(shape, most);
    const std::int64_t words = TileMessages<Scalar>::count(shape, window, problem.channels());
    TileMessages<Scalar> messages{};
    const bool on_boards =
        best_tile_access(problem, shape.lanes) == TileAccess::line && words <= board_words(m_exec);
    if (!on_boards) {
      auto* const memory = reserve_linear<unsigned long long>(m_exec, m_workspace, static_cast<std::size_t>(words));
      Kokkos::parallel_for("Elaphos::linear_clear_mailboxes",
                           Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(m_exec, 0, words),
                           ClearMailboxes{memory});
      messages = TileMessages<Scalar>::in(memory, shape, window, problem.channels());
    }
    const TeamBoards boards = reserve_boards(m_exec, m_workspace);
    with_tile_access(problem, shape.lanes, [&]<TileAccess access>(std::integral_constant<TileAccess, access>) {
      using Kernel = SinglePass<Member, Scalar, StoredTile<Member, Scalar, access, steps>>;
      Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<team_size, teams_at_a_time>> policy(
          m_exec, static_cast<int>(shape.groups * teams), shape.team_size());
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(shape))));
      Kokkos::parallel_for("Elaphos::linear_single_pass", policy,
                           Kernel{problem, shape, messages, boards, on_boards, window});
    });
  }

 private:
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  // A team's two tiles in scratch memory take most of the 48 KiB that Kokkos before 5.2 gives, and four teams most of
  // what a processor of an H200 has. Long runs share the cost of scans and looks; 128 registers hold what is on its
  // way.
  static constexpr int team_size = sizeof(Scalar) == 4 ? 128 : 64;
  static constexpr int steps = sizeof(Scalar) == 16 ? 10 : 20;
  static constexpr int teams_at_a_time = 4;

  // Windows of half the teams that a group has at a time: then a window's front is known when a tile of the window
  // behind the next asks for it.
  static int window_of(const TileShape& shape, std::int64_t teams) {
    const int lookers = lookers_of(shape);
    return lookers * static_cast<int>(std::max<std::int64_t>(1, (teams + lookers) / (2 * lookers)));
  }

  std::int64_t processors() const { return std::max(1, m_exec.concurrency() / 2048); }

  static TileShape cut(const Problem& problem) {
    TileShape shape;
    while (shape.lanes < warp_size && shape.lanes < problem.channels()) shape.lanes *= 2;
    shape.run_steps = steps;
    const int runs = warp_size / shape.lanes;  // of a warp
    const std::int64_t warps = divide_up(problem.steps, std::int64_t(runs * steps));
    shape.runs = runs * static_cast<int>(std::clamp<std::int64_t>(warps, 1, team_size / warp_size));
    shape.tiles = divide_up(problem.steps, std::int64_t(shape.tile_steps()));
    shape.groups = divide_up(problem.channels(), shape.lanes);
    return shape;
  }

  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
};

}  // namespace elaphos::impl

#endif
