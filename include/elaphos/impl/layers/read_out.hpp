// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_READ_OUT_HPP
#define ELAPHOS_IMPL_LAYERS_READ_OUT_HPP

#include <elaphos/impl/array_shape.hpp>

#include <cstdint>

namespace elaphos::impl {

/// z (rows, outputs) = h (rows, inputs) W^T + b, with W (outputs, inputs).
template <class Scalar>
struct ReadOutProblem {
  const Scalar* weights;
  const Scalar* bias;
  const Scalar* h;
  Scalar* z;
  std::int64_t rows;
  int inputs;
  int outputs;
};

/// Throws `InvalidArgument` unless weights are (O, H) and the bias is (O).
void check_readout(const ArrayShape& weights, const ArrayShape& bias);

/// Throws `InvalidArgument` unless h is (T, B, H) and z is (T, B, O), or (B, O) with T > 0; all contiguous, z apart.
void check_read_out(const ArrayShape& weights, const ArrayShape& bias, const ArrayShape& h, const ArrayShape& z);

/// Enqueues it. Compiled in the library for float and double on every enabled execution space.
template <class ExecutionSpace, class Scalar>
void enqueue_read_out(const ExecutionSpace& exec, const ReadOutProblem<Scalar>& problem);

}  // namespace elaphos::impl

#endif
