// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LINEAR_OPTIONS_HPP
#define ELAPHOS_LINEAR_OPTIONS_HPP

#include <cstddef>
#include <string>

namespace elaphos {

/// \brief Which way a linear recurrence runs.
enum class Direction {
  forward,  ///< y_t = A_t y_{t-1} + b_t; the initial state stands before the first step
  reverse   ///< y_t = A_t y_{t+1} + b_t; the initial state stands behind the last step
};

/// \brief How a linear recurrence is divided; the same plan gives the same bits in every run.
enum class LinearPlan {
  automatic,     ///< by shape and execution space
  by_channel,    ///< channels alone are parallel: each walks time
  tiled,         ///< three kernels: composed maps of tiles of time, a scan over them, each tile from its entry
  single_pass,   ///< one kernel in which tiles tell each other their maps: on CUDA, blocks of one number (memory is then
                 ///< read once), or one sequence of a dense block of up to 4
  team_per_tile  ///< one team a tile, a thread a step, the tile in scratch memory (the DEER paper's launch scheme)
};

/// \brief How to solve a linear recurrence.
struct LinearOptions {
  Direction direction = Direction::forward;
  /// The transposed recurrence in the opposite running order, as derivatives need it: forward, it gives
  /// l_t = A_{t+1}^T l_{t+1} + b_t with l_T = b_T + y0. Transposed, not conjugated.
  bool adjoint = false;
  LinearPlan plan = LinearPlan::automatic;
  int scan_tile = 256;  ///< steps a team scans in scratch memory; only for `team_per_tile`; 1 ... 1024
};

/// \brief Bytes of scratch memory that a team of `LinearPlan::team_per_tile` takes.
///
/// A map a step: scan_tile * 2 D numbers for diagonal coefficients, scan_tile * (D^2 + D) for dense ones, and one number a
/// step more where the stride would be even, against bank conflicts.
///
/// \param scalar_bytes sizeof the numbers
/// \param blocks       blocks of a state: D for scalar and diagonal coefficients, 1 for dense ones
/// \param block_size   K: 1 for scalar and diagonal coefficients, D for dense ones
std::size_t team_per_tile_scratch_bytes(std::size_t scalar_bytes, int scan_tile, int blocks, int block_size);

std::string to_string(Direction direction);
std::string to_string(LinearPlan plan);

}  // namespace elaphos

#endif
