// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_NODE_KERNELS_HPP
#define ELAPHOS_SRC_SOLVER_NODE_KERNELS_HPP

#include "node_arguments.hpp"
#include "tally.hpp"

#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/warm_start.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Before the first pass: every node is a guess, every segment is active and has no past.
template <class Scalar>
struct StartFromGuess {
  NodeArguments<Scalar> nodes;
  InitialGuess guess;
  StoredNodes<Scalar> stored;

  KOKKOS_FUNCTION void operator()(std::int64_t flat) const {
    const int D = nodes.state_size();
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch();
    const Scalar* initial = nodes.segments.problem.y0 + b * D;
    for (int i = 0; i < D; ++i) {
      const Scalar guessed = n == 0 ? initial[i] : guess_of(n, b, i, initial[i]);
      nodes.nodes[flat * D + i] = n > 0 && !Kokkos::isfinite(guessed) ? initial[i] : guessed;
    }
    nodes.segments.records[flat] = SegmentRecord<Scalar>{};
    nodes.active[flat] = flat;
    nodes.active_flags[flat] = Activity::active_now;
    if (n == 0) nodes.reset_next_frontier(b);
  }

 private:
  KOKKOS_FUNCTION Scalar guess_of(std::int64_t n, std::int64_t b, int i, const Scalar& initial) const {
    if (stored.segments > 0) {
      const std::int64_t nearest =
          (n * nodes.segments.steps_per_segment + stored.steps_per_segment / 2) / stored.steps_per_segment;
      const std::int64_t kept = nearest < stored.segments ? nearest : stored.segments - 1;
      return kept == 0 ? initial : stored.data[(kept * nodes.batch() + b) * nodes.state_size() + i];
    }
    if (guess == InitialGuess::zeros) return Scalar(0);
    return guess == InitialGuess::trajectory ? nodes.end_of_segment(n - 1, b)[i] : initial;
  }
};

/// After a solve: the states in which its segments begin, for the next one. Nodes hold the last correction too; behind
/// a sequential completion they are out of date, and the trajectory is right.
template <class Scalar>
struct KeepNodes {
  NodeArguments<Scalar> nodes;
  bool completed;
  Scalar* kept;  // (N, B, D)

  KOKKOS_FUNCTION void operator()(std::int64_t flat) const {
    const int D = nodes.state_size();
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch();
    const Scalar* from = completed && n > 0 ? nodes.end_of_segment(n - 1, b) : nodes.nodes + flat * D;
    for (int i = 0; i < D; ++i) kept[flat * D + i] = from[i];
  }
};

/// Cuts the sensitivities of the segments that have just run to a limit, and counts what was beyond it. One word read
/// an entry.
template <class Scalar>
struct ClampSensitivities {
  NodeArguments<Scalar> nodes;
  int entries;  // of a segment
  Scalar limit;

  KOKKOS_FUNCTION void operator()(std::int64_t index, std::int64_t& count) const {
    const std::int64_t segment = nodes.active[index / entries];
    Scalar& entry = nodes.segments.sensitivities[segment * entries + index % entries];
    if (!(Kokkos::abs(entry) > limit)) return;
    entry = entry > Scalar(0) ? limit : -limit;
    ++count;
  }
};

/// body(i, numbers) for entries 0..D-1 of some arrays, read several at a time: one after another, a thread of a device
/// waits for memory D times.
template <int arrays, class Scalar, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_some_numbers(int D, const Scalar* const (&from)[arrays], const Body& body) {
  constexpr int some = 8;
  for (int first = 0; first < D; first += some) {
    Scalar number[some][arrays];
    ELAPHOS_UNROLL
    for (int k = 0; k < some; ++k) {
      const int i = first + k < D ? first + k : D - 1;
      for (int a = 0; a < arrays; ++a) number[k][a] = from[a][i];
    }
    ELAPHOS_UNROLL
    for (int k = 0; k < some; ++k) {
      if (first + k < D) body(first + k, number[k]);
    }
  }
}

/// Whether D numbers are finite.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool finite(const Scalar* numbers, int D) {
  bool all = true;
  for_some_numbers<1>(D, {numbers}, [&](int, const Scalar(&number)[1]) { all = all && Kokkos::isfinite(number[0]); });
  return all;
}

/// The frontier of every sequence: the first segment whose end is not, bit for bit, the node behind it, or that holds a
/// tolerance merge; or the one before the first that was held back. All nodes up to it are exact, and so is its end
/// where it holds no merge. (A minimum of integers: atomics do not make it depend on order.) 2 D words.
template <class Scalar>
struct FindFrontier {
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void operator()(std::int64_t flat) const {
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch();
    if (nodes.frontier[b] < n) return;
    // A segment held back has not run from the node it has now: its end is an older node's.
    if (nodes.active_flags[flat] == Activity::held_back) return Kokkos::atomic_min(&nodes.frontier[b], n - 1);
    if (n == nodes.segments.segments - 1) return;  // there is no node behind it
    bool broken = nodes.segments.records[flat].jump != Scalar(0);
    if (!broken) {
      const Scalar* node = nodes.nodes + (flat + nodes.batch()) * nodes.state_size();
      for_some_numbers<2>(nodes.state_size(), {nodes.end_of_segment(n, b), node},
                          [&](int, const Scalar(&number)[2]) { broken = broken || !same_bits(number[0], number[1]); });
    }
    if (broken) Kokkos::atomic_min(&nodes.frontier[b], n);
  }
};

/// Moves one number of a node to its predecessor's end plus what is carried; whether its bits changed.
template <class Scalar>
KOKKOS_FORCEINLINE_FUNCTION bool move_number(const NodeArguments<Scalar>& nodes, Scalar& number, Scalar end, Scalar old,
                                             Scalar carried, Tally& tally) {
  Scalar moved = end;
  // Adding an exact zero could turn -0 into +0.
  if (carried != Scalar(0)) {
    const Scalar limit = nodes.correction_limit;
    if (Kokkos::abs(carried) > limit) {
      ++tally.clipped;
      carried = carried > Scalar(0) ? limit : -limit;
    }
    moved += carried;
  }
  const Scalar scale = nodes.segments.absolute_tolerance + nodes.segments.relative_tolerance * Kokkos::abs(moved);
  if (!same_bits(end, old)) tally.add_mismatch(end - old, scale);
  if (same_bits(moved, old)) return false;
  tally.add_correction(moved - old, scale);
  number = moved;
  return true;
}

/// An end that is not finite is the truth where its segment started from an exact node; elsewhere it only says that the
/// node was a bad guess, and the node behind it keeps the guess it has, if that is any better.
template <class Scalar>
KOKKOS_FUNCTION bool keeps_guess(const Scalar* node, int D, Tally& tally) {
  tally.add_unbounded();
  return finite(node, D);
}

/// Adds a segment's run to the tally. Returns whether it has to be run anew whatever its node: the frontier's, where the
/// node is exact and a jump behind it is not.
template <class Scalar>
KOKKOS_FUNCTION bool settle_record(SegmentRecord<Scalar>& record, std::int64_t n, std::int64_t frontier, Tally& tally) {
  tally.add_run(record.steps_run, record.reached_end);
  tally.add_residual(static_cast<double>(record.jump));
  record.steps_run = 0;
  record.exact_only = n <= frontier + 1 ? 1 : 0;
  if (n != frontier || record.jump == Scalar(0)) return false;
  record.must_run = 1;
  return true;
}

/// Moves every node to its predecessor's end plus the carried correction, marks the segments whose node has changed,
/// and tallies what the pass did. One (n, b) an index; D-long loops.
template <class Scalar>
struct CorrectNodes {
  using value_type = Tally;
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void init(Tally& tally) const { tally = Tally{}; }
  KOKKOS_FUNCTION void join(Tally& into, const Tally& from) const { into.merge(from); }

  KOKKOS_FUNCTION void operator()(std::int64_t flat, Tally& tally) const {
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch();
    Tally own;
    const std::int64_t frontier = nodes.frontier[b];
    const bool waits = nodes.active_flags[flat] == Activity::held_back;
    const bool reruns = settle_record(nodes.segments.records[flat], n, frontier, own);
    const bool active = (n > 0 && move(flat, n, b, frontier, own)) || waits || reruns;
    nodes.active_flags[flat] = active ? Activity::active_now : Activity::at_rest;
    if (active) ++own.active;
    if (n == 0) nodes.reset_next_frontier(b);
    if (n == nodes.segments.segments - 1) own.add_end(all_finite(nodes.end_of_segment(n, b)));
    if (nodes.is_near != nullptr && own.scaled > 1) Kokkos::atomic_store(&nodes.is_near[b], 0);
    tally.merge(own);
  }

 private:
  KOKKOS_FUNCTION bool all_finite(const Scalar* state) const { return finite(state, nodes.state_size()); }

  // Returns whether the node's bits changed.
  KOKKOS_FUNCTION bool move(std::int64_t flat, std::int64_t n, std::int64_t b, std::int64_t frontier,
                            Tally& tally) const {
    const int D = nodes.state_size();
    const Scalar* end = nodes.end_of_segment(n - 1, b);
    const Scalar* carried = nodes.corrections == nullptr ? nullptr : nodes.corrections + flat * D;
    Scalar* node = nodes.nodes + flat * D;
    const bool end_finite = all_finite(end);
    const bool carried_finite = nodes.segments.sensitivity != Sensitivity::none && all_finite(carried);
    tally.add_end(end_finite);
    if (!end_finite && n - 1 > frontier && keeps_guess(node, D, tally)) return false;
    bool changed = false;
    for_some_numbers<3>(D, {end, node, carried_finite ? carried : end}, [&](int i, const Scalar(&number)[3]) {
      changed |= move_number(nodes, node[i], number[0], number[1], carried_finite ? number[2] : Scalar(0), tally);
    });
    return changed;
  }
};

/// Compaction of the flags into the list of active segments. Sums of integers commute, so Kokkos' own scan is right.
template <class Scalar>
struct ListActive {
  using value_type = std::int64_t;
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void operator()(std::int64_t flat, std::int64_t& position, bool final) const {
    const bool active = nodes.active_flags[flat] != Activity::at_rest;
    if (final && active) nodes.active[position] = flat;
    if (active) ++position;
  }
};

/// Lets the active segments from `first` in the list on wait for a later pass.
template <class Scalar>
struct HoldBack {
  NodeArguments<Scalar> nodes;
  std::int64_t first;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    nodes.active_flags[nodes.active[first + index]] = Activity::held_back;
  }
};

/// Makes every segment run to its end in the next pass: sensitivities of a new kind are wanted for all.
template <class Scalar>
struct RestartAll {
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void operator()(std::int64_t flat) const {
    nodes.segments.records[flat].must_run = 1;
    nodes.active[flat] = flat;
  }
};

/// Makes every segment behind the frontier run to its end in the next pass, as another method goes on: from the nodes
/// there are, or from the one behind the frontier, which is exact, where they have run away. Counts what is active.
template <class Scalar>
struct RestartBehindFrontier {
  using value_type = std::int64_t;
  NodeArguments<Scalar> nodes;
  bool from_frontier;

  KOKKOS_FUNCTION void operator()(std::int64_t flat, std::int64_t& active) const {
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch();
    const std::int64_t known = nodes.frontier[b] + 1;
    if (n >= known) {
      nodes.segments.records[flat].must_run = 1;
      nodes.active_flags[flat] = Activity::active_now;
    }
    if (from_frontier && n > known) {
      const int D = nodes.state_size();
      for (int i = 0; i < D; ++i) nodes.nodes[flat * D + i] = nodes.nodes[(known * nodes.batch() + b) * D + i];
    }
    if (nodes.active_flags[flat] != Activity::at_rest) ++active;
  }
};

/// Marks, for each sequence that is not exact yet, the segment from which the sequential loop has to go on.
template <class Scalar>
struct MarkCompletion {
  using value_type = std::int64_t;
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void operator()(std::int64_t flat, std::int64_t& unfinished) const {
    const std::int64_t n = nodes.segment(flat), b = flat - n * nodes.batch();
    const std::int64_t frontier = nodes.frontier[b];
    // Without a jump in the frontier's segment, the correction has made the next node its exact end.
    const bool jump = nodes.segments.records[frontier * nodes.batch() + b].jump != Scalar(0);
    const bool start = n == (jump ? frontier : frontier + 1);
    nodes.active_flags[flat] = start ? Activity::active_now : Activity::at_rest;
    if (start) ++unfinished;
  }
};

/// Sums up the runs of a pass that no correction follows, and looks at the segments' ends.
template <class Scalar>
struct TallyRuns {
  using value_type = Tally;
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void init(Tally& tally) const { tally = Tally{}; }
  KOKKOS_FUNCTION void join(Tally& into, const Tally& from) const { into.merge(from); }
  KOKKOS_FUNCTION void operator()(std::int64_t flat, Tally& tally) const {
    const SegmentRecord<Scalar>& record = nodes.segments.records[flat];
    tally.add_run(record.steps_run, record.reached_end);
    tally.add_residual(static_cast<double>(record.jump));
    const std::int64_t n = nodes.segment(flat);
    tally.add_end(finite(nodes.end_of_segment(n, flat - n * nodes.batch()), nodes.state_size()));
  }
};

/// What `FirstNonFinite` finds where all is finite.
inline constexpr std::int64_t nowhere = Kokkos::Experimental::finite_max_v<std::int64_t>;

/// The smallest t * B + b whose state is not finite; `nowhere` if there is none.
template <class Scalar>
struct FirstNonFinite {
  using value_type = std::int64_t;
  const Scalar* y;
  int state_size;

  KOKKOS_FUNCTION void init(std::int64_t& first) const { first = nowhere; }
  KOKKOS_FUNCTION void join(std::int64_t& into, const std::int64_t& from) const {
    if (from < into) into = from;
  }
  KOKKOS_FUNCTION void operator()(std::int64_t entry, std::int64_t& first) const {
    if (entry >= first) return;
    for (int i = 0; i < state_size; ++i) {
      if (!Kokkos::isfinite(y[entry * state_size + i])) {
        first = entry;
        return;
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
