// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_REGISTER_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_REGISTER_KERNELS_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/block_line.hpp>
#include <elaphos/impl/linear/block_tile.hpp>
#include <elaphos/impl/linear/number_tile.hpp>
#include <elaphos/impl/linear/tile_kernels.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Launches the kernels for blocks of at most `size` numbers, whose maps fit in a thread's registers, on a device.
template <class ExecutionSpace, class Scalar, int size>
class RegisterKernels {
 public:
  using Problem = LinearProblem<Scalar>;
  using Shape = TileShape;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  static constexpr int spare_entries(const Problem&) { return 0; }
  /// Teams that a processor of the device holds at a time: some load while others scan.
  static constexpr int teams_at_a_time = size == 2 ? 5 : (size == 4 ? 4 : 3);

  /// Numbers of any width take the same scratch memory, within the 48 KiB that Kokkos before 5.2 gives.
  static constexpr int team_size = int((size == 1 ? 1024 : 512) / sizeof(Scalar));
  /// Of teams that take blocks straight from memory: as many as registers allow.
  static constexpr int large_team_size = int(2048 / sizeof(Scalar));

  explicit RegisterKernels(const ExecutionSpace& exec) : m_exec(exec) {}

  /// Recurrences over tiles wait for latency: where numbers cannot be copied in line, one large team takes less time than
  /// some kernels more. Else rows of 32 channels; of 16 where that gives more processors of the device a group.
  Shape by_channel(const Problem& problem) const {
    if (size > 1 && problem.composed && !in_line(problem)) return cut(problem, warp_size, large_team_size);
    const Shape whole = cut(problem, warp_size);
    return size > 1 || busy(whole) ? whole : cut(problem, warp_size / 2);
  }

  Shape cut(const Problem& problem) const {
    Shape shape = cut(problem, warp_size);
    // As few teams as the device holds at a time: fewer maps to recur over.
    if (size > 1) {
      const std::int64_t at_a_time = processors() * teams_at_a_time;
      shape.tiles_a_team = std::min<std::int64_t>(4, divide_up(shape.tiles * shape.groups, at_a_time));
    }
    return shape;
  }

  /// One team walks a few tiles sooner than two more kernels start, and many groups of channels keep a device busy.
  bool cutting_pays(const Problem& problem) const {
    const Shape shape = by_channel(problem);
    const int few = size == 1 ? 4 : (problem.composed && in_line(problem) ? 2 : 1);
    return shape.tiles > few && !busy(shape);
  }

  void fold(const Problem& problem, const Shape& shape, const TileTotals<Scalar>& totals) const {
    with_tile(problem, shape, [&]<class Tile>(std::type_identity<Tile>) {
      launch<teams_at_a_time>("Elaphos::linear_fold", shape.maps() * shape.groups, shape,
                              FoldTiles<Member, Scalar, size, Tile>{problem, shape, totals});
    });
  }
  void walk(const Problem& problem, const Shape& shape, const Scalar* tile_ends, const Scalar* = nullptr) const {
    if constexpr (size > 1) {
      if (shape.team_size() > team_size) {
        using Tile = BlockTile<Member, Scalar, size>;
        return launch<1, large_team_size>("Elaphos::linear_walk", shape.groups, shape,
                                          WalkChannels<Member, Scalar, size, Tile>{problem, shape});
      }
    }
    with_tile(problem, shape, [&]<class Tile>(std::type_identity<Tile>) {
      if (tile_ends == nullptr) {
        launch<2>("Elaphos::linear_walk", shape.groups, shape,
                  WalkChannels<Member, Scalar, size, Tile>{problem, shape});
      } else {
        launch<teams_at_a_time>("Elaphos::linear_walk", shape.maps() * shape.groups, shape,
                                WalkTiles<Member, Scalar, size, Tile>{problem, shape, tile_ends});
      }
    });
  }

  /// Calls `work` with the type of a thread's part that suits the problem.
  template <class Work>
  static void with_tile(const Problem& problem, const Shape& shape, const Work& work) {
    if constexpr (size > 1) {
      if (in_line(problem)) {
        work(std::type_identity<BlockLine<Member, Scalar, size>>());
      } else {
        work(std::type_identity<BlockTile<Member, Scalar, size>>());
      }
    } else {
      with_tile_access(problem, shape.lanes, [&]<TileAccess access>(std::integral_constant<TileAccess, access>) {
        work(std::type_identity<NumberTile<Member, Scalar, access>>());
      });
    }
  }

  /// `at_a_time`: teams that a processor shall hold, which bounds the registers of a thread.
  template <int at_a_time, int largest = team_size, class Kernel>
  void launch(const char* label, std::int64_t teams, const Shape& shape, const Kernel& kernel) const {
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<largest, at_a_time>>;
    Policy policy(m_exec, static_cast<int>(teams), shape.team_size());
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes(shape))));
    Kokkos::parallel_for(label, policy, kernel);
  }

 private:
  static bool in_line(const Problem& problem) {
    if constexpr (size > 1) return BlockLine<Member, Scalar, size>::possible(problem);
    return false;
  }

  // Whether nearly every processor of the device (of some 2048 threads) has a group of channels to walk.
  bool busy(const Shape& shape) const {
    return shape.groups * 10 >= processors() * (size == 1 ? 8 : 20);
  }

  std::int64_t processors() const { return std::max(1, m_exec.concurrency() / 2048); }

  static Shape cut(const Problem& problem, int most_lanes, int threads = team_size) {
    Shape shape;
    while (shape.lanes < most_lanes && shape.lanes < problem.channels()) shape.lanes *= 2;
    shape.runs = threads / shape.lanes;
    shape.run_steps = steps_in_a_run<Scalar, size>;
    // No more warps than there are steps for.
    while (shape.team_size() > warp_size && std::int64_t(shape.runs / 2) * shape.run_steps >= problem.steps) {
      shape.runs /= 2;
    }
    shape.tiles = std::max<std::int64_t>(1, divide_up(problem.steps, std::int64_t(shape.tile_steps())));
    shape.groups = divide_up(problem.channels(), shape.lanes);
    return shape;
  }

  const ExecutionSpace& m_exec;
};

}  // namespace elaphos::impl

#endif
