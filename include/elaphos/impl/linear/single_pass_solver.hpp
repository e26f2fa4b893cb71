// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SINGLE_PASS_SOLVER_HPP
#define ELAPHOS_IMPL_LINEAR_SINGLE_PASS_SOLVER_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/register_kernels.hpp>
#include <elaphos/impl/linear/single_pass.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Whether a space has the single pass: teams must run on once they have started, and so many at a time as CUDA's.
template <class ExecutionSpace, class Scalar, int size>
inline constexpr bool has_single_pass =
#if defined(KOKKOS_ENABLE_CUDA)
    size == 1 && std::is_same_v<ExecutionSpace, Kokkos::Cuda> && sizeof(Scalar) % 4 == 0;
#else
    false;
#endif

/// Runs `SinglePass`.
template <class ExecutionSpace, class Scalar>
class SinglePassSolver {
 public:
  using Problem = LinearProblem<Scalar>;
  using Kernels = RegisterKernels<ExecutionSpace, Scalar, 1>;

  SinglePassSolver(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace)
      : m_exec(exec), m_workspace(workspace) {}

  // Measured on an H200 (65 536 steps): from 512 channels on faster than three kernels, at 256 as fast. A message takes
  // microseconds while memory is busy, so many groups of channels must be under way at a time.
  bool pays(const Problem& problem) const {
    return problem.y != nullptr && Kernels(m_exec).cut(problem).groups >= 12;
  }

  void solve(const Problem& problem) const {
    const Kernels kernels(m_exec);
    const TileShape shape = kernels.cut(problem);
    const std::int64_t windows = divide_up(shape.tiles, std::int64_t(window(shape)));
    const std::int64_t words = TileMessages<Scalar>::count(shape, windows, problem.channels());
    auto* const memory =
        m_workspace.template reserve<unsigned long long>(m_exec, Buffer::linear, static_cast<std::size_t>(words));
    Kokkos::parallel_for("Elaphos::linear_clear_messages",
                         Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(m_exec, 0, words),
                         ClearMessages{memory});
    const auto messages = TileMessages<Scalar>::in(memory, shape, problem.channels());
    Kernels::with_tile(problem, shape, [&]<class Tile>(std::type_identity<Tile>) {
      kernels.template launch<Kernels::teams_at_a_time>(
          "Elaphos::linear_single_pass", shape.groups * shape.tiles, shape,
          SinglePass<Member, Scalar, Tile>{problem, shape, messages, window(shape)});
    });
  }

 private:
  using Member = typename Kernels::Member;

  // A third of the teams that the device holds at a time: the next windows' tiles are read while a state is handed on.
  int window(const TileShape& shape) const {
    const std::int64_t teams = m_exec.concurrency() / 2048 * Kernels::teams_at_a_time / 3;
    const int longest = SinglePass<Member, Scalar, NumberTile<Member, Scalar, TileAccess::rows>>::longest_window(shape);
    return static_cast<int>(std::clamp<std::int64_t>(teams / shape.groups, 1, longest));
  }

  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
};

}  // namespace elaphos::impl

#endif
