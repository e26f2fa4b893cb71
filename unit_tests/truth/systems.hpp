// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_TRUTH_SYSTEMS_HPP
#define ELAPHOS_UNIT_TESTS_TRUTH_SYSTEMS_HPP

#include "dual.hpp"

#include <cstdint>

// The recurrences of the truth suite. Steps are written for plain numbers and for duals: `Number` is the state's type.
namespace truth {

template <class Pointer>
using NumberAt = std::remove_cvref_t<decltype(*Pointer())>;

/// Forward Euler of a flow in three dimensions.
template <class Flow>
struct EulerFlow {
  using scalar_type = double;
  static constexpr int state_size = 3, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const {
    using Number = NumberAt<decltype(y)>;
    Number rate[3];
    Flow::rate(y, rate);
    for (int i = 0; i < 3; ++i) next[i] = y[i] + 0.01 * rate[i];
  }
};

/// Lorenz (1963), sigma 10, rho 28, beta 8/3.
struct LorenzFlow {
  template <class Number>
  KOKKOS_FUNCTION static void rate(const Number* y, Number* r) {
    r[0] = 10.0 * (y[1] - y[0]);
    r[1] = y[0] * (28.0 - y[2]) - y[1];
    r[2] = y[0] * y[1] - (8.0 / 3) * y[2];
  }
};

/// Roessler (1976), 0.2, 0.2, 5.7.
struct RoesslerFlow {
  template <class Number>
  KOKKOS_FUNCTION static void rate(const Number* y, Number* r) {
    r[0] = -y[1] - y[2];
    r[1] = y[0] + 0.2 * y[1];
    r[2] = 0.2 + y[2] * (y[0] - 5.7);
  }
};

/// Thomas' cyclically symmetric flow, b = 0.208186.
struct ThomasFlow {
  template <class Number>
  KOKKOS_FUNCTION static void rate(const Number* y, Number* r) {
    for (int i = 0; i < 3; ++i) r[i] = sin(y[(i + 1) % 3]) - 0.208186 * y[i];
  }
};

/// Lorenz' flow coupled to a trajectory of its own (the input): an observer, which contracts.
struct LorenzObserver {
  using scalar_type = double;
  static constexpr int state_size = 3, input_size = 3;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    using Number = NumberAt<decltype(y)>;
    Number rate[3];
    LorenzFlow::rate(y, rate);
    for (int i = 0; i < 3; ++i) next[i] = y[i] + 0.01 * (rate[i] + 40.0 * (x[i] - y[i]));
  }
};

/// One classical Runge-Kutta step of 0.01 along a flow of D states.
template <int D, class Flow, class Number>
KOKKOS_FUNCTION void runge_kutta_step(const Number* y, Number* next) {
  constexpr double h = 0.01;
  Number k[D], sum[D], at[D];
  for (int i = 0; i < D; ++i) {
    at[i] = y[i];
    sum[i] = 0.0;
  }
  for (int stage = 0; stage < 4; ++stage) {
    Flow::rate(static_cast<const Number*>(at), k);
    const double weight = stage == 0 || stage == 3 ? 1.0 : 2.0, reach = stage == 2 ? h : h / 2;
    for (int i = 0; i < D; ++i) {
      sum[i] = sum[i] + weight * k[i];
      at[i] = y[i] + reach * k[i];
    }
  }
  for (int i = 0; i < D; ++i) next[i] = y[i] + (h / 6) * sum[i];
}

/// Lorenz-96 with F = 8, one classical Runge-Kutta step of 0.01.
template <int D>
struct Lorenz96 {
  using scalar_type = double;
  static constexpr int state_size = D, input_size = 0;
  template <class Number>
  KOKKOS_FUNCTION static void rate(const Number* y, Number* r) {
    for (int i = 0; i < D; ++i) r[i] = (y[(i + 1) % D] - y[(i + D - 2) % D]) * y[(i + D - 1) % D] - y[i] + 8.0;
  }
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const {
    runge_kutta_step<D, Lorenz96>(y, next);
  }
};

/// Pendulum without friction, one classical Runge-Kutta step of 0.01: forgets nothing.
struct Pendulum {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const {
    using Number = NumberAt<decltype(y)>;
    constexpr double h = 0.01;
    Number angle = y[0], speed = y[1], angle_sum = 0.0, speed_sum = 0.0;
    for (int stage = 0; stage < 4; ++stage) {
      const double weight = stage == 0 || stage == 3 ? 1.0 : 2.0, reach = stage == 2 ? h : h / 2;
      const Number rate = speed, acceleration = -sin(angle);
      angle_sum = angle_sum + weight * rate;
      speed_sum = speed_sum + weight * acceleration;
      angle = y[0] + reach * rate;
      speed = y[1] + reach * acceleration;
    }
    next[0] = y[0] + (h / 6) * angle_sum;
    next[1] = y[1] + (h / 6) * speed_sum;
  }
};

/// A vehicle's coordinated turn: position, speed and heading; inputs are acceleration and turn rate.
struct CoordinatedTurn {
  using scalar_type = double;
  static constexpr int state_size = 4, input_size = 2;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    constexpr double dt = 0.1;
    next[0] = y[0] + dt * y[2] * cos(y[3]);
    next[1] = y[1] + dt * y[2] * sin(y[3]);
    next[2] = y[2] + dt * (x[0] - 0.05 * y[2]);
    next[3] = y[3] + dt * x[1];
  }
};

/// Langevin dynamics in two wells (a mixture of two Gaussians): y' = y + e grad log p(y) + sqrt(2 e) x. Crosses a barrier
/// that is unstable.
struct TwoWells {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 2;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    using Number = NumberAt<decltype(y)>;
    constexpr double e = 0.01, centre[2] = {-1.4, 1.6}, share[2] = {0.49, 0.51};
    constexpr double variance[2][2] = {{0.45, 0.45}, {0.54, 0.45}};
    Number density = 0.0, gradient[2] = {0.0, 0.0};
    for (int well = 0; well < 2; ++well) {
      const Number u = y[0] - centre[well], v = y[1];
      const Number p = share[well] / Kokkos::sqrt(variance[well][0] * variance[well][1]) *
                       exp(-0.5 * (u * u / variance[well][0] + v * v / variance[well][1]));
      density = density + p;
      gradient[0] = gradient[0] - p * u / variance[well][0];
      gradient[1] = gradient[1] - p * v / variance[well][1];
    }
    for (int i = 0; i < 2; ++i) next[i] = y[i] + e * gradient[i] / density + Kokkos::sqrt(2 * e) * x[i];
  }
};

/// y' = -1000 (y^3 - cos t), implicit Euler of 0.001 by six Newton steps: stiff.
struct StiffRelaxation {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto, auto, auto next) const {
    using Number = NumberAt<decltype(y)>;
    const double drive = 1.5 + Kokkos::cos(0.001 * static_cast<double>(at.t));
    Number v = y[0];
    for (int i = 0; i < 6; ++i) v = v - (v - y[0] + v * v * v - drive) / (1.0 + 3.0 * v * v);
    next[0] = v;
  }
};

/// Van der Pol's oscillator with damping 10, implicit Euler of 0.05 by six Newton steps: stiff, and its phase forgets
/// nothing.
struct StiffVanDerPol {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 0;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto, auto, auto next) const {
    using Number = NumberAt<decltype(y)>;
    constexpr double h = 0.05, damping = 10;
    Number v = y[1], u = y[0];
    for (int i = 0; i < 6; ++i) {
      u = y[0] + h * v;
      const Number off = v - y[1] - h * (damping * (1.0 - u * u) * v - u);
      v = v - off / (1.0 - h * (damping * (1.0 - u * u - 2.0 * h * u * v) - h));
    }
    next[0] = y[0] + h * v;
    next[1] = v;
  }
};

/// Long expressive memory (Rusch et al., ICLR 2022), 2 x 8 states, one input. p: four times (8 x 8, 8 x 1, 8).
struct LongMemory {
  using scalar_type = double;
  static constexpr int H = 8;
  static constexpr int state_size = 2 * H, input_size = 1, parameter_size = 4 * (H * H + 2 * H);
  double dt;

  template <class Number>
  KOKKOS_FUNCTION static Number affine(int gate, int row, const Number* of, double x, const double* p) {
    const double* weights = p + gate * (H * H + 2 * H);
    Number sum = weights[H * H + row] * x + weights[H * H + H + row];
    for (int k = 0; k < H; ++k) sum = sum + weights[row * H + k] * of[k];
    return sum;
  }
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto p, auto next) const {
    using Number = NumberAt<decltype(y)>;
    Number pace[H];
    for (int i = 0; i < H; ++i) {
      pace[i] = dt * sigmoid(affine<Number>(0, i, y, x[0], p));
      const Number slow = dt * sigmoid(affine<Number>(1, i, y, x[0], p));
      next[H + i] = (1.0 - slow) * y[H + i] + slow * tanh(affine<Number>(2, i, y, x[0], p));
    }
    Number memory[H];
    for (int i = 0; i < H; ++i) memory[i] = next[H + i];
    for (int i = 0; i < H; ++i) {
      next[i] = (1.0 - pace[i]) * y[i] + pace[i] * tanh(affine<Number>(3, i, static_cast<const Number*>(memory), x[0], p));
    }
  }
};

/// A GRU that feeds its noisy output back to itself: (output, 3 hidden), noise as input. p: W_ih (3, 3), W_hh (3, 3, 3),
/// b (3, 3), b_n (3), W_d (2, 3), b_d (2); gates reset, update, candidate.
struct AutoregressiveGru {
  using scalar_type = double;
  static constexpr int state_size = 4, input_size = 1, parameter_size = 9 + 27 + 9 + 3 + 6 + 2;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto p, auto next) const {
    using Number = NumberAt<decltype(y)>;
    const double *input = p, *hidden = p + 9, *offset = p + 36, *candidate_offset = p + 45, *out = p + 48;
    const auto recurrent = [&](int gate, int i) {
      Number sum = 0.0;
      for (int k = 0; k < 3; ++k) sum = sum + hidden[(gate * 3 + i) * 3 + k] * y[1 + k];
      return sum;
    };
    Number mean = out[6], spread = out[7];
    for (int i = 0; i < 3; ++i) {
      const auto driven = [&](int gate) { return input[gate * 3 + i] * y[0] + offset[gate * 3 + i]; };
      const Number reset = sigmoid(driven(0) + recurrent(0, i));
      const Number update = sigmoid(driven(1) + recurrent(1, i));
      const Number fresh = tanh(driven(2) + reset * (recurrent(2, i) + candidate_offset[i]));
      next[1 + i] = fresh + update * (y[1 + i] - fresh);
      const Number shown = next[1 + i] + y[0];
      mean = mean + out[i] * shown;
      spread = spread + out[3 + i] * shown;
    }
    next[0] = mean + softplus(spread) * x[0];
  }
};

/// Mean-field network s' = W tanh(s) + x. p: W (D, D).
template <int D>
struct MeanField {
  using scalar_type = double;
  static constexpr int state_size = D, input_size = D, parameter_size = D * D;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto p, auto next) const {
    double rate[D];
    for (int i = 0; i < D; ++i) rate[i] = Kokkos::tanh(y[i]);
    for (int i = 0; i < D; ++i) {
      double sum = x[i];
      for (int k = 0; k < D; ++k) sum += p[i * D + k] * rate[k];
      next[i] = sum;
    }
  }
};

template <int D>
struct MeanFieldWithJacobian : MeanField<D> {
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto, auto p, auto J) const {
    for (int k = 0; k < D; ++k) {
      const double rate = Kokkos::tanh(y[k]);
      for (int i = 0; i < D; ++i) J(i, k) = p[i * D + k] * (1 - rate * rate);
    }
  }
};

/// Integrate and fire: leaks, and jumps back to 0 at the threshold 1. Its Jacobian leaves the jump out.
struct IntegrateAndFire {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    const double charged = 0.98 * y[0] + 0.05 * x[0];
    next[0] = charged >= 1 ? 0.0 : charged;
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto x, auto, auto J) const {
    J(0, 0) = 0.98 * y[0] + 0.05 * x[0] >= 1 ? 0.0 : 0.98;
  }
};

}  // namespace truth

#endif
