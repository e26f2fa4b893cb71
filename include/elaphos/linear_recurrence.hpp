// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LINEAR_RECURRENCE_HPP
#define ELAPHOS_LINEAR_RECURRENCE_HPP

#include <elaphos/impl/check_views.hpp>
#include <elaphos/impl/linear/check_linear.hpp>
#include <elaphos/impl/linear/solve_linear.hpp>
#include <elaphos/linear_options.hpp>
#include <elaphos/views.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos {

/// \brief The coefficients A_t of a linear recurrence, a View with what its numbers mean; made by the functions below.
///
/// With T and B in front they depend on the step and the sequence; without both they are the same for all.
template <impl::CoefficientKind kind, class View>
struct LinearCoefficients {
  View view;
};

/// \brief A_t is a number times the identity: (T, B), or a View of rank 0.
template <class View>
auto scalar_coefficients(const View& view) {
  return LinearCoefficients<impl::CoefficientKind::scalar, View>{view};
}

/// \brief A_t is diagonal: (T, B, D), or (D). Complex numbers are allowed.
template <class View>
auto diagonal_coefficients(const View& view) {
  return LinearCoefficients<impl::CoefficientKind::diagonal, View>{view};
}

/// \brief A_t is block-diagonal with blocks of K x K numbers: (T, B, D / K, K, K), or (D / K, K, K).
template <class View>
auto block_coefficients(const View& view) {
  return LinearCoefficients<impl::CoefficientKind::block, View>{view};
}

/// \brief A_t is dense: (T, B, D, D), or (D, D).
template <class View>
auto dense_coefficients(const View& view) {
  return LinearCoefficients<impl::CoefficientKind::dense, View>{view};
}

/// \brief Sequences of different lengths, one behind the other in a time axis of T steps with B = 1.
///
/// Sequence s has the steps offsets(s) ... offsets(s + 1) - 1; `offsets` has one entry more than there are sequences,
/// starts with 0, ends with T and does not decrease. The caller vouches for its values, which are on the device.
template <class View>
struct PackedSequences {
  View offsets;
};
template <class View>
PackedSequences(const View&) -> PackedSequences<View>;

namespace impl {

template <class ExecutionSpace, class Scalar, CoefficientKind kind, class AView, class View, class InitialView>
LinearProblem<Scalar> linear_problem(const LinearCoefficients<kind, AView>& coefficients, const View& b,
                                     const InitialView& y0, const ArrayShape& states, std::int64_t sequences,
                                     const LinearOptions& options) {
  static_assert(ViewCheck<ExecutionSpace, Scalar, InitialView::rank, InitialView>::passed);
  static_assert(ViewCheck<ExecutionSpace, Scalar, AView::rank, AView>::passed);
  constexpr bool varying = AView::rank >= CoefficientRank<kind>::varying;
  static_assert(AView::rank == CoefficientRank<kind>::varying || AView::rank == CoefficientRank<kind>::constant,
                "Elaphos: coefficients are (T, B), (T, B, D), (T, B, D / K, K, K) or (T, B, D, D), or the same without "
                "T and B: this View's rank is wrong");
  LinearProblem<Scalar> problem;
  const LinearSizes sizes = check_linear(kind, varying, shape_of("A", coefficients.view), shape_of("b", b),
                                         shape_of("y0", y0), states, sequences, is_complex<Scalar>, options);
  problem.b = b.data();
  problem.y0 = y0.size() == 0 ? nullptr : y0.data();
  problem.steps = sizes.steps;
  problem.batch = sizes.batch;
  problem.blocks = sizes.blocks;
  problem.block_size = sizes.block_size;
  place_coefficients(kind, varying, coefficients.view.data(), problem);
  problem.reversed = (options.direction == Direction::reverse) != options.adjoint;
  if (options.adjoint) {
    problem.previous_coefficients = true;
    const std::int64_t row = problem.a.row;
    problem.a.row = problem.a.column;
    problem.a.column = row;
  }
  return problem;
}

}  // namespace impl

/// \brief Solves y_t = A_t y_{t-1} + b_t, t = 1..T, for B sequences, in parallel over time and channels.
///
/// A prefix scan over affine maps, composed in a fixed order (Blelloch, 1990; composition does not commute). Results are
/// bitwise equal from run to run for one plan and number of threads; between plans they differ by rounding. States are
/// computed from the nearest known state by the plain loop's arithmetic, so infinities and NaN appear where the loop has
/// them. In composed maps, whose products may overflow where no state does, 0 times infinity counts as 0.
///
/// \param exec    runs all kernels, and is not waited for
/// \param A       scalar_, diagonal_, block_ or dense_coefficients
/// \param b       offsets (T, B, D)
/// \param y0      initial states (B, D); an empty View stands for zeros
/// \param y       states (T, B, D); may be b itself
/// \param options direction, adjoint, plan
/// \throws InvalidArgument for shapes, options or overlaps that make no sense, before anything is written
template <class ExecutionSpace, class A, class View, class InitialView, class OutputView>
void linear_recurrence(const ExecutionSpace& exec, const A& coefficients, const View& b, const InitialView& y0,
                       const OutputView& y, const LinearOptions& options, Workspace<ExecutionSpace>& workspace) {
  using Scalar = typename OutputView::non_const_value_type;
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, View>::passed);
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, OutputView>::passed);
  static_assert(!std::is_const_v<typename OutputView::value_type>, "Elaphos: y is written: its View must not be const");
  auto problem =
      impl::linear_problem<ExecutionSpace, Scalar>(coefficients, b, y0, impl::shape_of("y", y), 0, options);
  problem.y = y.data();
  impl::solve_linear<ExecutionSpace, Scalar>(exec, problem, options, workspace);
}

/// \brief The same for packed sequences: b and y are (T, 1, D), y0 is (sequences, D).
template <class ExecutionSpace, class A, class Offsets, class View, class InitialView, class OutputView>
void linear_recurrence(const ExecutionSpace& exec, const A& coefficients, const PackedSequences<Offsets>& packed,
                       const View& b, const InitialView& y0, const OutputView& y, const LinearOptions& options,
                       Workspace<ExecutionSpace>& workspace) {
  using Scalar = typename OutputView::non_const_value_type;
  static_assert(impl::ViewCheck<ExecutionSpace, std::int64_t, 1, Offsets>::passed);
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, View>::passed);
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, OutputView>::passed);
  static_assert(!std::is_const_v<typename OutputView::value_type>, "Elaphos: y is written: its View must not be const");
  const std::int64_t sequences = impl::check_offsets(impl::shape_of("offsets", packed.offsets));
  auto problem =
      impl::linear_problem<ExecutionSpace, Scalar>(coefficients, b, y0, impl::shape_of("y", y), sequences, options);
  problem.y = y.data();
  problem.packed = true;
  problem.starts = impl::mark_sequence_starts(exec, packed.offsets.data(), sequences, problem.steps, problem.reversed,
                                              workspace);
  impl::solve_linear<ExecutionSpace, Scalar>(exec, problem, options, workspace);
}

/// \brief Only the state behind the last step (in running order), (B, D); y is not stored.
template <class ExecutionSpace, class A, class View, class InitialView, class OutputView>
void linear_final_state(const ExecutionSpace& exec, const A& coefficients, const View& b, const InitialView& y0,
                        const OutputView& end, const LinearOptions& options, Workspace<ExecutionSpace>& workspace) {
  using Scalar = typename OutputView::non_const_value_type;
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, View>::passed);
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 2, OutputView>::passed);
  auto problem =
      impl::linear_problem<ExecutionSpace, Scalar>(coefficients, b, y0, impl::shape_of("end", end), 0, options);
  problem.end = end.data();
  impl::solve_linear<ExecutionSpace, Scalar>(exec, problem, options, workspace);
}

/// \brief The composed map of all steps, y_T = A_all y_0 + b_all, which lets ranges of time be joined.
///
/// \param A_all (B, blocks, K, K): K and the number of blocks are 1 and D for scalar and diagonal coefficients, D and 1 for
///              dense ones
/// \param b_all (B, D)
template <class ExecutionSpace, class A, class View, class MapView, class OffsetView>
void linear_composed_map(const ExecutionSpace& exec, const A& coefficients, const View& b, const MapView& A_all,
                         const OffsetView& b_all, const LinearOptions& options, Workspace<ExecutionSpace>& workspace) {
  using Scalar = typename OffsetView::non_const_value_type;
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, View>::passed);
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 4, MapView>::passed);
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 2, OffsetView>::passed);
  const StateView<Scalar, typename ExecutionSpace::memory_space> none;
  auto problem =
      impl::linear_problem<ExecutionSpace, Scalar>(coefficients, b, none, impl::shape_of("b_all", b_all), 0, options);
  impl::check_composed_map(impl::shape_of("A_all", A_all), impl::shape_of("b_all", b_all), problem.batch,
                           problem.blocks, problem.block_size);
  impl::compose_linear<ExecutionSpace, Scalar>(exec, problem, A_all.data(), b_all.data(), workspace);
}

}  // namespace elaphos

#endif
