// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_DAMPED_SCAN_HPP
#define ELAPHOS_SRC_SOLVER_DAMPED_SCAN_HPP

#include "../execution_spaces.hpp"
#include "node_arguments.hpp"

#include <cstdint>

namespace elaphos::impl {

// Levenberg-Marquardt for nodes, in the manner of ELK (Gonzalez et al., NeurIPS 2024): the recurrence
// delta_{n+1} = M_n delta_n + r_n as the dynamics of a Kalman filter with unit noise, in which every delta has been
// "observed" to be 0 with variance 1 / lambda:
//
//   Q = M_n P_n M_n' + 1,  delta_{n+1} = (1 + lambda Q)^-1 (M_n delta_n + r_n),  P_{n+1} = (1 + lambda Q)^-1 Q.
//
// Where mismatches die out, Q stays about 1 and this is Newton's step; where they are amplified, P saturates at
// 1 / lambda and delta stops growing. Up to the frontier nothing is damped: the node behind it gets its exact end. Nor is
// a sequence whose last corrections were all within tolerance: damping would hide how large the next ones are.
//
// Two things are not ELK's. Its one lambda (1 / sigma^2) must be chosen by hand for each system and length; here every
// node has its own, adapted after each pass by how well the linear model told what the segment then did. And no
// correction is longer than the exact part of the trajectory is large (twice that every 16 passes): far outside, gates
// saturate, the model is perfect, and delta runs away all the same. What merely sums mismatches up may be longer by
// its variance, which then is at most the number of nodes since the frontier.
// (The smoother, which minimises the residuals' sum of squares, was tried: where the recurrence amplifies, small
// residuals far from the solution are cheap, and it stays there.)

/// What damping keeps from pass to pass.
template <class Scalar>
struct DampingState {
  Scalar* strength;   ///< (N, B): lambda
  Scalar* predicted;  ///< (N, B, D): where the model expects the segment's end after the correction
  Scalar* moved;      ///< (N, B, D): how far from the last end that is
  Scalar* scratch;    ///< per sequence, `damped_scratch_entries`
  Scalar reach;       ///< longest correction over the exact states' largest
  bool adapt;         ///< there was a damped correction before this pass
};

template <class Scalar>
struct DampingLimits {
  static constexpr Scalar start = Scalar(1e-4);
  static constexpr Scalar weakest = sizeof(Scalar) == 8 ? Scalar(1e-16) : Scalar(1e-8);
  static constexpr Scalar strongest = Scalar(1e6);
  static constexpr Scalar factor = Scalar(10);
  static constexpr Scalar rounding = 16 * Kokkos::Experimental::epsilon_v<Scalar>;
  static constexpr Scalar trusted = Scalar(0.25), wrong = Scalar(0.75);  // |end - predicted| over |moved|
};

struct ClearFlags {
  std::int32_t* flags;
  KOKKOS_FUNCTION void operator()(std::int64_t index) const { flags[index] = 0; }
};

/// Adapts every node's damping to how well its segment's end was foretold. Per segment 3 D + 1 words in, 1 out.
template <class Scalar>
struct AdaptDamping {
  NodeArguments<Scalar> nodes;
  DampingState<Scalar> damping;

  KOKKOS_FUNCTION void operator()(std::int64_t flat) const {
    using Limits = DampingLimits<Scalar>;
    const std::int64_t n = flat / nodes.batch(), b = flat % nodes.batch();
    Scalar& strength = damping.strength[flat];
    if (n + 1 == nodes.segments.segments) {  // no correction depends on the last node's
      strength = Limits::weakest;
      return;
    }
    if (!damping.adapt) {
      strength = Limits::start;
      return;
    }
    const int D = nodes.state_size();
    const Scalar* end = nodes.end_of_segment(n, b);
    Scalar error = 0, moved = 0;
    for (int i = 0; i < D; ++i) {
      const Scalar off = end[i] - damping.predicted[flat * D + i], by = damping.moved[flat * D + i];
      moved += by * by;
      // Rounding is no fault of the model's.
      if (!(Kokkos::abs(off) <= Limits::rounding * Kokkos::abs(end[i]))) error += off * off;
    }
    // A segment that has met its old trajectory forgets what its node does.
    const bool met = nodes.segments.records[flat].reached_end == 0;
    const Scalar good = Limits::trusted * Limits::trusted * moved, bad = Limits::wrong * Limits::wrong * moved;
    if (met || error <= good) {
      strength = strength / Limits::factor > Limits::weakest ? strength / Limits::factor : Limits::weakest;
    } else if (!(error <= bad)) {
      strength = strength * Limits::factor < Limits::strongest ? strength * Limits::factor : Limits::strongest;
    }
  }
};

/// Numbers of scratch a sequence: `DampedNodeScan::Work`.
KOKKOS_INLINE_FUNCTION std::int64_t damped_scratch_entries(bool dense, std::int64_t state_size) {
  return 2 * state_size + (dense ? 4 * state_size * state_size : 0);
}

/// Room for it in the workspace of a solve's kernels; nothing has been damped yet.
template <class Scalar, class Kernels>
DampingState<Scalar> reserve_damping(Kernels& kernels) {
  const auto& problem = kernels.problem();
  const bool dense = kernels.segments().sensitivity == Sensitivity::dense;
  const std::size_t segments = static_cast<std::size_t>(kernels.count());
  const std::size_t states = segments * static_cast<std::size_t>(problem.state_size);
  const std::size_t scratch =
      static_cast<std::size_t>(problem.batch * damped_scratch_entries(dense, problem.state_size));
  Scalar* const strength = kernels.template reserve<Scalar>(Buffer::damping, segments + 2 * states + scratch);
  Scalar* const predicted = strength + segments;
  return {strength, predicted, predicted + states, predicted + 2 * states, Scalar(1), false};
}

/// One sequence a team, node after node, its threads over rows: nodes are few. Per node D^2 + 4 D words and about
/// 4 D^3 multiply-adds (dense), 6 D words and D divisions (diagonal).
template <class ExecutionSpace, class Scalar>
struct DampedNodeScan {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;
  NodeArguments<Scalar> nodes;
  DampingState<Scalar> damping;

  KOKKOS_FUNCTION void operator()(const Member& member) const {
    const std::int64_t b = member.league_rank(), last = nodes.segments.segments - 1;
    const bool near = nodes.is_near[b] != 0;
    member.team_barrier();
    // Until the corrections that follow show otherwise.
    Kokkos::single(Kokkos::PerTeam(member), [&] { nodes.is_near[b] = 1; });
    const std::int64_t frontier = nodes.frontier[b];
    const int D = nodes.state_size();
    const std::int64_t known = frontier < last ? frontier + 1 : last;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, (known + 1) * D), [&](std::int64_t e) {
      nodes.corrections[(e / D * nodes.batch() + b) * D + e % D] = Scalar(0);
    });
    if (frontier >= last) return;
    const bool dense = nodes.segments.sensitivity == Sensitivity::dense;
    const Work work = work_of(b, dense);
    const Scalar limit = damping.reach * largest_exact(member, b, frontier);

    // The node behind the frontier is known: it has no variance.
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      work.delta[i] = nodes.mismatch(frontier, b, i);
      predict(frontier, b, i, Scalar(0));
      for (int j = 0; j < (dense ? D : 1); ++j) work.variance[dense ? i * D + j : i] = Scalar(0);
    });
    member.team_barrier();
    for (std::int64_t n = frontier + 1; n < last; ++n) {
      const Scalar strength = near ? Scalar(0) : damping.strength[(n + 1) * nodes.batch() + b];
      if (dense) {
        dense_step(member, n, b, work, strength);
      } else {
        diagonal_step(member, n, b, work, strength);
      }
      if (!near) shorten(member, work.delta, limit * mismatches_summed(member, work.variance, dense, n + 1 - frontier));
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
        nodes.corrections[((n + 1) * nodes.batch() + b) * D + i] = work.delta[i] - nodes.mismatch(n, b, i);
      });
      member.team_barrier();
    }
  }

 private:
  struct Work {
    Scalar* delta;     // D
    Scalar* variance;  // dense: D x D; diagonal: D
    Scalar* carried;   // D x D: M P
    Scalar* system;    // D x D: 1 + lambda Q
    Scalar* right;     // D x (D + 1): Q and M delta + r
  };

  KOKKOS_FUNCTION Work work_of(std::int64_t b, bool dense) const {
    const std::int64_t D = nodes.state_size(), matrix = dense ? D * D : D;
    Scalar* const delta = damping.scratch + b * damped_scratch_entries(dense, D);
    return {delta, delta + D, delta + D + matrix, delta + D + 2 * matrix, delta + D + 3 * matrix};
  }

  // Variance of a correction that is given up: as much as the observation leaves; without one, a mismatch's.
  KOKKOS_FUNCTION static Scalar unknown(Scalar strength) {
    return strength > Scalar(0) ? Scalar(1) / strength : Scalar(1);
  }

  /// The largest of `count` numbers >= 0; all threads get it.
  template <class NumberAt>
  KOKKOS_FUNCTION static Scalar largest_of(const Member& member, std::int64_t count, const NumberAt& number_at) {
    Scalar largest = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, count),
        [&](std::int64_t i, Scalar& most) {
          const Scalar number = number_at(i);
          if (number > most) most = number;
        },
        Kokkos::Max<Scalar>(largest));
    return largest;
  }

  KOKKOS_FUNCTION Scalar largest_exact(const Member& member, std::int64_t b, std::int64_t frontier) const {
    const std::int64_t D = nodes.state_size();
    return largest_of(member, (frontier + 2) * D, [&](std::int64_t e) {
      const std::int64_t n = e / D, i = e % D;
      const Scalar state = n <= frontier ? nodes.nodes[(n * nodes.batch() + b) * D + i]
                                         : nodes.end_of_segment(frontier, b)[i];
      return Kokkos::isfinite(state) ? Kokkos::abs(state) : Scalar(0);
    });
  }

  // What the model expects of segment n once its node has moved.
  KOKKOS_FUNCTION void predict(std::int64_t n, std::int64_t b, int i, Scalar moved) const {
    const std::int64_t at = (n * nodes.batch() + b) * nodes.state_size() + i;
    damping.predicted[at] = nodes.end_of_segment(n, b)[i] + moved;
    damping.moved[at] = moved;
  }

  KOKKOS_FUNCTION void diagonal_step(const Member& member, std::int64_t n, std::int64_t b, const Work& work,
                                     Scalar strength) const {
    const int D = nodes.state_size();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      const Scalar m = nodes.segments.sensitivities[(n * nodes.batch() + b) * D + i];
      const Scalar moved = m * work.delta[i], spread = Scalar(1) + m * work.variance[i] * m;
      predict(n, b, i, moved);
      const Scalar gain = Scalar(1) / (Scalar(1) + strength * spread);
      const bool bounded = Kokkos::isfinite(spread) && Kokkos::isfinite(moved);
      work.delta[i] = bounded ? gain * (moved + nodes.mismatch(n, b, i)) : Scalar(0);
      work.variance[i] = bounded ? gain * spread : unknown(strength);
    });
    member.team_barrier();
  }

  KOKKOS_FUNCTION void dense_step(const Member& member, std::int64_t n, std::int64_t b, const Work& work,
                                  Scalar strength) const {
    const int D = nodes.state_size(), columns = D + 1;
    const Scalar* m = nodes.segments.sensitivities + (n * nodes.batch() + b) * D * D;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      Scalar moved = 0;
      for (int k = 0; k < D; ++k) moved += m[i * D + k] * work.delta[k];
      predict(n, b, i, moved);
      work.right[i * columns + D] = moved + nodes.mismatch(n, b, i);
      for (int j = 0; j < D; ++j) {
        Scalar sum = 0;
        for (int k = 0; k < D; ++k) sum += m[i * D + k] * work.variance[k * D + j];
        work.carried[i * D + j] = sum;
      }
    });
    member.team_barrier();
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      for (int j = 0; j < D; ++j) {
        Scalar sum = i == j ? Scalar(1) : Scalar(0);
        for (int k = 0; k < D; ++k) sum += work.carried[i * D + k] * m[j * D + k];
        work.right[i * columns + j] = sum;
        work.system[i * D + j] = (i == j ? Scalar(1) : Scalar(0)) + strength * sum;
      }
    });
    member.team_barrier();
    // Gauss-Jordan: the system is symmetric and positive definite, so that no pivot is small.
    for (int k = 0; k < D; ++k) {
      const Scalar* pivot_row = work.system + k * D;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
        if (i == k) return;
        const Scalar factor = work.system[i * D + k] / pivot_row[k];
        for (int j = k + 1; j < D; ++j) work.system[i * D + j] -= factor * pivot_row[j];
        for (int j = 0; j < columns; ++j) work.right[i * columns + j] -= factor * work.right[k * columns + j];
      });
      member.team_barrier();
    }
    int unbounded = 0;
    Kokkos::parallel_reduce(
        Kokkos::TeamThreadRange(member, D),
        [&](int i, int& count) {
          for (int j = 0; j < columns; ++j) {
            if (!Kokkos::isfinite(work.right[i * columns + j] / work.system[i * (D + 1)])) count = 1;
          }
        },
        Kokkos::Max<int>(unbounded));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
      const Scalar pivot = work.system[i * (D + 1)];
      work.delta[i] = unbounded > 0 ? Scalar(0) : work.right[i * columns + D] / pivot;
      for (int j = 0; j < D; ++j) {
        const Scalar known_nothing = i == j ? unknown(strength) : Scalar(0);
        work.variance[i * D + j] = unbounded > 0 ? known_nothing : work.right[i * columns + j] / pivot;
      }
    });
    member.team_barrier();
  }

  // How many mismatches of one sign a correction may hold; 1 where it grows by more than their sum.
  KOKKOS_FUNCTION Scalar mismatches_summed(const Member& member, const Scalar* variance, bool dense,
                                           std::int64_t nodes_since) const {
    const int D = nodes.state_size();
    const Scalar largest = largest_of(member, D, [&](std::int64_t i) {
      const Scalar own = variance[dense ? i * (D + 1) : i];
      return own > Scalar(1) ? own : Scalar(1);
    });
    if (!(largest <= Scalar(1.01) * static_cast<Scalar>(nodes_since))) return Scalar(1);
    return largest;
  }

  KOKKOS_FUNCTION void shorten(const Member& member, Scalar* delta, Scalar limit) const {
    const int D = nodes.state_size();
    const Scalar largest = largest_of(member, D, [&](std::int64_t i) { return Kokkos::abs(delta[i]); });
    if (largest <= limit) return;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) { delta[i] *= limit / largest; });
    member.team_barrier();
  }
};

/// Enqueues the kernels that fill `nodes.corrections` for nodes 1..N-1, damped.
template <class ExecutionSpace, class Scalar>
void scan_nodes_damped(const ExecutionSpace& exec, const NodeArguments<Scalar>& nodes,
                       const DampingState<Scalar>& damping) {
  const std::int64_t batch = nodes.segments.problem.batch;
  using Segments = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::adapt_damping", Segments(exec, 0, nodes.segments.segments * batch),
                       AdaptDamping<Scalar>{nodes, damping});
  Kokkos::parallel_for("Elaphos::node_scan_damped",
                       Kokkos::TeamPolicy<ExecutionSpace>(exec, static_cast<int>(batch), Kokkos::AUTO),
                       DampedNodeScan<ExecutionSpace, Scalar>{nodes, damping});
}

}  // namespace elaphos::impl

#endif
