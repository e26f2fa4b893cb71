// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_LAYER_WEIGHTS_HPP
#define ELAPHOS_CELLS_LAYER_WEIGHTS_HPP

#include <elaphos/views.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace elaphos {

/// \brief Weights of a recurrent layer in PyTorch's layout: gates stacked along the rows, in the cell's gate order.
///
/// With G gates, H units and input size I: `input_weights` (G H, I), `hidden_weights` (G H, H), `input_bias` (G H) and
/// `hidden_bias` (G H); in PyTorch weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0. The Views are shared, not
/// copied: every solve reads what they hold at that moment.
///
/// With several `heads` the recurrent matrices are block-diagonal: H / heads units after one another see one another
/// only, and `hidden_weights` is (G H, H / heads), the blocks' rows; with H heads it is a column, the diagonals.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
struct LayerWeights {
  MatrixView<const Scalar, MemorySpace> input_weights;
  MatrixView<const Scalar, MemorySpace> hidden_weights;
  VectorView<const Scalar, MemorySpace> input_bias;
  VectorView<const Scalar, MemorySpace> hidden_bias;
  int heads = 1;
};

namespace impl {

struct MatrixShape {
  std::size_t rows;
  std::size_t columns;
};

/// What a layer's weights must fit.
struct LayerKind {
  int gates;
  int heads;
  bool recurrent;
};

/// Throws `InvalidArgument` unless the shapes fit one another and `kind`.
void check_layer_weights(const char* cell, LayerKind kind, MatrixShape input_weights, MatrixShape hidden_weights,
                         std::size_t input_bias, std::size_t hidden_bias);

/// Throws `InvalidArgument` unless `found`, of the array `name`, is `expected`.
void check_unit_weights(const char* cell, const char* name, MatrixShape found, MatrixShape expected);

/// Weights as raw arrays, for kernels.
template <class Scalar>
struct GatedWeights {
  const Scalar* input_weights;
  const Scalar* hidden_weights;
  const Scalar* input_bias;
  const Scalar* hidden_bias;
  const Scalar* unit_weights;  ///< (Gates::unit_weights, H), or null
  int hidden_size;
  int input_size;
  int heads;
  int absent_gates;  ///< so many gates in front have no weights
};

/// The same rearranged for kernels; see PackWeights in the sources. Padded to a compiled width, unit index fastest.
template <class Scalar>
struct PackedWeights {
  const Scalar* hidden_weights;
  const Scalar* hidden_diagonal;
  const Scalar* input_weights;
  const Scalar* input_bias;
  const Scalar* hidden_bias;
  const Scalar* unit_weights;
  const Scalar* hidden_rows;   ///< as they were given: (G H, H / heads)
  const Scalar* lane_weights;  ///< once more, see PackLaneWeights; on hosts only
  int hidden_size;
  int input_size;
  int head_size;  ///< units that see one another: H / heads
};

}  // namespace impl

}  // namespace elaphos

#endif
