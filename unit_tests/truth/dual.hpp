// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_TRUTH_DUAL_HPP
#define ELAPHOS_UNIT_TESTS_TRUTH_DUAL_HPP

#include <elaphos/recurrence.hpp>

#include <Kokkos_Core.hpp>

// Forward-mode dual numbers, enough of them for the systems of the truth suite: a system writes its step once, and its
// Jacobian follows.
namespace truth {

template <int width>
struct Dual {
  double value = 0;
  double slope[width] = {};

  KOKKOS_FUNCTION Dual() {}
  KOKKOS_FUNCTION Dual(double of) : value(of) {}  // a constant

  /// f(value), whose derivative there is `factor`.
  KOKKOS_FUNCTION Dual chained(double f, double factor) const {
    Dual out(f);
    for (int i = 0; i < width; ++i) out.slope[i] = factor * slope[i];
    return out;
  }
  KOKKOS_FUNCTION friend Dual operator+(const Dual& a, const Dual& b) {
    Dual out(a.value + b.value);
    for (int i = 0; i < width; ++i) out.slope[i] = a.slope[i] + b.slope[i];
    return out;
  }
  KOKKOS_FUNCTION friend Dual operator-(const Dual& a, const Dual& b) {
    Dual out(a.value - b.value);
    for (int i = 0; i < width; ++i) out.slope[i] = a.slope[i] - b.slope[i];
    return out;
  }
  KOKKOS_FUNCTION friend Dual operator-(const Dual& a) { return a.chained(-a.value, -1); }
  KOKKOS_FUNCTION friend Dual operator*(const Dual& a, const Dual& b) {
    Dual out(a.value * b.value);
    for (int i = 0; i < width; ++i) out.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return out;
  }
  KOKKOS_FUNCTION friend Dual operator/(const Dual& a, const Dual& b) { return a * b.chained(1 / b.value, -1 / (b.value * b.value)); }
  KOKKOS_FUNCTION friend Dual tanh(const Dual& a) {
    const double f = Kokkos::tanh(a.value);
    return a.chained(f, 1 - f * f);
  }
  KOKKOS_FUNCTION friend Dual exp(const Dual& a) {
    const double f = Kokkos::exp(a.value);
    return a.chained(f, f);
  }
  KOKKOS_FUNCTION friend Dual sin(const Dual& a) { return a.chained(Kokkos::sin(a.value), Kokkos::cos(a.value)); }
  KOKKOS_FUNCTION friend Dual cos(const Dual& a) { return a.chained(Kokkos::cos(a.value), -Kokkos::sin(a.value)); }
};

using Kokkos::cos;
using Kokkos::exp;
using Kokkos::sin;
using Kokkos::tanh;

/// 1 / (1 + exp(-a)), by what cannot overflow.
template <class Number>
KOKKOS_FUNCTION Number sigmoid(const Number& a) {
  return 0.5 + 0.5 * tanh(0.5 * a);
}

/// log(1 + exp(a)); an iterate may be far out, where exp overflows.
KOKKOS_FUNCTION inline double softplus(double a) {
  return (a > 0 ? a : 0.0) + Kokkos::log1p(Kokkos::exp(a > 0 ? -a : a));
}
template <int width>
KOKKOS_FUNCTION Dual<width> softplus(const Dual<width>& a) {
  return a.chained(softplus(a.value), sigmoid(a.value));
}

/// A system with the Jacobian of its step.
template <class System>
struct Differentiated : System {
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext at, auto y, auto x, auto p, auto J) const {
    constexpr int D = System::state_size;
    Dual<D> in[D], out[D];
    for (int i = 0; i < D; ++i) {
      in[i].value = y[i];
      in[i].slope[i] = 1;
    }
    System::step(at, static_cast<const Dual<D>*>(in), x, p, static_cast<Dual<D>*>(out));
    for (int i = 0; i < D; ++i) {
      for (int j = 0; j < D; ++j) J(i, j) = out[i].slope[j];
    }
  }
};

}  // namespace truth

#endif
