// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_DATA_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_DATA_HPP

#include "timing.hpp"

#include <elaphos/elaphos.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>

namespace perf {

/// A View of random numbers; zeros would be faster than anyone's data.
template <class View, class Distribution, class... Extents>
View random_view(const std::string& label, std::mt19937_64& generator, Distribution distribution, Extents... extents) {
  View view(label, static_cast<std::size_t>(extents)...);
  const auto host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < host.size(); ++i) {
    host.data()[i] = static_cast<typename View::value_type>(distribution(generator));
  }
  Kokkos::deep_copy(view, host);
  return view;
}

/// Weights as PyTorch initialises them: uniform within 1/sqrt(D).
template <class Scalar>
elaphos::LayerWeights<Scalar, Memory> default_weights(int gates, int D, int I, std::mt19937_64& generator) {
  const std::uniform_real_distribution<double> uniform(-1 / std::sqrt(double(D)), 1 / std::sqrt(double(D)));
  using Matrix = elaphos::MatrixView<Scalar, Memory>;
  using Vector = elaphos::VectorView<Scalar, Memory>;
  const auto w_ih = random_view<Matrix>("perf::w_ih", generator, uniform, gates * D, I);
  const auto w_hh = random_view<Matrix>("perf::w_hh", generator, uniform, gates * D, D);
  const auto b_ih = random_view<Vector>("perf::b_ih", generator, uniform, gates * D);
  const auto b_hh = random_view<Vector>("perf::b_hh", generator, uniform, gates * D);
  return {w_ih, w_hh, b_ih, b_hh};
}

/// Standard normal inputs (T, B, I).
template <class Scalar>
elaphos::SequenceView<Scalar, Memory> normal_inputs(std::int64_t T, std::int64_t B, int I, std::mt19937_64& generator) {
  return random_view<elaphos::SequenceView<Scalar, Memory>>("perf::x", generator, std::normal_distribution<double>(), T,
                                                            B, I);
}

/// Largest |a - b|; NaN counts as infinite.
template <class View>
double largest_difference(const View& a, const View& b) {
  const auto host_a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  const auto host_b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), b);
  double largest = 0;
  for (std::size_t i = 0; i < host_a.size(); ++i) {
    const double difference = std::abs(double(host_a.data()[i]) - double(host_b.data()[i]));
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

}  // namespace perf

#endif
