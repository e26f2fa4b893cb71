// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_LINEAR_MEMORY_HPP
#define ELAPHOS_IMPL_LINEAR_LINEAR_MEMORY_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/team_boards.hpp>
#include <elaphos/impl/linear/tile_totals.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// Whether a space has the kernels whose teams wait for each other: teams must run on once they have started, and so many
/// at a time as CUDA's.
template <class ExecutionSpace>
inline constexpr bool has_waiting_teams =
#if defined(KOKKOS_ENABLE_CUDA)
    std::is_same_v<ExecutionSpace, Kokkos::Cuda>;
#else
    false;
#endif

/// Words of each of the boards with which the linear buffer begins where teams wait for each other: for a 4 x 4 map in
/// double from each of the four teams that a processor has; and for the tiles of one channel of 10^8 steps in float.
template <class ExecutionSpace>
std::int64_t board_words(const ExecutionSpace& exec) {
  return std::max<std::int64_t>(80'000, exec.concurrency() / 2048 * (4 * 20));
}

/// Room for `count` numbers in the linear buffer, behind the boards. All that use this buffer get it from here, so that
/// the boards stay what they are from call to call; a new buffer's are cleared.
template <class T, class ExecutionSpace>
T* reserve_linear(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace, std::size_t count) {
  std::size_t front = 0;
  if constexpr (has_waiting_teams<ExecutionSpace>) {
    front = sizeof(TeamBoards::Word) * static_cast<std::size_t>(TeamBoards::words(board_words(exec)));
  }
  const std::size_t before = workspace.bytes();
  auto* const memory =
      workspace.template reserve<unsigned char>(exec, Buffer::linear, front + count * sizeof(T));
  if (front > 0 && workspace.bytes() != before) {
    using Bytes = Kokkos::View<unsigned char*, typename ExecutionSpace::memory_space>;
    Kokkos::deep_copy(exec, Bytes(memory, front), static_cast<unsigned char>(0));
  }
  return reinterpret_cast<T*>(memory + front);
}

/// The boards themselves.
template <class ExecutionSpace>
TeamBoards reserve_boards(const ExecutionSpace& exec, Workspace<ExecutionSpace>& workspace) {
  const std::int64_t size = board_words(exec);
  return {reserve_linear<TeamBoards::Word>(exec, workspace, 0) - TeamBoards::words(size), size};
}

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
      : m_next(count > 0 ? reserve_linear<Scalar>(exec, workspace, count) : nullptr), m_left(count) {}

  Scalar* take(std::size_t count) {
    if (rounded(count) > m_left) Kokkos::abort("Elaphos: a linear recurrence has reserved too little memory");
    Scalar* const taken = m_next;
    m_next += rounded(count);
    m_left -= rounded(count);
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
  std::size_t m_left;
};

}  // namespace elaphos::impl

#endif
