// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_NODE_ARGUMENTS_HPP
#define ELAPHOS_SRC_SOLVER_NODE_ARGUMENTS_HPP

#include <elaphos/impl/segment_arguments.hpp>
#include <elaphos/recurrence.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Whether a segment is to be advanced.
enum Activity : std::int32_t {
  at_rest = 0,
  active_now,
  held_back  ///< it is to be advanced, but not in the next pass (`HoldBack`)
};

/// What the kernels of the node correction share: the segments, their ends, and what the correction itself keeps.
template <class Scalar>
struct NodeArguments {
  SegmentArguments<Scalar> segments;
  JacobianBlocks blocks;           ///< of diagonal (size 1) and block sensitivities
  Scalar* nodes;                   ///< (N, B, D), those that the last pass started from
  std::int64_t* frontier;          ///< (B): nodes 0..frontier are exact
  std::int64_t* next_frontier;     ///< (B): the next pass's, N - 1 until it is searched
  Scalar* corrections;             ///< (N, B, D): M_{n-1} delta_{n-1}, what a node gets on top of its predecessor's end
  Scalar* scan_totals;             ///< composed maps of tiles of nodes
  std::int32_t* active_flags;      ///< (N, B), each an `Activity`
  Scalar correction_limit;         ///< what `corrections` add to a node is cut to this, entry by entry
  std::int32_t* is_near;              ///< (B), where corrections are damped, else null: the last were within tolerance
  std::int64_t* active;            ///< (N, B): the list that `segments.active` reads
  std::int64_t* listed;            ///< how many are in it, while a device makes it

  KOKKOS_FUNCTION std::int64_t batch() const { return segments.problem.batch; }
  /// Which segment of its sequence `flat` is.
  KOKKOS_FUNCTION std::int64_t segment(std::int64_t flat) const { return quotient(flat, batch()); }
  KOKKOS_FUNCTION int state_size() const { return segments.problem.state_size; }

  /// The state at the end of segment n of sequence b, D numbers: Phi_n.
  KOKKOS_FUNCTION const Scalar* end_of_segment(std::int64_t n, std::int64_t b) const {
    std::int64_t t = (n + 1) * segments.steps_per_segment;
    if (t > segments.problem.steps) t = segments.problem.steps;
    return segments.problem.y + ((t - 1) * batch() + b) * state_size();
  }

  /// Before a search for the next frontier: every node counts as exact.
  KOKKOS_FUNCTION void reset_next_frontier(std::int64_t b) const { next_frontier[b] = segments.segments - 1; }

  /// Mismatch Phi_n - s_{n+1}, entry i; 0 where both have the same bits or the end is not finite (such an end corrects
  /// nobody downstream).
  KOKKOS_FUNCTION Scalar mismatch(std::int64_t n, std::int64_t b, int i) const {
    const Scalar end = end_of_segment(n, b)[i];
    const Scalar node = nodes[((n + 1) * batch() + b) * state_size() + i];
    if (!Kokkos::isfinite(end) || !Kokkos::isfinite(node)) return Scalar(0);
    return end - node;
  }
};

}  // namespace elaphos::impl

#endif
