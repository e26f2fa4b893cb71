// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_SOLVE_LINEAR_HPP
#define ELAPHOS_IMPL_LINEAR_SOLVE_LINEAR_HPP

#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/linear_options.hpp>
#include <elaphos/workspace.hpp>

namespace elaphos::impl {

/// Solves a linear recurrence whose arguments have been checked. Compiled in the library for float, double and their
/// complex numbers, in every execution space; linear_solver.hpp is the definition.
template <class ExecutionSpace, class Scalar>
void solve_linear(const ExecutionSpace& exec, const LinearProblem<Scalar>& problem, const LinearOptions& options,
                  Workspace<ExecutionSpace>& workspace);

/// The composed map of all steps of each channel: `A` (B, blocks, block_size, block_size), `b` (B, D).
template <class ExecutionSpace, class Scalar>
void compose_linear(const ExecutionSpace& exec, const LinearProblem<Scalar>& problem, Scalar* A, Scalar* b,
                    Workspace<ExecutionSpace>& workspace);

/// Where gradients go; null for what is not wanted.
template <class Scalar>
struct LinearGradients {
  Scalar* dA;
  Scalar* dy0;
  bool scalar, varying;
  std::int64_t sequences;        // rows of dy0
  const std::int64_t* offsets;  // packed sequences, or null
};

/// Gradients with respect to coefficients and initial states of `problem`, whose y holds the states, when `db` is known.
template <class ExecutionSpace, class Scalar>
void linear_gradients(const ExecutionSpace& exec, const LinearProblem<Scalar>& problem, const Scalar* db,
                      const LinearGradients<Scalar>& to, Workspace<ExecutionSpace>& workspace);

/// Marks where packed sequences start (`LinearProblem::starts`), from their `sequences` + 1 offsets.
template <class ExecutionSpace>
std::int32_t* mark_sequence_starts(const ExecutionSpace& exec, const std::int64_t* offsets, std::int64_t sequences,
                                   std::int64_t steps, bool reversed, Workspace<ExecutionSpace>& workspace);

}  // namespace elaphos::impl

#endif
