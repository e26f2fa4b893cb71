// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_TRANSFER_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_TRANSFER_HPP

#include <elaphos/elaphos.hpp>
#include <elaphos/linear_options.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

namespace test {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

/// Numbers to a device View of the given shape; the sizes must fit.
template <class View, class From, class... Extents>
View to_device(const std::vector<From>& numbers, Extents... extents) {
  using Scalar = typename View::non_const_value_type;
  using Mutable = Kokkos::View<typename View::non_const_data_type, Kokkos::LayoutRight, Memory>;
  Mutable out("test::data", static_cast<std::size_t>(extents)...);
  auto host = Kokkos::create_mirror_view(out);
  for (std::size_t i = 0; i < host.size(); ++i) host.data()[i] = static_cast<Scalar>(numbers.at(i));
  Kokkos::deep_copy(out, host);
  return out;
}

template <class View>
std::vector<typename View::non_const_value_type> to_host(const View& view) {
  auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), view);
  return {host.data(), host.data() + host.size()};
}

/// A tile that fits in a team's scratch memory, at most `wanted` steps; 0 if none does.
inline int fitting_tile(std::size_t scalar_bytes, int wanted, int blocks, int block_size) {
  const std::size_t limit = static_cast<std::size_t>(Kokkos::TeamPolicy<Exec>(1, 1).scratch_size_max(0));
  while (wanted > 0 && elaphos::team_per_tile_scratch_bytes(scalar_bytes, wanted, blocks, block_size) + 16 > limit) {
    wanted /= 2;
  }
  return wanted;
}

/// Number of entries whose bits differ.
template <class Scalar>
std::size_t different_bits(const std::vector<Scalar>& a, const std::vector<Scalar>& b) {
  std::size_t count = a.size() == b.size() ? 0 : a.size() + b.size();
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(Scalar)) != 0) ++count;
  }
  return count;
}

/// Largest |a - b|; infinite where one is not a number.
template <class A, class B>
double largest_difference(const std::vector<A>& a, const std::vector<B>& b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= largest)) largest = std::isnan(difference) ? INFINITY : difference;
  }
  return largest;
}

}  // namespace test

#endif
