// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences as users write them: small states, a step that the library inlines.
#include "support/solve_row.hpp"

#include <string>

namespace perf {

namespace {

/// A driven Van der Pol oscillator, semi-implicit Euler; forgets its start.
template <class Scalar>
struct DrivenVanDerPol {
  using scalar_type = Scalar;
  static constexpr int state_size = 2, input_size = 1;
  static constexpr Scalar dt = Scalar(0.01), damping = 5;
  static constexpr int multiply_adds = 7;

  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    next[1] = y[1] + dt * (damping * (1 - y[0] * y[0]) * y[1] - y[0] + x[0]);
    next[0] = y[0] + dt * next[1];
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto, auto, auto J) const {
    J(1, 0) = dt * (-2 * damping * y[0] * y[1] - 1);
    J(1, 1) = 1 + dt * damping * (1 - y[0] * y[0]);
    J(0, 0) = 1 + dt * J(1, 0);
    J(0, 1) = dt * J(1, 1);
  }
};

/// An exponential average over about 100 steps.
template <class Scalar>
struct Average {
  using scalar_type = Scalar;
  static constexpr int state_size = 1, input_size = 1;
  static constexpr int multiply_adds = 2;

  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    next[0] = y[0] + Scalar(0.01) * (x[0] - y[0]);
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const { J(0, 0) = Scalar(0.99); }
};

template <class R>
void add_recurrence(Session& session, const std::string& name, std::int64_t B, std::int64_t T,
                    const elaphos::SolveOptions& options) {
  using Scalar = typename R::scalar_type;
  const auto make = [B, T](const Session& of) -> SolveProblem<R> {
    const std::int64_t steps = of.steps(T);
    const elaphos::StateView<Scalar, Memory> y0("perf::y0", static_cast<std::size_t>(B), std::size_t(R::state_size));
    return {R{}, y0, random_inputs<Scalar>(steps, B, R::input_size), steps, B, R::state_size,
            plain_sweep<Scalar>(R::multiply_adds, R::state_size, R::input_size, steps, B)};
  };
  add_solve_row(session, name + "/B:" + std::to_string(B) + "/T:" + std::to_string(T), options, make);
}

}  // namespace

void register_rows(Session& session) {
  const elaphos::SolveOptions exact;
  elaphos::SolveOptions tolerance;
  tolerance.merge = elaphos::Merge::tolerance;
  add_recurrence<DrivenVanDerPol<double>>(session, "van_der_pol/double/exact", 1, 1'000'000, exact);
  add_recurrence<DrivenVanDerPol<double>>(session, "van_der_pol/double/tolerance", 1, 1'000'000, tolerance);
  add_recurrence<DrivenVanDerPol<double>>(session, "van_der_pol/double/exact", 1000, 1000, exact);
  add_recurrence<Average<float>>(session, "average/float/exact", 1, 1'000'000, exact);
  add_recurrence<Average<float>>(session, "average/float/tolerance", 1, 1'000'000, tolerance);
  add_recurrence<Average<float>>(session, "average/float/exact", 16, 1'000'000, exact);
}

}  // namespace perf
