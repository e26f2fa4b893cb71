// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_LAYERS_READ_OUT_HPP
#define ELAPHOS_SRC_LAYERS_READ_OUT_HPP

#include "../execution_spaces.hpp"

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/layers/read_out.hpp>
#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// A tile of rows by outputs a work item, its sums in registers.
///
/// A row costs O H multiply-adds and H + O words; a tile reads the weights of its outputs once for all its rows. Every
/// sum begins with the bias and takes its products in ascending order, so no bit depends on the tiles.
template <class Scalar, int Rows, int Outputs>
struct ReadOut {
  ReadOutProblem<Scalar> problem;
  std::int64_t output_tiles;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t row = index / output_tiles * Rows;
    const int output = static_cast<int>(index % output_tiles) * Outputs;
    if (row + Rows > problem.rows) {
      for (std::int64_t r = row; r < problem.rows; ++r) {
        for (int o = output; o < output + Outputs && o < problem.outputs; ++o) tile<1, 1>(r, o);
      }
    } else if (output + Outputs > problem.outputs) {
      for (int o = output; o < problem.outputs; ++o) tile<Rows, 1>(row, o);
    } else {
      tile<Rows, Outputs>(row, output);
    }
  }

  template <int R, int C>
  KOKKOS_FORCEINLINE_FUNCTION void tile(std::int64_t row, int output) const {
    const std::int64_t H = problem.inputs, O = problem.outputs;
    const Scalar* h = problem.h + row * H;
    const Scalar* weights = problem.weights + output * H;
    Scalar sums[R][C];
    ELAPHOS_UNROLL
    for (int r = 0; r < R; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < C; ++c) sums[r][c] = problem.bias[output + c];
    }
    for (std::int64_t k = 0; k < H; ++k) {
      Scalar column[C];
      ELAPHOS_UNROLL
      for (int c = 0; c < C; ++c) column[c] = weights[c * H + k];
      ELAPHOS_UNROLL
      for (int r = 0; r < R; ++r) {
        const Scalar factor = h[r * H + k];
        ELAPHOS_UNROLL
        for (int c = 0; c < C; ++c) sums[r][c] = multiply_add(factor, column[c], sums[r][c]);
      }
    }
    Scalar* z = problem.z + row * O + output;
    ELAPHOS_UNROLL
    for (int r = 0; r < R; ++r) {
      ELAPHOS_UNROLL
      for (int c = 0; c < C; ++c) z[r * O + c] = sums[r][c];
    }
  }
};

template <class ExecutionSpace, class Scalar>
void enqueue_read_out(const ExecutionSpace& exec, const ReadOutProblem<Scalar>& problem) {
  if (problem.rows == 0) return;
  // On hosts vector lanes over outputs, and sums that fill eight registers of 32 bytes; on devices neighbouring threads
  // write neighbouring outputs.
  constexpr bool host = runs_on_host<ExecutionSpace>;
  constexpr int rows = host ? static_cast<int>(32 / sizeof(Scalar)) : 4, outputs = host ? 8 : 1;
  const std::int64_t output_tiles = divide_up(problem.outputs, outputs);
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::read_out", Policy(exec, 0, divide_up(problem.rows, rows) * output_tiles),
                       ReadOut<Scalar, rows, outputs>{problem, output_tiles});
}

}  // namespace elaphos::impl

#endif
