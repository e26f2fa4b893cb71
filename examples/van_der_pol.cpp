// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recurrence of one's own: the Van der Pol oscillator, y'' = mu (1 - y^2) y' - y + F cos(omega time), in small
// semi-implicit Euler steps, from several initial states at once.
//
// With the force (F > 0) the oscillator locks to it and forgets where it started, after a few thousand steps here: the
// segments of time meet the trajectories they have stored, and little is evaluated twice. Without it (F = 0) nothing
// pulls the phase back: a wrong node is never forgotten, and an exact solve needs about as many passes as there are
// segments. The answer is the sequential loop's in both cases; only in the first can parallel time pay.
//
// One step is a dozen operations, so four sequences of it are a small problem: look at the critical path, the steps that
// have to follow one another, rather than at the time on a machine with few cores.
#include <elaphos/elaphos.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <exception>
#include <iostream>

namespace {

using Exec = Kokkos::DefaultExecutionSpace;

struct VanDerPol {
  using scalar_type = double;
  static constexpr int state_size = 2;      // position, velocity
  static constexpr int input_size = 0;      // the force is computed from the time, not read
  static constexpr int parameter_size = 4;  // dt, mu, F, omega

  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto, auto p, auto next) const {
    const double dt = p[0], mu = p[1];
    const double force = p[2] * Kokkos::cos(p[3] * dt * static_cast<double>(at.t));
    const double velocity = y[1] + dt * (mu * (1 - y[0] * y[0]) * y[1] - y[0] + force);
    next[0] = y[0] + dt * velocity;
    next[1] = velocity;
  }

  // J(i, j) = d next[i] / d y[j].
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto, auto p, auto J) const {
    const double dt = p[0], mu = p[1];
    J(1, 0) = -dt * (2 * mu * y[0] * y[1] + 1);
    J(1, 1) = 1 + dt * mu * (1 - y[0] * y[0]);
    J(0, 0) = 1 + dt * J(1, 0);
    J(0, 1) = dt * J(1, 1);
  }
};

constexpr int steps = 200'000;
constexpr int sequences = 4;

elaphos::StateView<double> initial_states() {
  const elaphos::StateView<double> y0("y0", sequences, 2);
  const auto host = Kokkos::create_mirror_view(y0);
  for (int b = 0; b < sequences; ++b) {
    host(b, 0) = 0.5 + b;
    host(b, 1) = 1 - b;
  }
  Kokkos::deep_copy(y0, host);
  return y0;
}

elaphos::VectorView<double> make_parameters(double force) {
  const elaphos::VectorView<double> parameters("parameters", VanDerPol::parameter_size);
  const auto host = Kokkos::create_mirror_view(parameters);
  host(0) = 0.01;   // dt
  host(1) = 1;      // mu
  host(2) = force;  // F
  host(3) = 1;      // omega
  Kokkos::deep_copy(parameters, host);
  return parameters;
}

std::int64_t count_differences(const elaphos::SequenceView<double>& a, const elaphos::SequenceView<double>& b) {
  const auto host_a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  const auto host_b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), b);
  std::int64_t different = 0;
  for (std::size_t i = 0; i < host_a.size(); ++i) {
    if (host_a.data()[i] != host_b.data()[i]) ++different;
  }
  return different;
}

// Returns whether the two evaluations agree.
bool integrate(const char* title, double force) {
  const Exec exec;
  const auto oscillator = elaphos::bind_parameters(VanDerPol{}, make_parameters(force));
  const auto y0 = initial_states();
  const elaphos::SequenceView<double> no_input;
  const elaphos::SequenceView<double> y("y", steps, sequences, 2), y_loop("y_loop", steps, sequences, 2);

  elaphos::SolveOptions options;
  options.segments = 16;  // left alone, the planner keeps to one segment where the sequences occupy all threads
  options.method = elaphos::Method::newton;
  Kokkos::Timer timer;
  const elaphos::SolveReport report = elaphos::solve(exec, oscillator, y0, no_input, y, options);
  const double seconds = timer.seconds();
  timer.reset();
  elaphos::solve_sequentially(exec, oscillator, y0, no_input, y_loop);
  const double seconds_loop = timer.seconds();
  const std::int64_t different = count_differences(y, y_loop);

  std::cout << title << ", " << steps << " steps of " << sequences << " sequences\n"
            << report << "different       " << different << " of " << y.size() << " numbers\n"
            << "seconds         " << seconds << ", sequential loop " << seconds_loop << "\n\n";
  return report.converged() && different == 0;
}

}  // namespace

int main(int argc, char* argv[]) {
  const Kokkos::ScopeGuard kokkos(argc, argv);
  try {
    const bool forced = integrate("Van der Pol oscillator, forced", 5);
    const bool free = integrate("Van der Pol oscillator, free", 0);
    return forced && free ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
