// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_DATA_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_DATA_HPP

#include "timing.hpp"

#include <elaphos/elaphos.hpp>

#include <cmath>
#include <cstdint>
#include <string>

namespace perf {

/// Uniform numbers of mean 0, each a function of the seed and its place (splitmix64): the same on every machine, and made
/// where they are wanted, since drawing them on the host takes longer than most solves.
template <class View>
struct FillUniform {
  View view;
  std::uint64_t seed;
  double bound;

  KOKKOS_FUNCTION void operator()(std::int64_t i) const {
    std::uint64_t bits = seed + static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15u;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    bits ^= bits >> 31;
    const double unit = static_cast<double>(bits >> 11) / 9007199254740992.0;  // 2^53
    view.data()[i] = static_cast<typename View::value_type>(bound * (2 * unit - 1));
  }
};

/// A View of random numbers within +-bound; zeros would be faster than anyone's data.
template <class View, class... Extents>
View random_view(const std::string& label, std::uint64_t seed, double bound, Extents... extents) {
  const View view(Kokkos::view_alloc(Kokkos::WithoutInitializing, label), static_cast<std::size_t>(extents)...);
  Kokkos::parallel_for("perf::fill", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(
                                         0, static_cast<std::int64_t>(view.size())),
                       FillUniform<View>{view, seed << 40, bound});
  return view;
}

/// Weights as PyTorch initialises them: uniform within 1/sqrt(D).
template <class Scalar>
elaphos::LayerWeights<Scalar, Memory> default_weights(int gates, int D, int I) {
  using Matrix = elaphos::MatrixView<Scalar, Memory>;
  using Vector = elaphos::VectorView<Scalar, Memory>;
  const double bound = 1 / std::sqrt(double(D));
  return {random_view<Matrix>("perf::w_ih", 1, bound, gates * D, I),
          random_view<Matrix>("perf::w_hh", 2, bound, gates * D, D),
          random_view<Vector>("perf::b_ih", 3, bound, gates * D),
          random_view<Vector>("perf::b_hh", 4, bound, gates * D)};
}

/// Inputs (T, B, I) of variance 1.
template <class Scalar>
elaphos::SequenceView<Scalar, Memory> random_inputs(std::int64_t T, std::int64_t B, int I) {
  return random_view<elaphos::SequenceView<Scalar, Memory>>("perf::x", 5, std::sqrt(3.0), T, B, I);
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
