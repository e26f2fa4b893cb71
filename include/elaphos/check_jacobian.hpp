// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CHECK_JACOBIAN_HPP
#define ELAPHOS_CHECK_JACOBIAN_HPP

#include <elaphos/autodiff.hpp>
#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/lane_batch.hpp>
#include <elaphos/impl/step_site.hpp>
#include <elaphos/solve.hpp>

#include <cstdint>
#include <string>

namespace elaphos {

/// \brief What `check_jacobian` has found: the entry that is furthest off.
struct JacobianCheck {
  double difference = 0;  ///< |supplied - derivative| / (1 + |derivative|); infinite where one of them is not a number
  StepContext at{-1, -1};
  int row = -1, column = -1;
  double supplied = 0, derivative = 0;
};

namespace impl {

/// Compares the Jacobian of one step with dual numbers' and keeps the worst entry; the first of equals, so that what is
/// found does not depend on who joins whom.
template <Recurrence R>
struct CompareJacobians {
  using Scalar = typename R::scalar_type;
  using value_type = JacobianCheck;

  R recurrence;
  Differentiated<R> differentiated;
  const Scalar* parameters;
  Problem<Scalar> problem;
  std::int64_t stride;  // every so-many-th of all steps

  KOKKOS_FUNCTION void init(JacobianCheck& worst) const { worst = JacobianCheck{}; }
  KOKKOS_FUNCTION void join(JacobianCheck& worst, const JacobianCheck& other) const {
    if (other.at.t < 0) return;
    const auto before = [](const JacobianCheck& a, const JacobianCheck& b) {
      if (a.at.t != b.at.t) return a.at.t < b.at.t;
      if (a.at.b != b.at.b) return a.at.b < b.at.b;
      return a.row != b.row ? a.row < b.row : a.column < b.column;
    };
    if (worst.at.t < 0 || other.difference > worst.difference ||
        (other.difference == worst.difference && before(other, worst))) {
      worst = other;
    }
  }

  KOKKOS_FUNCTION void operator()(std::int64_t index, JacobianCheck& worst) const {
    constexpr int D = R::state_size;
    const std::int64_t entry = index * stride;
    const std::int64_t t = entry / problem.batch, b = entry % problem.batch;
    const StepSite<Scalar> site = step_site(problem, b, t);
    const StepContext at = site.at;
    const Scalar* y = state_before(problem, site, b, t);
    Scalar room[R::input_size > 0 ? R::input_size : 1];
    const Scalar* x = problem.inputs.gathered(entry, room);
    Scalar supplied[D * D], derivative[D * D];
    recurrence.jacobian(at, y, x, parameters, JacobianRef<Scalar>(supplied, D));
    differentiated.jacobian(at, y, x, parameters, JacobianRef<Scalar>(derivative, D));
    for (int e = 0; e < D * D; ++e) {
      const double is = static_cast<double>(supplied[e]), should = static_cast<double>(derivative[e]);
      double difference = Kokkos::abs(is - should) / (1 + Kokkos::abs(should));
      if (difference != difference) difference = Kokkos::Experimental::infinity_v<double>;
      join(worst, {difference, at, e / D, e % D, is, should});
    }
  }
};

}  // namespace impl

/// \brief Compares a recurrence's own `jacobian` with automatic differentiation of its `step`, along a trajectory.
///
/// A wrong Jacobian does not make answers wrong (the step alone decides them), it makes solves slow. It waits for the
/// execution space.
///
/// \param recurrence  a `Recurrence` with a Jacobian, or `bind_parameters(recurrence, p)`; see `Differentiated` for what
///                    its step has to be
/// \param y0, x       initial states (B, D) and inputs (T, B, I), as for `solve`
/// \param y           (T, B, D): states to differentiate at, such as a solve has left
/// \param samples     at most about so many steps are looked at, evenly spread
/// \throws InvalidArgument for shapes or `samples` that make no sense
template <class ExecutionSpace, class R, class InitialView, class InputView, class OutputView>
JacobianCheck check_jacobian(const ExecutionSpace& exec, const R& recurrence, const InitialView& y0, const InputView& x,
                             const OutputView& y, int samples = 1024) {
  const auto problem = impl::problem_of<ExecutionSpace>(recurrence, y0, x, y, SolveOptions{});
  if (samples < 1) throw InvalidArgument("samples", std::to_string(samples), "at least 1");
  const auto lanes = impl::as_batched(recurrence);
  using Step = std::remove_cvref_t<decltype(lanes.recurrence)>;
  static_assert(RecurrenceWithJacobian<Step>, "Elaphos: this recurrence has no jacobian to check");
  JacobianCheck worst;
  const std::int64_t entries = problem.steps * problem.batch;
  if (entries == 0) return worst;
  const std::int64_t stride = impl::divide_up(entries, samples);
  Kokkos::parallel_reduce(
      "Elaphos::compare_jacobians",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, impl::divide_up(entries, stride)),
      impl::CompareJacobians<Step>{lanes.recurrence, {lanes.recurrence}, lanes.parameters, problem, stride}, worst);
  return worst;
}

}  // namespace elaphos

#endif
