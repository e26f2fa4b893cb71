// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LINEAR_GRADIENT_HPP
#define ELAPHOS_LINEAR_GRADIENT_HPP

#include <elaphos/errors.hpp>
#include <elaphos/impl/linear/solve_linear.hpp>
#include <elaphos/linear_recurrence.hpp>

namespace elaphos {

namespace impl {

/// Throws `InvalidArgument` unless a gradient is empty, or has the shape of what it is for and memory of its own.
void check_gradient(const ArrayShape& gradient, const ArrayShape& of, const ArrayShape& y, const ArrayShape& db);

/// Throws `InvalidArgument`: derivatives of an adjoint are not offered.
void check_gradient_options(const LinearOptions& options);

template <class ExecutionSpace, CoefficientKind kind, class AView, class InitialView, class StateView_, class GradientView,
          class AGradient, class OffsetGradient, class InitialGradient, class MarkStarts>
void linear_vjp(const ExecutionSpace& exec, const LinearCoefficients<kind, AView>& coefficients, const InitialView& y0,
                const StateView_& y, const GradientView& dL_dy, const AGradient& dA, const OffsetGradient& db,
                const InitialGradient& dy0, const LinearOptions& options, Workspace<ExecutionSpace>& workspace,
                std::int64_t sequences, const std::int64_t* offsets, const MarkStarts& mark_starts) {
  using Scalar = typename OffsetGradient::non_const_value_type;
  static_assert(ViewCheck<ExecutionSpace, Scalar, 3, StateView_>::passed);
  static_assert(ViewCheck<ExecutionSpace, Scalar, 3, GradientView>::passed);
  static_assert(ViewCheck<ExecutionSpace, Scalar, 3, OffsetGradient>::passed);
  static_assert(ViewCheck<ExecutionSpace, Scalar, AView::rank, AGradient>::passed);
  static_assert(ViewCheck<ExecutionSpace, Scalar, InitialView::rank, InitialGradient>::passed);
  check_gradient_options(options);
  auto forward = linear_problem<ExecutionSpace, Scalar>(coefficients, dL_dy, y0, shape_of("y", y), sequences, options);
  LinearOptions backward = options;
  backward.adjoint = true;
  const StateView<Scalar, typename ExecutionSpace::memory_space> none;
  auto adjoint =
      linear_problem<ExecutionSpace, Scalar>(coefficients, dL_dy, none, shape_of("db", db), sequences, backward);
  check_gradient(shape_of("dA", dA), shape_of("A", coefficients.view), shape_of("y", y), shape_of("db", db));
  check_gradient(shape_of("dy0", dy0), shape_of("y0", y0), shape_of("y", y), shape_of("db", db));
  expect_apart(shape_of("db", db), shape_of("y", y));

  adjoint.y = db.data();
  adjoint.starts = mark_starts(adjoint.reversed);
  adjoint.packed = adjoint.starts != nullptr;
  solve_linear<ExecutionSpace, Scalar>(exec, adjoint, backward, workspace);
  // Only read from here on.
  forward.y = const_cast<Scalar*>(y.data());
  forward.starts = mark_starts(forward.reversed);
  const LinearGradients<Scalar> to{dA.size() == 0 ? nullptr : dA.data(),
                                   dy0.size() == 0 ? nullptr : dy0.data(),
                                   kind == CoefficientKind::scalar,
                                   AView::rank >= CoefficientRank<kind>::varying,
                                   sequences > 0 ? sequences : forward.batch,
                                   offsets};
  linear_gradients<ExecutionSpace, Scalar>(exec, forward, db.data(), to, workspace);
}

}  // namespace impl

/// \brief Vector-Jacobian product: from dL/dy of a linear recurrence, the gradients of L with respect to A, b and y0.
///
/// db is the adjoint recurrence driven by dL/dy, db_t = dL/dy_t + A_{t+1}^T db_{t+1}; dA_t = db_t y_{t-1}^T, of which the
/// kind of coefficients keeps its own entries, summed over steps and sequences in a fixed order where A is the same for
/// all; dy0 = A_1^T db_1. Complex gradients are with respect to the numbers themselves, not their conjugates.
///
/// \param y     states of the forward solve with the same arguments (T, B, D)
/// \param dL_dy (T, B, D)
/// \param dA    of A's shape, or empty if not wanted
/// \param db    (T, B, D); may be dL_dy itself
/// \param dy0   of y0's shape, or empty if not wanted
/// \throws InvalidArgument for shapes, options or overlaps that make no sense, before anything is written
template <class ExecutionSpace, class A, class InitialView, class States, class Gradient, class AGradient,
          class OffsetGradient, class InitialGradient>
void linear_recurrence_vjp(const ExecutionSpace& exec, const A& coefficients, const InitialView& y0, const States& y,
                           const Gradient& dL_dy, const AGradient& dA, const OffsetGradient& db,
                           const InitialGradient& dy0, const LinearOptions& options,
                           Workspace<ExecutionSpace>& workspace) {
  impl::linear_vjp(exec, coefficients, y0, y, dL_dy, dA, db, dy0, options, workspace, 0, nullptr,
                   [](bool) { return static_cast<const std::int32_t*>(nullptr); });
}

/// \brief The same for packed sequences.
template <class ExecutionSpace, class A, class Offsets, class InitialView, class States, class Gradient,
          class AGradient, class OffsetGradient, class InitialGradient>
void linear_recurrence_vjp(const ExecutionSpace& exec, const A& coefficients, const PackedSequences<Offsets>& packed,
                           const InitialView& y0, const States& y, const Gradient& dL_dy, const AGradient& dA,
                           const OffsetGradient& db, const InitialGradient& dy0, const LinearOptions& options,
                           Workspace<ExecutionSpace>& workspace) {
  static_assert(impl::ViewCheck<ExecutionSpace, std::int64_t, 1, Offsets>::passed);
  const std::int64_t sequences = impl::check_offsets(impl::shape_of("offsets", packed.offsets));
  impl::linear_vjp(exec, coefficients, y0, y, dL_dy, dA, db, dy0, options, workspace, sequences, packed.offsets.data(),
                   [&](bool reversed) -> const std::int32_t* {
                     return impl::mark_sequence_starts(exec, packed.offsets.data(), sequences,
                                                       static_cast<std::int64_t>(y.extent(0)), reversed, workspace);
                   });
}

}  // namespace elaphos

#endif
