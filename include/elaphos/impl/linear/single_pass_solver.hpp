// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SINGLE_PASS_SOLVER_HPP
#define ELAPHOS_IMPL_LINEAR_SINGLE_PASS_SOLVER_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/register_kernels.hpp>
#include <elaphos/impl/linear/single_pass.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

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

  // On an H200 a window hands its state on in about half a microsecond, and what it moves should take as long: measured,
  // 8 channels were faster in a single pass and 32, whose windows are shorter, in tiles.
  bool pays(const Problem& problem) const {
    const TileShape shape = Kernels(m_exec).cut(problem);
    return problem.y != nullptr && problem.channels() * shape.tile_steps() * shape.runs >= 128 * 1024;
  }

  void solve(const Problem& problem) const {
    const Kernels kernels(m_exec);
    const TileShape shape = kernels.cut(problem);
    using Kernel = SinglePass<typename Kernels::Member, Scalar>;
    const std::int64_t windows = divide_up(shape.tiles, std::int64_t(Kernel::window(shape)));
    const std::int64_t words = TileMessages<Scalar>::count(shape.tiles, windows, problem.channels());
    auto* const memory =
        m_workspace.template reserve<unsigned long long>(m_exec, Buffer::linear, static_cast<std::size_t>(words));
    Kokkos::parallel_for("Elaphos::linear_clear_messages",
                         Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(m_exec, 0, words),
                         ClearMessages{memory});
    const auto messages = TileMessages<Scalar>::in(memory, shape.tiles, problem.channels());
    kernels.launch("Elaphos::linear_single_pass", shape.tiles * shape.groups, shape, Kernel{problem, shape, messages},
                   Kernel::scratch_bytes(shape));
  }

 private:
  const ExecutionSpace& m_exec;
  Workspace<ExecutionSpace>& m_workspace;
};

}  // namespace elaphos::impl

#endif
