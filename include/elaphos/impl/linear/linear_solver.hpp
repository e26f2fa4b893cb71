// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_LINEAR_SOLVER_HPP
#define ELAPHOS_IMPL_LINEAR_LINEAR_SOLVER_HPP

#include <elaphos/errors.hpp>
#include <elaphos/impl/linear/block_pass_solver.hpp>
#include <elaphos/impl/linear/host_kernels.hpp>
#include <elaphos/impl/linear/host_pass.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/impl/linear/register_kernels.hpp>
#include <elaphos/impl/linear/single_pass_solver.hpp>
#include <elaphos/impl/linear/solve_linear.hpp>
#include <elaphos/impl/linear/team_per_tile_solver.hpp>
#include <elaphos/impl/linear/wide_kernels.hpp>
#include <elaphos/impl/runs_on_host.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Solves problems by the plans, with kernels for blocks of at most `size` numbers.
///
/// `Kernels` cut a problem into a Shape (`by_channel`, `cut`), say whether cutting pays, and launch `fold`, the composed
/// maps of tiles, and `walk`, tiles from known states.
template <class ExecutionSpace, class Scalar, int size, class Kernels>
class LinearSolver {
 public:
  using Problem = LinearProblem<Scalar>;
  using Memory = LinearMemory<ExecutionSpace, Scalar>;
  using Shape = typename Kernels::Shape;
  using OnePass = std::conditional_t<size == 1, SinglePassSolver<ExecutionSpace, Scalar>,
                                     BlockPassSolver<ExecutionSpace, Scalar, size>>;

  LinearSolver(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_workspace(workspace), m_kernels(exec) {}

  void solve(const Problem& problem, const LinearOptions& options) {
    LinearPlan plan = options.plan;
    if (plan == LinearPlan::automatic) plan = automatic(problem);
    if (plan == LinearPlan::single_pass) {
      if constexpr (has_single_pass<ExecutionSpace, Scalar, size>) {
        const OnePass pass(m_exec, m_workspace);
        if (pass.possible(problem)) return pass.solve(problem);
      }
      throw InvalidArgument("options.plan", "single_pass",
                            "another plan: blocks of one number, or one sequence of small blocks, on CUDA only");
    }
    if (plan == LinearPlan::team_per_tile && problem.y != nullptr) {
      return solve_by_team_per_tile(problem, options.scan_tile);
    }
    if (plan == LinearPlan::by_channel) return m_kernels.walk(problem, m_kernels.by_channel(problem), nullptr);
    if constexpr (runs_on_host<ExecutionSpace> && size == 1) {
      using OnHost = HostPassSolver<ExecutionSpace, Scalar>;
      if (OnHost::possible(problem)) return OnHost::solve(m_exec, problem, m_workspace);
    }
    const Shape shape = m_kernels.cut(problem);
    Memory memory(m_exec, m_workspace, tiles_need(problem, shape));
    solve_tiled(problem, shape, memory);
  }

  void compose(const Problem& problem, Scalar* A, Scalar* b) {
    Memory memory(m_exec, m_workspace, composition_needs(problem));
    Problem level = problem;
    for (;;) {
      const Shape shape = m_kernels.cut(level);
      if (shape.maps() == 1) {
        Scalar* const spare = memory.take(std::size_t(level.channels()) * std::size_t(Kernels::spare_entries(level)));
        return m_kernels.fold(level, shape, {A, b, spare});
      }
      const TileTotals<Scalar> totals = memory.take_totals(level, shape.maps(), Kernels::spare_entries(level));
      m_kernels.fold(level, shape, totals);
      level = problem_of_tiles(level, shape.maps(), totals, static_cast<Scalar*>(nullptr));
    }
  }

 private:
  LinearPlan automatic(const Problem& problem) const {
    if (!m_kernels.cutting_pays(problem)) return LinearPlan::by_channel;
    if constexpr (has_single_pass<ExecutionSpace, Scalar, size>) {
      if (OnePass(m_exec, m_workspace).pays(problem)) return LinearPlan::single_pass;
    }
    return LinearPlan::tiled;
  }

  // The recurrence over the tiles' maps, of which there may be so many that it is cut in turn.
  static Problem of_tiles(const Problem& problem, const Shape& shape) {
    return problem_of_tiles(problem, shape.maps(), TileTotals<Scalar>{}, static_cast<Scalar*>(nullptr));
  }

  std::size_t composition_needs(const Problem& problem) const {
    const Shape shape = m_kernels.cut(problem);
    const std::size_t own = Memory::needed(problem, shape.maps(), Kernels::spare_entries(problem));
    return shape.maps() == 1 ? own : own + composition_needs(of_tiles(problem, shape));
  }

  std::size_t tiles_need(const Problem& problem, const Shape& shape) const {
    if (shape.maps() == 1) return 0;
    // As if tiles were always cut in turn: whether that pays depends on where they will lie. It is little memory.
    const Problem tiles = of_tiles(problem, shape);
    return Memory::needed(problem, shape.maps(), Kernels::spare_entries(problem)) +
           tiles_need(tiles, m_kernels.cut(tiles));
  }

  void solve_tiled(const Problem& problem, const Shape& shape, Memory& memory) {
    if (shape.maps() == 1) return m_kernels.walk(problem, m_kernels.by_channel(problem), nullptr);
    const TileTotals<Scalar> totals = memory.take_totals(problem, shape.maps(), Kernels::spare_entries(problem));
    m_kernels.fold(problem, shape, totals);
    Scalar* const ends = memory.take_states(problem, shape.maps());
    solve_tiles(problem_of_tiles(problem, shape.maps(), totals, ends), memory);
    if (problem.y != nullptr) m_kernels.walk(problem, shape, ends, totals.spare);
  }

  void solve_tiles(const Problem& tiles, Memory& memory) {
    if (m_kernels.cutting_pays(tiles)) {
      solve_tiled(tiles, m_kernels.cut(tiles), memory);
    } else {
      m_kernels.walk(tiles, m_kernels.by_channel(tiles), nullptr);
    }
  }

  void solve_by_team_per_tile(const Problem& problem, int scan_tile) {
    const std::int64_t tiles = divide_up(problem.steps, scan_tile);
    const Problem its_tiles = problem_of_tiles(problem, tiles, TileTotals<Scalar>{}, static_cast<Scalar*>(nullptr));
    const std::size_t extra = tiles_need(its_tiles, m_kernels.cut(its_tiles));
    TeamPerTileSolver<ExecutionSpace, Scalar, size>(m_exec, m_workspace)
        .solve(problem, scan_tile, extra, [this](const Problem& maps, Memory& memory) { solve_tiles(maps, memory); });
  }

  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
  Kernels m_kernels;
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

/// Calls `work` with a solver whose kernels are compiled for blocks at least as wide as the problem's.
template <class ExecutionSpace, class Scalar, class Work>
void with_linear_solver(const ExecutionSpace& exec, int block_size, Workspace<ExecutionSpace>& workspace,
                        const Work& work) {
  const auto with = [&]<int size>(std::integral_constant<int, size>) {
    if constexpr (runs_on_host<ExecutionSpace>) {
      work(LinearSolver<ExecutionSpace, Scalar, size, HostKernels<ExecutionSpace, Scalar, size>>(exec, workspace));
    } else if constexpr (size <= 4) {
      work(LinearSolver<ExecutionSpace, Scalar, size, RegisterKernels<ExecutionSpace, Scalar, size>>(exec, workspace));
    } else {
      work(LinearSolver<ExecutionSpace, Scalar, size, WideKernels<ExecutionSpace, Scalar, size>>(exec, workspace));
    }
  };
  if constexpr (is_complex<Scalar>) return with(std::integral_constant<int, 1>());
  else if (block_size <= 1) return with(std::integral_constant<int, 1>());
  else if (block_size == 2) return with(std::integral_constant<int, 2>());
  else if (block_size == 3) return with(std::integral_constant<int, 3>());
  else if (block_size == 4) return with(std::integral_constant<int, 4>());
  else if constexpr (runs_on_host<ExecutionSpace>) return with(std::integral_constant<int, widest_block>());
  else if (block_size <= 8) return with(std::integral_constant<int, 8>());
  else if (block_size <= 16) return with(std::integral_constant<int, 16>());
  else if (block_size <= 32) return with(std::integral_constant<int, 32>());
  else if (block_size <= 64) return with(std::integral_constant<int, 64>());
  else return with(std::integral_constant<int, widest_block>());
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
