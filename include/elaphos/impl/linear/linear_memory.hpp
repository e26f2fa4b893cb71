// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_LINEAR_MEMORY_HPP
#define ELAPHOS_IMPL_LINEAR_LINEAR_MEMORY_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/tile_kernels.hpp>
#include <elaphos/workspace.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

template <class ExecutionSpace>
inline constexpr bool linear_on_host = std::is_same_v<typename ExecutionSpace::memory_space, Kokkos::HostSpace>;

inline std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// A shorter problem, one step a tile, whose states are the states behind the tiles.
template <class Scalar>
LinearProblem<Scalar> problem_of_tiles(const LinearProblem<Scalar>& problem, std::int64_t tiles,
                                       const TileTotals<Scalar>& totals, Scalar* ends) {
  const std::int64_t K = problem.block_size;
  LinearProblem<Scalar> out;
  out.a = {totals.A, problem.channels() * K * K, problem.blocks * K * K, K * K, K, 1};
  out.b = totals.b;
  out.y0 = problem.starts == nullptr ? problem.y0 : nullptr;
  out.y = ends;
  out.end = problem.y == nullptr ? problem.end : nullptr;
  out.steps = tiles;
  out.batch = problem.batch;
  out.blocks = problem.blocks;
  out.block_size = problem.block_size;
  out.composed = true;
  return out;
}

/// Memory for the tiles' maps and ends, one level after another.
template <class ExecutionSpace, class Scalar>
class LinearMemory {
 public:
  LinearMemory(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace, std::size_t count)
      : m_next(workspace.template reserve<Scalar>(exec, Buffer::linear, count)) {}

  Scalar* take(std::size_t count) {
    Scalar* const taken = m_next;
    m_next += count;
    return taken;
  }
  Scalar* take_states(const LinearProblem<Scalar>& problem, std::int64_t tiles) {
    return take(std::size_t(tiles * problem.channels()) * std::size_t(problem.block_size));
  }
  TileTotals<Scalar> take_totals(const LinearProblem<Scalar>& problem, std::int64_t tiles) {
    const std::size_t states = std::size_t(tiles * problem.channels()) * std::size_t(problem.block_size);
    Scalar* const A = take(states * std::size_t(problem.block_size));
    return {A, take(states)};
  }
  /// Numbers that the totals and ends of `tiles` tiles take.
  static std::size_t needed(const LinearProblem<Scalar>& problem, std::int64_t tiles) {
    return std::size_t(tiles * problem.channels()) * std::size_t(problem.block_size) *
           (std::size_t(problem.block_size) + 2);
  }

 private:
  Scalar* m_next;
};

}  // namespace elaphos::impl

#endif
