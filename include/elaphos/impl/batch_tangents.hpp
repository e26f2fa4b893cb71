// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_BATCH_TANGENTS_HPP
#define ELAPHOS_IMPL_BATCH_TANGENTS_HPP

#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/team_states.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// What the rows of a batch carry of the derivative of their states with respect to their segments' nodes: the products
/// of the Jacobians' diagonals, an entry a thread. All threads of the row's team call these together.
template <class Scalar>
struct BatchTangents {
  Scalar* diagonals;  ///< (count, D): of the step just made, as the rows stand now; null: none are carried
  Scalar* products;   ///< (rows, D), of those that the pass began with
  WorstStretch<Scalar>* stretches;  ///< (rows, D)

  KOKKOS_FUNCTION bool carried() const { return diagonals != nullptr; }

  template <class Member>
  KOKKOS_FUNCTION void advance(const Member& team, std::int64_t row, std::int64_t number, std::int64_t D) const {
    for_each_entry(team, D, [&](std::int64_t i) {
      const Scalar factor = diagonals[row * D + i];
      products[number * D + i] *= factor;
      stretches[number * D + i].add(Kokkos::abs(factor));
    });
  }

  template <class Member>
  KOKKOS_FUNCTION void clear(const Member& team, std::int64_t number, std::int64_t D) const {
    for_each_entry(team, D, [&](std::int64_t i) { products[number * D + i] = Scalar(0); });
  }

  /// Writes the product, or zeros where it is not finite (the segment then counts as one that forgets), and returns the
  /// growth of the worst stretch of any entry.
  template <class Member>
  KOKKOS_FUNCTION Scalar store(const Member& team, std::int64_t number, std::int64_t D, Scalar* to) const {
    const Scalar* product = products + number * D;
    std::int64_t not_finite = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(team, D),
        [&](std::int64_t i, std::int64_t& sum) { sum += Kokkos::isfinite(product[i]) ? 0 : 1; }, not_finite);
    const Scalar worst =
        team_largest<Scalar>(team, D, [&](std::int64_t i) { return stretches[number * D + i].worst(); });
    for_each_entry(team, D, [&](std::int64_t i) { to[i] = not_finite == 0 ? product[i] : Scalar(0); });
    return worst;
  }

 private:
  template <class Member, class Body>
  KOKKOS_FUNCTION static void for_each_entry(const Member& team, std::int64_t D, const Body& body) {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, D), body);
  }
};

}  // namespace elaphos::impl

#endif
