// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_RINGS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_RINGS_HPP

#include "transfer.hpp"

#include <cstdint>
#include <random>
#include <vector>

// One nonlinear system, a ring of D states that forgets in some sixty steps, as each kind of recurrence. It has no sum
// of rounded products, so that host and device give the same bits, whatever is fused.
namespace test {

template <class Exec>
using Indices = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;

template <class Scalar>
KOKKOS_FUNCTION Scalar ring_sum(elaphos::StepContext at, const Scalar* y, const Scalar* x, int D, int I, int i) {
  const Scalar drive = static_cast<Scalar>((at.t * 7 + at.b * 3) % 11) / 8;
  return (y[i] + y[(i + 1) % D]) / 4 + x[i % I] + drive;
}

template <class Scalar>
KOKKOS_FUNCTION Scalar saturated(Scalar sum) {
  return sum / (1 + Kokkos::abs(sum));
}

/// A step of two kernels.
template <class Scalar>
struct BatchedRing {
  using scalar_type = Scalar;
  int D, I;
  int state_size() const { return D; }
  int input_size() const { return I; }

  template <class Exec>
  void step(const Exec& exec, const elaphos::StepBatch<Exec, Scalar>& batch) const {
    const int states = D, inputs = I;
    const Indices<Exec> policy(exec, 0, batch.count * states);
    Kokkos::parallel_for(
        "test::ring_sum", policy, KOKKOS_LAMBDA(std::int64_t index) {
          const std::int64_t r = index / states;
          const int i = static_cast<int>(index % states);
          batch.next(r, i) = ring_sum(batch.at(r), &batch.y(r, 0), batch.x.data() + r * inputs, states, inputs, i);
        });
    Kokkos::parallel_for(
        "test::saturate", policy, KOKKOS_LAMBDA(std::int64_t index) {
          Scalar& next = batch.next(index / states, index % states);
          next = saturated(next);
        });
  }
};

/// In a thread.
template <class Scalar, int D, int I>
struct LaneRing {
  using scalar_type = Scalar;
  static constexpr int state_size = D, input_size = I;
  KOKKOS_FUNCTION void step(elaphos::StepContext at, auto y, auto x, auto, auto next) const {
    for (int i = 0; i < D; ++i) next[i] = saturated(ring_sum<Scalar>(at, y, x, D, I, i));
  }
};

/// By a team.
template <class Scalar>
struct TeamRing {
  using scalar_type = Scalar;
  int D, I;
  int state_size() const { return D; }
  int input_size() const { return I; }
  KOKKOS_FUNCTION void team_step(const auto& member, elaphos::StepContext at, auto y, auto x, auto next) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) { next[i] = ring_sum(at, y, x, D, I, i); });
    member.team_barrier();
    // Not the entries that the thread has summed.
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      const int j = D - 1 - i;
      next[j] = saturated(next[j]);
    });
  }
};

/// Data of a problem, and the answer of a plain host loop.
template <class Scalar>
struct RingProblem {
  std::int64_t T, B;
  int D, I;
  std::vector<Scalar> y0_here, x_here;
  elaphos::StateView<Scalar, Memory> y0;
  elaphos::SequenceView<Scalar, Memory> x, y;

  RingProblem(std::int64_t steps, std::int64_t batch, int states, int inputs, std::uint64_t seed = 5)
      : T(steps), B(batch), D(states), I(inputs) {
    std::mt19937_64 generator(seed);
    std::uniform_real_distribution<Scalar> uniform(-1, 1);
    y0_here.resize(static_cast<std::size_t>(B * D));
    x_here.resize(static_cast<std::size_t>(T * B * I));
    for (Scalar& number : y0_here) number = uniform(generator);
    for (Scalar& number : x_here) number = uniform(generator);
    y0 = to_device<elaphos::StateView<Scalar, Memory>>(y0_here, B, D);
    x = to_device<elaphos::SequenceView<Scalar, Memory>>(x_here, T, B, I);
    y = elaphos::SequenceView<Scalar, Memory>("test::y", T, B, D);
    Kokkos::deep_copy(y, Scalar(-77));
  }

  BatchedRing<Scalar> batched() const { return {D, I}; }
  TeamRing<Scalar> team() const { return {D, I}; }

  // What follows at (t, b) from the state `from`, D numbers.
  std::vector<Scalar> step(std::int64_t t, std::int64_t b, const Scalar* from) const {
    std::vector<Scalar> next;
    const Scalar* inputs = x_here.data() + (t * B + b) * I;
    for (int i = 0; i < D; ++i) next.push_back(saturated(ring_sum({t, b}, from, inputs, D, I, i)));
    return next;
  }

  std::vector<Scalar> expected() const {
    std::vector<Scalar> all;
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t b = 0; b < B; ++b) {
        const std::vector<Scalar> next =
            step(t, b, t == 0 ? &y0_here[std::size_t(b * D)] : &all[std::size_t(((t - 1) * B + b) * D)]);
        all.insert(all.end(), next.begin(), next.end());
      }
    }
    return all;
  }

  // max |y_t - f(y_{t-1}, x_t)| of any trajectory.
  double residual(const std::vector<Scalar>& trajectory) const {
    double largest = 0;
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t b = 0; b < B; ++b) {
        const Scalar* stored = &trajectory[std::size_t((t * B + b) * D)];
        const std::vector<Scalar> next = step(t, b, t == 0 ? &y0_here[std::size_t(b * D)] : stored - B * D);
        for (int i = 0; i < D; ++i) largest = std::max(largest, double(std::abs(next[std::size_t(i)] - stored[i])));
      }
    }
    return largest;
  }

  elaphos::SolveReport solve(const auto& recurrence, const elaphos::SolveOptions& options = {}) const {
    return elaphos::solve(Exec(), recurrence, y0, x, y, options);
  }
};

}  // namespace test

#endif
