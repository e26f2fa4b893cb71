// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The shortest program with a recurrence of one's own: a damped pendulum pushed by a force, without a Jacobian to
// write.
#include <elaphos/autodiff.hpp>
#include <elaphos/solve.hpp>

#include <iostream>

struct Pendulum {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 1;  // angle and speed; the force
  double dt, damping;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    next[1] = y[1] + dt * (x[0] - Kokkos::sin(y[0]) - damping * y[1]);
    next[0] = y[0] + dt * next[1];
  }
};

int main(int argc, char* argv[]) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  const elaphos::StateView<double> y0("y0", 1, 2);
  const elaphos::SequenceView<double> force("force", 100'000, 1, 1), y("y", 100'000, 1, 2);
  Kokkos::deep_copy(force, 0.5);
  const auto report =
      elaphos::solve(Kokkos::DefaultExecutionSpace(), elaphos::Differentiated<Pendulum>{{0.1, 2.5}}, y0, force, y);
  std::cout << report;
  return report.converged() ? 0 : 1;
}
