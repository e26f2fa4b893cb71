// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_NUMBER_KERNELS_HPP
#define ELAPHOS_SRC_SOLVER_NUMBER_KERNELS_HPP

#include "node_kernels.hpp"

namespace elaphos::impl {

// `FindFrontier`, `CorrectNodes` and `ListActive` for devices: a thread takes a number of a node, not all D, so that
// memory is read in whole lines and nobody goes through it D times in a row. What a node's numbers decide together they
// decide by atomics on integers. Of a list, whose order matters to no one, each takes the next free place.

/// 4 words read a number.
template <class Scalar>
struct FindFrontierByNumbers {
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t D = nodes.state_size(), flat = quotient(index, D), i = index - flat * D;
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch();
    if (index == 0) *nodes.listed = 0;
    if (i == 0) nodes.active_flags[flat] = Activity::at_rest;
    if (nodes.frontier[b] < n || n == nodes.segments.segments - 1) return;
    const bool jumps = i == 0 && nodes.segments.records[flat].jump != Scalar(0);
    // Where the segment before differs in the same number, it says so itself: thousands would get into each other's
    // way.
    if (jumps || (differs(index, i, n, b) && (n == 0 || !differs(index - nodes.batch() * D, i, n - 1, b)))) {
      Kokkos::atomic_min(&nodes.frontier[b], n);
    }
  }

 private:
  // Whether number i of the end of segment n is not that of the node behind it; `index` is the segment's.
  KOKKOS_FUNCTION bool differs(std::int64_t index, std::int64_t i, std::int64_t n, std::int64_t b) const {
    return !same_bits(nodes.end_of_segment(n, b)[i], nodes.nodes[index + nodes.batch() * nodes.state_size()]);
  }
};

/// 3 words read and one written a number; all D of an end and of a correction, which the threads beside read, too, are
/// asked whether they are finite.
template <class Scalar>
struct CorrectNumbers {
  using value_type = Tally;
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void init(Tally& tally) const { tally = Tally{}; }
  KOKKOS_FUNCTION void join(Tally& into, const Tally& from) const { into.merge(from); }

  KOKKOS_FUNCTION void operator()(std::int64_t index, Tally& tally) const {
    const int D = nodes.state_size();
    const std::int64_t flat = quotient(index, D);
    const int i = static_cast<int>(index - flat * D);
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch(), frontier = nodes.frontier[b];
    Tally own;
    bool active = n > 0 && move(index, i, n, b, frontier, own);
    if (i == 0) active = settle(flat, n, b, frontier, own) || active;
    if (active &&
        Kokkos::atomic_exchange(&nodes.active_flags[flat], std::int32_t(Activity::active_now)) == Activity::at_rest) {
      ++own.active;
      nodes.active[Kokkos::atomic_fetch_add(nodes.listed, std::int64_t(1))] = flat;
    }
    if (nodes.is_near != nullptr && own.scaled > 1) Kokkos::atomic_store(&nodes.is_near[b], 0);
    tally.merge(own);
  }

 private:
  // What is done once a node; whether its segment has to be run for another reason than its own node.
  KOKKOS_FUNCTION bool settle(std::int64_t flat, std::int64_t n, std::int64_t b, std::int64_t frontier,
                              Tally& tally) const {
    if (n == 0) nodes.reset_next_frontier(b);
    if (n == nodes.segments.segments - 1) tally.add_end(finite(nodes.end_of_segment(n, b), nodes.state_size()));
    return settle_record(nodes.segments.records[flat], n, frontier, tally);
  }

  KOKKOS_FUNCTION bool move(std::int64_t index, int i, std::int64_t n, std::int64_t b, std::int64_t frontier,
                            Tally& tally) const {
    const int D = nodes.state_size();
    const Scalar* end = nodes.end_of_segment(n - 1, b);
    Scalar& number = nodes.nodes[index];
    const bool end_finite = finite(end, D);
    if (i == 0) tally.add_end(end_finite);
    if (!end_finite && n - 1 > frontier) {
      // As `keeps_guess`, but each number for itself: others of the node may have moved already.
      tally.add_unbounded();
      if (Kokkos::isfinite(number)) return false;
    }
    Scalar carried = Scalar(0);
    if (nodes.segments.sensitivity != Sensitivity::none && finite(nodes.corrections + (index - i), D)) {
      carried = nodes.corrections[index];
    }
    return move_number(nodes, number, end[i], number, carried, tally);
  }
};

}  // namespace elaphos::impl

#endif
