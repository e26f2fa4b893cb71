// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_NODE_KERNELS_HPP
#define ELAPHOS_SRC_SOLVER_NODE_KERNELS_HPP

#include "node_arguments.hpp"
#include "tally.hpp"

#include <elaphos/impl/scalar.hpp>
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
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
    const Scalar* initial = nodes.segments.problem.y0 + b * D;
    for (int i = 0; i < D; ++i) {
      const Scalar guessed = n == 0 ? initial[i] : guess_of(n, b, i, initial[i]);
      nodes.nodes[flat * D + i] = n > 0 && !Kokkos::isfinite(guessed) ? initial[i] : guessed;
    }
    nodes.segments.records[flat] = SegmentRecord<Scalar>{};
    nodes.active[flat] = flat;
    nodes.active_flags[flat] = Activity::active_now;
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
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
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

/// Before a search for it: every node counts as exact.
template <class Scalar>
struct ResetFrontier {
  NodeArguments<Scalar> nodes;
  KOKKOS_FUNCTION void operator()(std::int64_t b) const { nodes.frontier[b] = nodes.segments.segments - 1; }
};

/// The frontier of every sequence: the first segment whose end is not, bit for bit, the node behind it, or that holds a
/// tolerance merge; or the one before the first that was held back. All nodes up to it are exact, and so is its end
/// where it holds no merge. (A minimum of integers: atomics do not make it depend on order.)
template <class Scalar>
struct FindFrontier {
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void operator()(std::int64_t flat) const {
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
    if (nodes.frontier[b] < n) return;
    // A segment held back has not run from the node it has now: its end is an older node's.
    if (nodes.active_flags[flat] == Activity::held_back) return Kokkos::atomic_min(&nodes.frontier[b], n - 1);
    if (n == nodes.segments.segments - 1) return;  // there is no node behind it
    bool broken = nodes.segments.records[flat].jump != Scalar(0);
    if (!broken) {
      const int D = nodes.state_size();
      const Scalar* end = nodes.end_of_segment(n, b);
      const Scalar* node = nodes.nodes + (flat + nodes.batch()) * D;
      for (int i = 0; i < D; ++i) broken = broken || !same_bits(end[i], node[i]);
    }
    if (broken) Kokkos::atomic_min(&nodes.frontier[b], n);
  }
};

/// Moves every node to its predecessor's end plus the carried correction, marks the segments whose node has changed,
/// and tallies what the pass did. One (n, b) an index; D-long loops.
template <class Scalar>
struct CorrectNodes {
  using value_type = Tally;
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void init(Tally& tally) const { tally = Tally{}; }
  KOKKOS_FUNCTION void join(Tally& into, const Tally& from) const { into.merge(from); }

  KOKKOS_FUNCTION void operator()(std::int64_t flat, Tally& tally) const {
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
    SegmentRecord<Scalar>& record = nodes.segments.records[flat];
    Tally own;
    own.add_run(record.steps_run, record.reached_end);
    own.add_residual(static_cast<double>(record.jump));
    record.steps_run = 0;

    const std::int64_t frontier = nodes.frontier[b];
    const bool waits = nodes.active_flags[flat] == Activity::held_back;
    bool active = (n > 0 && move(flat, n, b, frontier, own)) || waits;
    record.exact_only = n <= frontier + 1 ? 1 : 0;
    if (n == frontier && record.jump != Scalar(0)) {
      // The node is exact and a jump behind it is not: this stretch has to be run anew for the frontier to move on.
      record.must_run = 1;
      active = true;
    }
    nodes.active_flags[flat] = active ? Activity::active_now : Activity::at_rest;
    if (active) ++own.active;
    if (nodes.is_near != nullptr && own.scaled > 1) Kokkos::atomic_store(&nodes.is_near[b], 0);
    tally.merge(own);
  }

 private:
  KOKKOS_FUNCTION Scalar clipped(Scalar correction, Tally& tally) const {
    const Scalar limit = nodes.correction_limit;
    if (!(Kokkos::abs(correction) > limit)) return correction;
    ++tally.clipped;
    return correction > Scalar(0) ? limit : -limit;
  }

  // Returns whether the node's bits changed.
  KOKKOS_FUNCTION bool move(std::int64_t flat, std::int64_t n, std::int64_t b, std::int64_t frontier,
                            Tally& tally) const {
    const int D = nodes.state_size();
    const Scalar* end = nodes.end_of_segment(n - 1, b);
    const Scalar* carried = nodes.corrections == nullptr ? nullptr : nodes.corrections + flat * D;
    Scalar* node = nodes.nodes + flat * D;
    bool end_finite = true, carried_finite = nodes.segments.sensitivity != Sensitivity::none;
    for (int i = 0; i < D; ++i) {
      end_finite = end_finite && Kokkos::isfinite(end[i]);
      if (carried_finite) carried_finite = Kokkos::isfinite(carried[i]);
    }
    // An end that is not finite is the truth where its segment started from an exact node; elsewhere it only says
    // that the node was a bad guess, and the node behind it keeps the guess it has, if that is any better.
    if (!end_finite && n - 1 > frontier) {
      bool node_finite = true;
      for (int i = 0; i < D; ++i) node_finite = node_finite && Kokkos::isfinite(node[i]);
      tally.add_unbounded();
      if (node_finite) return false;
    }
    bool changed = false;
    for (int i = 0; i < D; ++i) {
      const Scalar old = node[i];
      Scalar moved = end[i];
      // Adding an exact zero could turn -0 into +0.
      if (carried_finite && carried[i] != Scalar(0)) moved += clipped(carried[i], tally);
      const Scalar scale = nodes.segments.absolute_tolerance + nodes.segments.relative_tolerance * Kokkos::abs(moved);
      if (!same_bits(end[i], old)) tally.add_mismatch(static_cast<double>(end[i] - old), static_cast<double>(scale));
      if (same_bits(moved, old)) continue;
      changed = true;
      tally.add_correction(static_cast<double>(moved - old), static_cast<double>(scale));
      node[i] = moved;
    }
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
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
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
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
    const std::int64_t frontier = nodes.frontier[b];
    // Without a jump in the frontier's segment, the correction has made the next node its exact end.
    const bool jump = nodes.segments.records[frontier * nodes.batch() + b].jump != Scalar(0);
    const bool start = n == (jump ? frontier : frontier + 1);
    nodes.active_flags[flat] = start ? Activity::active_now : Activity::at_rest;
    if (start) ++unfinished;
  }
};

/// Sums up the runs of a pass that no correction follows.
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

/// Segment ends that are not finite: a cheap look before the whole trajectory is searched.
template <class Scalar>
struct CountNonFiniteEnds {
  NodeArguments<Scalar> nodes;

  KOKKOS_FUNCTION void operator()(std::int64_t flat, std::int64_t& count) const {
    const Scalar* end = nodes.end_of_segment(flat / nodes.batch(), flat % nodes.batch());
    for (int i = 0; i < nodes.state_size(); ++i) {
      if (!Kokkos::isfinite(end[i])) {
        ++count;
        return;
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
