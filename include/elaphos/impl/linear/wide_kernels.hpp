// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WIDE_KERNELS_HPP
#define ELAPHOS_IMPL_LINEAR_WIDE_KERNELS_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/wide_fold.hpp>
#include <elaphos/impl/linear/wide_walk.hpp>
#include <elaphos/impl/pack.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Launches the kernels for wide blocks, of at most `size` numbers, on a device.
template <class ExecutionSpace, class Scalar, int size>
class WideKernels {
 public:
  using Problem = LinearProblem<Scalar>;
  using Shape = WideShape;
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  using Layout = WideLayout<Scalar, size>;
  /// The run's map where it is in memory, or what is kept for each run of a team in line.
  static constexpr int spare_entries(const Problem&) {
    return Layout::runs > 1 ? Layout::runs * (size * size + size) : WideMap<Member, Scalar, size>::memory_entries;
  }

  explicit WideKernels(const ExecutionSpace& exec) : m_exec(exec) {}

  Shape by_channel(const Problem& problem) const { return {1, problem.steps, 0, 1}; }

  /// As many runs as the device holds at a time, of some steps at least.
  Shape cut(const Problem& problem) const {
    // A GPU's processor has up to 2048 threads, of which registers and scratch memory leave so many.
    const std::int64_t runs =
        std::max<std::int64_t>(1, m_exec.concurrency() / 2048 * fold_teams * Layout::runs);
    // Recurrences over tiles wait for latency: short runs and one more level take less time than long ones.
    const std::int64_t least = problem.composed ? (size <= 16 ? 8 : size == 32 ? 5 : 4) : 32;
    Shape shape = by_channel(problem);
    const std::int64_t wanted = std::max(least, divide_up(problem.steps * problem.channels(), runs));
    shape.tiles = std::max<std::int64_t>(1, divide_up(problem.steps, wanted));
    // Neighbours of other channels share lines of memory unless blocks are whole ones.
    const bool apart = problem.channels() == 1 || problem.block_size == size;
    if (apart && shape.tiles >= 2 * Layout::runs) {
      shape.line = Layout::runs;
      shape.tiles = divide_up(shape.tiles, std::int64_t(Layout::runs)) * Layout::runs;
    }
    // Evenly: nobody waits for a last team whose runs end at different times.
    shape.run_steps = problem.steps / shape.tiles;
    shape.longer = problem.steps - shape.run_steps * shape.tiles;
    return shape;
  }

  /// Composing maps costs `block_size` times what walking costs, and pays where there are threads without work.
  bool cutting_pays(const Problem& problem) const {
    const double K = problem.block_size, channels = static_cast<double>(problem.channels());
    return problem.steps > (problem.composed ? 24 : 96) && channels * K * K * K < 15.0 * m_exec.concurrency();
  }

  void fold(const Problem& problem, const Shape& shape, const TileTotals<Scalar>& totals) const {
    with_exactness(problem, [&]<bool exact>(std::bool_constant<exact>) {
      using Kernel = WideFold<Member, Scalar, size, exact>;
      launch<fold_teams>("Elaphos::linear_fold", problem, shape, Kernel{problem, shape, totals});
    });
  }

  void walk(const Problem& problem, const Shape& shape, const Scalar* ends, const Scalar* kept = nullptr) const {
    with_exactness(problem, [&]<bool exact>(std::bool_constant<exact>) {
      using Kernel = WideWalk<Member, Scalar, size, exact>;
      launch<walk_teams>("Elaphos::linear_walk", problem, shape, Kernel{problem, shape, ends, kept});
    });
  }

 private:
  // Teams that a processor of a device holds at a time: they bound the registers of a thread.
  static constexpr int per_number = sizeof(Scalar) > 4 ? 2 : 1;
  static constexpr int fold_teams = (size <= 16 ? 16 : size == 32 ? 12 : size == 64 ? 6 : 4) / per_number;
  static constexpr int walk_teams = (size <= 16 ? 20 : size == 32 ? 16 : size == 64 ? 6 : 4) / per_number;

  template <class Work>
  static void with_exactness(const Problem& problem, const Work& work) {
    if (PanelCopy<Scalar, size, true, Layout::panel_rows>::possible(problem)) {
      work(std::true_type());
    } else {
      work(std::false_type());
    }
  }

  template <int teams_at_a_time, class Kernel>
  void launch(const char* label, const Problem& problem, const Shape& shape, const Kernel& kernel) const {
    const std::int64_t teams = divide_up(shape.maps() * problem.channels(), std::int64_t(Layout::runs / shape.line));
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Kokkos::LaunchBounds<Layout::team_size, teams_at_a_time>>;
    Policy policy(m_exec, static_cast<int>(teams), Layout::team_size);
    policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes())));
    Kokkos::parallel_for(label, policy, kernel);
  }

  const ExecutionSpace& m_exec;
};

}  // namespace elaphos::impl

#endif
