// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_REGISTER_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_REGISTER_KERNELS_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/tile_kernels.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// Launches the kernels for blocks of at most `size` numbers, whose maps fit in a thread's registers, on a device.
template <class ExecutionSpace, class Scalar, int size>
class RegisterKernels {
 public:
  using Problem = LinearProblem<Scalar>;
  using Shape = TileShape;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  static constexpr int spare_entries(const Problem&) { return 0; }

  explicit RegisterKernels(const ExecutionSpace& exec) : m_exec(exec) {}

  /// A team that walks all tiles has the shape of one that takes a tile.
  Shape by_channel(const Problem& problem) const { return cut(problem); }

  Shape cut(const Problem& problem) const {
    Shape shape;
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

  /// One team walks a few tiles sooner than two more kernels start, and many groups of channels keep a device busy.
  bool cutting_pays(const Problem& problem) const {
    const Shape shape = cut(problem);
    return shape.tiles > 4 && shape.groups * shape.team_size() < m_exec.concurrency() / 2;
  }

  void fold(const Problem& problem, const Shape& shape, const TileTotals<Scalar>& totals) const {
    launch("Elaphos::linear_fold", shape.tiles * shape.groups, shape,
           FoldTiles<Member, Scalar, size>{problem, shape, totals}, TileScratch<Scalar, size>::bytes(shape));
  }
  void walk(const Problem& problem, const Shape& shape, const Scalar* tile_ends) const {
    launch("Elaphos::linear_walk", tile_ends == nullptr ? shape.groups : shape.tiles * shape.groups, shape,
           WalkTiles<Member, Scalar, size>{problem, shape, tile_ends}, TileScratch<Scalar, size>::bytes(shape));
  }

  template <class Kernel>
  void launch(const char* label, std::int64_t teams, const Shape& shape, const Kernel& kernel,
              std::size_t scratch_bytes) const {
    // Two teams on a processor of the device: one loads while the other scans.
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<team_size, size == 1 ? 2 : 1>>;
    Policy policy(m_exec, static_cast<int>(teams), shape.team_size());
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(scratch_bytes)));
    Kokkos::parallel_for(label, policy, kernel);
  }

 private:
  // Numbers of any width take the same scratch memory, within the 48 KiB that Kokkos before 5.2 gives.
  static constexpr int team_size = size == 1 ? int(1024 / sizeof(Scalar)) : 128;

  const ExecutionSpace& m_exec;
};

}  // namespace elaphos::impl

#endif
