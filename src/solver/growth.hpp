// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_GROWTH_HPP
#define ELAPHOS_SRC_SOLVER_GROWTH_HPP

#include "../execution_spaces.hpp"
#include "node_arguments.hpp"

#include <elaphos/impl/scalar.hpp>

#include <cstdint>

namespace elaphos::impl {

/// How fast a perturbation of the first state grows along each sequence: one tangent vector through the dense
/// sensitivities of all segments, its length taken out at every node (Benettin et al., Meccanica 1980). A team a
/// sequence; D^2 words and multiply-adds a node.
template <class ExecutionSpace, class Scalar>
struct TangentGrowth {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  NodeArguments<Scalar> nodes;
  Scalar* tangents;  // (B, 2, D)
  double* rates;     // (B): natural logarithm per step; infinite where a product has left the numbers' range

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t b = member.league_rank(), segments = nodes.segments.segments;
    const int D = nodes.state_size();
    Scalar* before = tangents + b * 2 * D;
    Scalar* after = before + D;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      // No state's direction alone: it could be one that the first segment forgets.
      before[i] = Kokkos::sqrt(Scalar(1) / static_cast<Scalar>(D)) * (i % 2 == 0 ? Scalar(1) : Scalar(-1));
    });
    member.team_barrier();
    double sum = 0;
    for (std::int64_t n = 0; n < segments; ++n) {
      const Scalar* m = nodes.segments.sensitivities + (n * nodes.batch() + b) * D * D;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
        Scalar entry = 0;
        for (int k = 0; k < D; ++k) entry += m[i * D + k] * before[k];
        after[i] = entry;
      });
      member.team_barrier();
      double square = 0;
      Kokkos::parallel_reduce(
          Kokkos::TeamThreadRange(member, D),
          [&](int i, double& part) { part += static_cast<double>(after[i]) * static_cast<double>(after[i]); }, square);
      const double length = Kokkos::sqrt(square);
      sum += Kokkos::log(length);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D),
                           [&](int i) { before[i] = static_cast<Scalar>(static_cast<double>(after[i]) / length); });
      member.team_barrier();
    }
    Kokkos::single(Kokkos::PerTeam(member), [&] {
      const double rate = sum / static_cast<double>(nodes.segments.problem.steps);
      rates[b] = Kokkos::isfinite(rate) ? rate : infinite<double>();
    });
  }
};

/// The largest rate of all sequences; infinite where one is not known.
struct LargestRate {
  const double* rates;
  KOKKOS_FUNCTION void operator()(std::int64_t b, double& largest) const {
    if (rates[b] > largest) largest = rates[b];
  }
};

}  // namespace elaphos::impl

#endif
