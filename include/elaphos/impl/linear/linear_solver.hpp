// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_LINEAR_SOLVER_HPP
#define ELAPHOS_IMPL_LINEAR_LINEAR_SOLVER_HPP

#include <elaphos/errors.hpp>
#include <elaphos/impl/linear/host_kernels.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/impl/linear/single_pass.hpp>
#include <elaphos/impl/linear/solve_linear.hpp>
#include <elaphos/impl/linear/team_per_tile_solver.hpp>
#include <elaphos/impl/linear/tile_kernels.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <string>
#include <type_traits>

namespace elaphos::impl {

/// Solves problems whose blocks fit in `size` numbers, in registers.
template <class ExecutionSpace, class Scalar, int size, bool on_host>
class LinearSolver;

/// On devices: teams over tiles of time and groups of channels.
template <class ExecutionSpace, class Scalar, int size>
class LinearSolver<ExecutionSpace, Scalar, size, false> {
 public:
  using Problem = LinearProblem<Scalar>;
  using Memory = LinearMemory<ExecutionSpace, Scalar>;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  LinearSolver(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_workspace(workspace) {}

  void solve(const Problem& problem, const LinearOptions& options) {
    LinearPlan plan = options.plan;
    if (plan == LinearPlan::automatic) plan = automatic(problem);
    switch (plan) {
      case LinearPlan::by_channel: walk(problem, shape_of(problem), nullptr); return;
      case LinearPlan::single_pass:
        if constexpr (has_single_pass) return solve_in_one_pass(problem);
        throw InvalidArgument("options.plan", "single_pass", "another plan: blocks of one number on CUDA only");
      case LinearPlan::team_per_tile:
        if (problem.y != nullptr) return solve_by_team_per_tile(problem, options.scan_tile);
        break;
      default: break;
    }
    Memory memory(m_exec, m_workspace, levels_need(problem));
    solve_tiled(problem, memory);
  }

  void compose(const Problem& problem, Scalar* A, Scalar* b) {
    Memory memory(m_exec, m_workspace, levels_need(problem));
    Problem level = problem;
    for (;;) {
      const TileShape shape = shape_of(level);
      const TileTotals<Scalar> totals =
          shape.tiles == 1 ? TileTotals<Scalar>{A, b} : memory.take_totals(level, shape.tiles);
      fold(level, shape, totals);
      if (shape.tiles == 1) return;
      level = problem_of_tiles(level, shape.tiles, totals, static_cast<Scalar*>(nullptr));
    }
  }

 private:
#if defined(KOKKOS_ENABLE_CUDA)
  static constexpr bool has_single_pass =
      size == 1 && std::is_same_v<ExecutionSpace, Kokkos::Cuda> && sizeof(Scalar) % 4 == 0;
#else
  static constexpr bool has_single_pass = false;
#endif
  // Numbers of any width take the same scratch memory, within the 48 KiB that Kokkos before 5.2 gives.
  static constexpr int team_size = size == 1 ? int(1024 / sizeof(Scalar)) : (size <= 4 ? 128 : 64);

  static TileShape shape_of(const Problem& problem) {
    TileShape shape;
    while (shape.lanes < 32 && shape.lanes < problem.channels()) shape.lanes *= 2;
    shape.runs = team_size / shape.lanes;
    shape.run_steps = steps_in_a_run<size>;
    if constexpr (size == 1) shape.staged = shape.lanes <= 16 && TileThread<Member, Scalar, 1>::can_stage(problem);
    // No more threads than there are steps for.
    while (shape.runs > 1 && std::int64_t(shape.runs / 2) * shape.run_steps >= problem.steps) shape.runs /= 2;
    shape.tiles = std::max<std::int64_t>(1, divide_up(problem.steps, std::int64_t(shape.tile_steps())));
    shape.groups = divide_up(problem.channels(), shape.lanes);
    return shape;
  }

  LinearPlan automatic(const Problem& problem) const {
    if (few_tiles(problem) || many_groups(problem)) return LinearPlan::by_channel;
    return has_single_pass && problem.y != nullptr && hands_on_fast_enough(problem) ? LinearPlan::single_pass
                                                                                    : LinearPlan::tiled;
  }

  // On an H200 a window hands its state on in about half a microsecond, and what it moves should take as long: measured,
  // 8 channels were faster in a single pass and 32, whose windows are shorter, in tiles.
  static bool hands_on_fast_enough(const Problem& problem) {
    const TileShape shape = shape_of(problem);
    return problem.channels() * shape.tile_steps() * shape.runs >= 128 * 1024;
  }

  // One team walks a few tiles sooner than two more kernels start.
  static bool few_tiles(const Problem& problem) { return shape_of(problem).tiles <= 4; }
  bool many_groups(const Problem& problem) const {
    const TileShape shape = shape_of(problem);
    return shape.groups * shape.team_size() >= m_exec.concurrency() / 2;
  }

  static std::size_t levels_need(Problem level) {
    std::size_t sum = 0;
    for (;;) {
      const std::int64_t tiles = shape_of(level).tiles;
      sum += Memory::needed(level, tiles);
      if (tiles <= 1) return sum;
      level = problem_of_tiles(level, tiles, TileTotals<Scalar>{}, static_cast<Scalar*>(nullptr));
    }
  }

  void solve_tiled(const Problem& problem, Memory& memory) {
    const TileShape shape = shape_of(problem);
    const TileTotals<Scalar> totals = memory.take_totals(problem, shape.tiles);
    fold(problem, shape, totals);
    Scalar* const ends = memory.take_states(problem, shape.tiles);
    const Problem of_tiles = problem_of_tiles(problem, shape.tiles, totals, ends);
    if (few_tiles(of_tiles)) {
      walk(of_tiles, shape_of(of_tiles), nullptr);
    } else {
      solve_tiled(of_tiles, memory);
    }
    if (problem.y != nullptr) walk(problem, shape, ends);
  }

  void solve_by_team_per_tile(const Problem& problem, int scan_tile) {
    const std::int64_t tiles = divide_up(problem.steps, scan_tile);
    const Problem of_tiles = problem_of_tiles(problem, tiles, TileTotals<Scalar>{}, static_cast<Scalar*>(nullptr));
    TeamPerTileSolver<ExecutionSpace, Scalar, size>(m_exec, m_workspace)
        .solve(problem, scan_tile, levels_need(of_tiles), [this](const Problem& its_tiles, Memory& memory) {
          if (few_tiles(its_tiles)) {
            walk(its_tiles, shape_of(its_tiles), nullptr);
          } else {
            solve_tiled(its_tiles, memory);
          }
        });
  }

  void solve_in_one_pass(const Problem& problem) {
    const TileShape shape = shape_of(problem);
    using Kernel = SinglePass<Member, Scalar>;
    const std::int64_t windows = divide_up(shape.tiles, std::int64_t(Kernel::window(shape)));
    const std::int64_t words = TileMessages<Scalar>::count(shape.tiles, windows, problem.channels());
    auto* const memory =
        m_workspace.template reserve<unsigned long long>(m_exec, Buffer::linear, static_cast<std::size_t>(words));
    Kokkos::parallel_for("Elaphos::linear_clear_messages",
                         Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(m_exec, 0, words),
                         ClearMessages{memory});
    const auto messages = TileMessages<Scalar>::in(memory, shape.tiles, problem.channels());
    launch("Elaphos::linear_single_pass", shape.tiles * shape.groups, shape, Kernel{problem, shape, messages},
           Kernel::scratch_bytes(shape));
  }

  template <class Kernel>
  void launch(const char* label, std::int64_t teams, const TileShape& shape, const Kernel& kernel,
              std::size_t scratch_bytes) {
    // Two teams on a processor of the device: one loads while the other scans.
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<team_size, size == 1 ? 2 : 1>>;
    Policy policy(m_exec, static_cast<int>(teams), shape.team_size());
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes)));
    Kokkos::parallel_for(label, policy, kernel);
  }

  void fold(const Problem& problem, const TileShape& shape, const TileTotals<Scalar>& totals) {
    launch("Elaphos::linear_fold", shape.tiles * shape.groups, shape,
           FoldTiles<Member, Scalar, size>{problem, shape, totals}, TileScratch<Scalar, size>::bytes(shape));
  }
  void walk(const Problem& problem, const TileShape& shape, const Scalar* tile_ends) {
    launch("Elaphos::linear_walk", tile_ends == nullptr ? shape.groups : shape.tiles * shape.groups, shape,
           WalkTiles<Member, Scalar, size>{problem, shape, tile_ends}, TileScratch<Scalar, size>::bytes(shape));
  }

  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
};

/// On hosts: a thread takes a tile of time and a group of channels.
template <class ExecutionSpace, class Scalar, int size>
class LinearSolver<ExecutionSpace, Scalar, size, true> {
 public:
  using Problem = LinearProblem<Scalar>;
  using Memory = LinearMemory<ExecutionSpace, Scalar>;

  LinearSolver(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_workspace(workspace) {}

  void solve(const Problem& problem, const LinearOptions& options) {
    const LinearPlan plan = options.plan;
    if (plan == LinearPlan::single_pass) {
      throw InvalidArgument("options.plan", "single_pass", "another plan: blocks of one number on CUDA only");
    }
    if (plan == LinearPlan::team_per_tile && problem.y != nullptr) {
      TeamPerTileSolver<ExecutionSpace, Scalar, size>(m_exec, m_workspace)
          .solve(problem, options.scan_tile, 0, [this](const Problem& of_tiles, Memory&) {
            walk(of_tiles, by_channel(of_tiles), nullptr);
          });
      return;
    }
    HostShape shape = by_channel(problem);
    // Cutting time costs a second walk, so it takes idle threads, and steps enough to keep them busy.
    const std::int64_t threads = m_exec.concurrency();
    const bool worth_it = size <= 4 && shape.groups * 2 <= threads && problem.steps >= 128 * threads;
    if (plan == LinearPlan::tiled || (plan == LinearPlan::automatic && worth_it)) shape = cut(problem, threads);
    if (shape.tiles == 1) {
      walk(problem, shape, nullptr);
      return;
    }
    Memory memory(m_exec, m_workspace, Memory::needed(problem, shape.tiles));
    const TileTotals<Scalar> totals = memory.take_totals(problem, shape.tiles);
    Scalar* const ends = memory.take_states(problem, shape.tiles);
    fold(problem, shape, totals);
    const Problem of_tiles = problem_of_tiles(problem, shape.tiles, totals, ends);
    walk(of_tiles, by_channel(of_tiles), nullptr);
    if (problem.y != nullptr) walk(problem, shape, ends);
  }

  void compose(const Problem& problem, Scalar* A, Scalar* b) {
    HostShape shape = cut(problem, m_exec.concurrency());
    if (shape.tiles == 1) return fold(problem, shape, {A, b});
    Memory memory(m_exec, m_workspace, Memory::needed(problem, shape.tiles));
    const TileTotals<Scalar> totals = memory.take_totals(problem, shape.tiles);
    fold(problem, shape, totals);
    const Problem of_tiles = problem_of_tiles(problem, shape.tiles, totals, static_cast<Scalar*>(nullptr));
    fold(of_tiles, by_channel(of_tiles), {A, b});
  }

 private:
  static bool rows(const Problem& problem) { return size == 1 && HostRows<Scalar>::possible(problem); }

  static HostShape by_channel(const Problem& problem) {
    return {1, problem.steps, divide_up(problem.channels(), rows(problem) ? host_lanes<Scalar> : 1), 1};
  }
  static HostShape cut(const Problem& problem, std::int64_t tiles) {
    HostShape shape = by_channel(problem);
    if (problem.steps == 0) return shape;
    if constexpr (size == 1) {
      if (HostBundle<Scalar>::possible(problem)) shape.bundle = HostBundle<Scalar>::tiles;
    }
    tiles *= shape.bundle;
    shape.tile_steps = divide_up(problem.steps, std::max<std::int64_t>(1, std::min(tiles, problem.steps)));
    shape.tiles = divide_up(divide_up(problem.steps, shape.tile_steps), shape.bundle) * shape.bundle;
    return shape;
  }

  template <class Kernel>
  void launch(const char* label, const HostShape& shape, const Kernel& kernel) {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, Policy(m_exec, 0, shape.tiles / shape.bundle * shape.groups), kernel);
  }
  void fold(const Problem& problem, const HostShape& shape, const TileTotals<Scalar>& totals) {
    launch("Elaphos::linear_fold", shape, HostFold<Scalar, size>{problem, shape, totals, rows(problem)});
  }
  void walk(const Problem& problem, const HostShape& shape, const Scalar* tile_ends) {
    launch("Elaphos::linear_walk", shape, HostWalk<Scalar, size>{problem, shape, tile_ends, rows(problem)});
  }

  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
};

/// Without steps the end is the start.
template <class Scalar>
struct CopyInitialState {
  LinearProblem<Scalar> problem;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    problem.end[i] = problem.y0 == nullptr ? Scalar(0) : problem.y0[i];
  }
};

template <class ExecutionSpace, class Scalar>
void copy_initial_state(const ExecutionSpace& exec, const LinearProblem<Scalar>& problem) {
  if (problem.end == nullptr) return;
  Kokkos::parallel_for("Elaphos::linear_copy_initial_state",
                       Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
                           exec, 0, problem.batch * problem.width()),
                       CopyInitialState<Scalar>{problem});
}

/// Calls `work` with a solver whose maps are at least as large as the blocks.
template <class ExecutionSpace, class Scalar, class Work>
void with_linear_solver(const ExecutionSpace& exec, int block_size, Workspace<ExecutionSpace>& workspace,
                        const Work& work) {
  constexpr bool on_host = linear_on_host<ExecutionSpace>;
  if constexpr (is_complex<Scalar>) {
    work(LinearSolver<ExecutionSpace, Scalar, 1, on_host>(exec, workspace));
  } else {
    switch (block_size) {
      case 1: return work(LinearSolver<ExecutionSpace, Scalar, 1, on_host>(exec, workspace));
      case 2: return work(LinearSolver<ExecutionSpace, Scalar, 2, on_host>(exec, workspace));
      case 3: return work(LinearSolver<ExecutionSpace, Scalar, 3, on_host>(exec, workspace));
      case 4: return work(LinearSolver<ExecutionSpace, Scalar, 4, on_host>(exec, workspace));
      default: return work(LinearSolver<ExecutionSpace, Scalar, 8, on_host>(exec, workspace));
    }
  }
}

template <class ExecutionSpace, class Scalar>
void solve_linear(const ExecutionSpace& exec, const LinearProblem<Scalar>& problem, const LinearOptions& options,
                  Workspace<ExecutionSpace>& workspace) {
  if (problem.steps == 0 || problem.channels() == 0) return copy_initial_state(exec, problem);
  with_linear_solver<ExecutionSpace, Scalar>(exec, problem.block_size, workspace,
                                             [&](auto solver) { solver.solve(problem, options); });
}

template <class ExecutionSpace, class Scalar>
void compose_linear(const ExecutionSpace& exec, const LinearProblem<Scalar>& problem, Scalar* A, Scalar* b,
                    Workspace<ExecutionSpace>& workspace) {
  if (problem.channels() == 0) return;
  with_linear_solver<ExecutionSpace, Scalar>(exec, problem.block_size, workspace,
                                             [&](auto solver) { solver.compose(problem, A, b); });
}

}  // namespace elaphos::impl

#endif
