// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_SYSTEMS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_SYSTEMS_HPP

#include "transfer.hpp"

#include <cstdint>
#include <vector>

// Small recurrences as a user would write them.
namespace test {

/// Logistic map y' = r y (1 - y); chaotic at r = 4.
struct LogisticMap {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 0, parameter_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto p, auto next) const {
    next[0] = p[0] * y[0] * (1 - y[0]);
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto, auto p, auto J) const {
    J(0, 0) = p[0] * (1 - 2 * y[0]);
  }
};

/// y' = 2 y - 1: stays at 1 from 1, and every error doubles.
template <class Scalar>
struct Doubling {
  using scalar_type = Scalar;
  static constexpr int state_size = 1, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const { next[0] = 2 * y[0] - 1; }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const { J(0, 0) = 2; }
};

/// Leaky integrator y' = y + (x - y) / tau: forgets over tau steps.
struct LeakyIntegrator {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 1;
  double rate;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    next[0] = y[0] + rate * (x[0] - y[0]);
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const { J(0, 0) = 1 - rate; }
};

/// y' = y^2 + x / 2: blows up in finite time when x is large.
struct Riccati {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    next[0] = y[0] * y[0] + x[0] / 2;
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto, auto, auto J) const { J(0, 0) = 2 * y[0]; }
};

/// A map whose factor depends on t: shrinks for `period` steps, then grows for as many.
struct Breathing {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 0;
  std::int64_t period;
  double shrinking, growing;
  KOKKOS_FUNCTION double factor(std::int64_t t) const { return t / period % 2 == 0 ? shrinking : growing; }
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto, auto, auto next) const {
    next[0] = factor(at.t) * y[0] + 0.1;
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext at, auto, auto, auto, auto J) const { J(0, 0) = factor(at.t); }
};

/// Three coupled integer counters, y' = A_t y + x, where A_t is one of two quarter turns about different axes: all states
/// are integers that a double holds exactly, and the products do not commute.
struct AlternatingIntegerMap {
  using scalar_type = double;
  static constexpr int state_size = 3, input_size = 3;
  KOKKOS_FUNCTION static double entry(std::int64_t t, int i, int j) {
    constexpr double about_z[3][3] = {{0, -1, 0}, {1, 0, 0}, {0, 0, 1}};
    constexpr double about_x[3][3] = {{1, 0, 0}, {0, 0, -1}, {0, 1, 0}};
    return (t * t + t / 3) % 3 == 0 ? about_z[i][j] : about_x[i][j];
  }
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto x, auto, auto next) const {
    for (int i = 0; i < 3; ++i) {
      next[i] = x[i];
      for (int j = 0; j < 3; ++j) next[i] += entry(at.t, i, j) * y[j];
    }
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext at, auto, auto, auto, auto J) const {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) J(i, j) = entry(at.t, i, j);
    }
  }
};

/// Independent integer channels: y_i' = -y_i + x_i.
struct AlternatingSigns {
  using scalar_type = double;
  static constexpr int state_size = 3, input_size = 3;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    for (int i = 0; i < 3; ++i) next[i] = x[i] - y[i];
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) J(i, j) = i == j ? -1 : 0;
    }
  }
};

/// Van der Pol oscillator, semi-implicit Euler; no Jacobian.
struct VanDerPol {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 0, parameter_size = 2;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto p, auto next) const {
    next[1] = y[1] + p[0] * (p[1] * (1 - y[0] * y[0]) * y[1] - y[0]);
    next[0] = y[0] + p[0] * next[1];
  }
};

/// The same oscillator, driven: forgets its start, and its two states are strongly coupled.
struct DrivenVanDerPol {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 0;
  double dt, damping, force, frequency;
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto, auto, auto next) const {
    const double drive = force * Kokkos::cos(frequency * dt * static_cast<double>(at.t));
    next[1] = y[1] + dt * (damping * (1 - y[0] * y[0]) * y[1] - y[0] + drive);
    next[0] = y[0] + dt * next[1];
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto, auto, auto J) const {
    J(1, 0) = dt * (-2 * damping * y[0] * y[1] - 1);
    J(1, 1) = 1 + dt * damping * (1 - y[0] * y[0]);
    J(0, 0) = 1 + dt * J(1, 0);
    J(0, 1) = dt * J(1, 1);
  }
};

/// Rows of a trajectory (T, numbers) that `keep_every` keeps.
template <class Scalar>
std::vector<Scalar> kept_of(const std::vector<Scalar>& all, std::size_t T, std::size_t numbers, std::size_t every) {
  std::vector<Scalar> out;
  for (std::size_t row = 0; row < (T + every - 1) / every; ++row) {
    const std::size_t t = std::min((row + 1) * every, T) - 1;
    out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(t * numbers),
               all.begin() + static_cast<std::ptrdiff_t>((t + 1) * numbers));
  }
  return out;
}

/// Sequences `first`, ..., `last` - 1 of time-major data (T, B, size).
template <class Scalar>
std::vector<Scalar> some_sequences(const std::vector<Scalar>& all, std::int64_t T, std::int64_t B, std::int64_t size,
                                   std::int64_t first, std::int64_t last) {
  std::vector<Scalar> some;
  for (std::int64_t t = 0; t < T; ++t) {
    const auto row = all.begin() + t * B * size;
    some.insert(some.end(), row + first * size, row + last * size);
  }
  return some;
}

/// What a plain host loop gives for a recurrence whose functions the host can call too.
template <class R>
std::vector<typename R::scalar_type> host_loop(const R& recurrence, std::int64_t T, std::int64_t B,
                                               const std::vector<typename R::scalar_type>& y0,
                                               const std::vector<typename R::scalar_type>& x,
                                               const std::vector<typename R::scalar_type>& p) {
  using Scalar = typename R::scalar_type;
  constexpr std::size_t D = R::state_size, I = R::input_size;
  const std::size_t batch = static_cast<std::size_t>(B);
  std::vector<Scalar> y(static_cast<std::size_t>(T) * batch * D), state(y0);
  for (std::size_t t = 0; t < static_cast<std::size_t>(T); ++t) {
    for (std::size_t b = 0; b < batch; ++b) {
      const std::size_t entry = t * batch + b;
      recurrence.step(elaphos::StepContext{static_cast<std::int64_t>(t), static_cast<std::int64_t>(b)},
                      static_cast<const Scalar*>(&state[b * D]), x.data() + entry * I, p.data(), &y[entry * D]);
      for (std::size_t i = 0; i < D; ++i) state[b * D + i] = y[entry * D + i];
    }
  }
  return y;
}

/// A recurrence with its data on the host.
template <class R>
struct System {
  using Scalar = typename R::scalar_type;
  R recurrence;
  std::int64_t T;
  std::int64_t B;
  std::vector<Scalar> y0;
  std::vector<Scalar> x;
  std::vector<Scalar> p;
  std::vector<Scalar> y = {};

  elaphos::SolveReport solve(const elaphos::SolveOptions& options) {
    elaphos::Workspace<Exec> workspace;
    return solve(options, workspace);
  }

  /// `y` becomes the states that `options.keep_every` keeps; those that nobody wrote are NaN.
  elaphos::SolveReport solve(const elaphos::SolveOptions& options, elaphos::Workspace<Exec>& workspace) {
    const std::int64_t rows = (T + options.keep_every - 1) / options.keep_every;
    const auto y0_device = to_device<elaphos::StateView<Scalar, Memory>>(y0, B, R::state_size);
    const auto x_device = to_device<elaphos::SequenceView<Scalar, Memory>>(x, T, B, R::input_size);
    const auto y_device = to_device<elaphos::SequenceView<Scalar, Memory>>(
        std::vector<Scalar>(static_cast<std::size_t>(rows * B * R::state_size), Scalar(NAN)), rows, B, R::state_size);
    elaphos::SolveReport report;
    if constexpr (elaphos::parameter_size_of<R>() > 0) {
      const auto p_device = to_device<elaphos::VectorView<Scalar, Memory>>(p, p.size());
      report = elaphos::solve(Exec(), elaphos::bind_parameters(recurrence, p_device), y0_device, x_device, y_device,
                              options, workspace);
    } else {
      report = elaphos::solve(Exec(), recurrence, y0_device, x_device, y_device, options, workspace);
    }
    y = to_host(y_device);
    return report;
  }

  std::vector<Scalar> sequential() {
    elaphos::SolveOptions options;
    options.segments = 1;
    solve(options);
    return y;
  }
};

}  // namespace test

#endif
