// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_LINEAR_MEMORY_HPP
#define ELAPHOS_IMPL_LINEAR_LINEAR_MEMORY_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>
#include <elaphos/workspace.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

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
  out.packed = problem.packed;
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
    m_next += rounded(count);
    return taken;
  }
  Scalar* take_states(const LinearProblem<Scalar>& problem, std::int64_t tiles) {
    return take(std::size_t(tiles * problem.channels()) * std::size_t(problem.block_size));
  }
  /// `spare`: numbers that a kernel needs besides, for each tile and channel.
  TileTotals<Scalar> take_totals(const LinearProblem<Scalar>& problem, std::int64_t tiles, int spare) {
    const std::size_t states = std::size_t(tiles * problem.channels()) * std::size_t(problem.block_size);
    // Matrices and what is read like them are aligned: `take` rounds up.
    Scalar* const A = take(states * std::size_t(problem.block_size));
    Scalar* const b = take(states);
    return {A, b, take(std::size_t(tiles * problem.channels()) * std::size_t(spare))};
  }
  /// Numbers that the totals and ends of `tiles` tiles take.
  static std::size_t needed(const LinearProblem<Scalar>& problem, std::int64_t tiles, int spare) {
    const std::size_t K = std::size_t(problem.block_size), maps = std::size_t(tiles * problem.channels());
    return rounded(maps * K * K) + 2 * rounded(maps * K) + rounded(maps * std::size_t(spare));
  }

 private:
  // To whole multiples of 16 bytes, so that all starts are aligned.
  static std::size_t rounded(std::size_t count) { return (count + 15) / 16 * 16; }

  Scalar* m_next;
};

}  // namespace elaphos::impl

#endif
