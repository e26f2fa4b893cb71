// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LANE_PROPAGATOR_HPP
#define ELAPHOS_IMPL_LANE_PROPAGATOR_HPP

#include <elaphos/impl/interleaved_kernel.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/plain_step.hpp>
#include <elaphos/impl/propagator.hpp>
#include <elaphos/impl/runs_on_host.hpp>
#include <elaphos/impl/step_site.hpp>
#include <elaphos/recurrence.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Advances one segment a lane: for recurrences whose whole state fits in a thread's registers.
///
/// Per step it moves I + D numbers (x in, y out), D more when there is a trajectory to merge with, and evaluates f once;
/// with sensitivities the Jacobian is evaluated too, and products cost D^3 (dense) or D K^2 (blocks of K) multiply-adds.
template <Recurrence R, Sensitivity Carried>
struct LaneKernel {
  using Scalar = typename R::scalar_type;
  static constexpr int D = R::state_size;
  static constexpr int room_for_input = R::input_size > 0 ? R::input_size : 1;

  R recurrence;
  const Scalar* parameters;
  SegmentArguments<Scalar> arguments;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    if (!arguments.has(index)) return;
    const SegmentRange range = segment_range(arguments, index);
    SegmentRecord<Scalar>& record = arguments.records[range.flat];
    if (arguments.pass == Pass::verify) {
      verify(range, record);
    } else {
      advance(range, record);
    }
  }

 private:
  KOKKOS_FUNCTION void advance(const SegmentRange& range, SegmentRecord<Scalar>& record) const {
    const Problem<Scalar>& problem = arguments.problem;
    const bool propagating = arguments.pass == Pass::propagate;
    MergeTest<Scalar> test(record, arguments.merge);
    const bool may_merge = propagating && test.possible();

    Scalar state[D], next[D];
    for (int i = 0; i < D; ++i) state[i] = arguments.nodes[range.flat * D + i];
    Tangent tangent;
    bool from_node = propagating;  // the state depends on the segment's node

    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    std::int64_t t = range.begin;
    bool merged = false;
    while (t < range.end && !merged) {
      const StepSite<Scalar> site = cursor.site(t);
      const std::int64_t entry = t * problem.batch + range.sequence;
      if (site.beginning != nullptr) {
        for (int i = 0; i < D; ++i) state[i] = site.beginning[i];
        tangent.clear();
        from_node = false;
      }
      if (site.held) {
        for (int i = 0; i < D; ++i) next[i] = state[i];
      } else {
        Scalar room[room_for_input];
        const Scalar* x = problem.inputs.gathered(entry, room);
        plain_step(recurrence, site.at, state, x, parameters, next);
        if (from_node) tangent.advance(*this, site.at, state, x);
      }

      Scalar* y = problem.y + entry * D;
      if (may_merge) {
        StateDifference<Scalar> difference;
        for (int i = 0; i < D; ++i) {
          difference.add(next[i], y[i], arguments.absolute_tolerance, arguments.relative_tolerance);
        }
        merged = test.merged(difference);
      }
      for (int i = 0; i < D; ++i) {
        state[i] = next[i];
        // Behind a merge the stored trajectory goes on; at the merge itself the stored state stays, so that the jump
        // lies between two neighbouring steps.
        if (!merged) y[i] = next[i];
      }
      ++t;
    }
    record_run(record, t - range.begin, merged, merged ? test.jump() : Scalar(0), tangent.growth());
    if (propagating && !merged) tangent.store(arguments.sensitivities, range.flat);
  }

  KOKKOS_FUNCTION void verify(const SegmentRange& range, SegmentRecord<Scalar>& record) const {
    const Problem<Scalar>& problem = arguments.problem;
    Scalar state[D], next[D];
    Scalar residual = 0;
    StepCursor<Scalar> cursor(problem, range.sequence, range.begin);
    for (std::int64_t t = range.begin; t < range.end; ++t) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      const StepSite<Scalar> site = cursor.site(t);
      const Scalar* before = state_before(problem, site, range.sequence, t);
      for (int i = 0; i < D; ++i) next[i] = state[i] = before[i];
      if (!site.held) {
        Scalar room[room_for_input];
        plain_step(recurrence, site.at, state, problem.inputs.gathered(entry, room), parameters, next);
      }
      StateDifference<Scalar> difference;
      for (int i = 0; i < D; ++i) difference.add(next[i], problem.y[entry * D + i], Scalar(1), Scalar(0));
      if (difference.absolute > residual) residual = difference.absolute;
    }
    record.jump = residual;
  }

  // The derivative of the current state with respect to the segment's node, and how fast it has grown.
  struct Tangent {
    // The derivative falls into blocks: one of D x D, D of 1 x 1, or those that the recurrence names.
    static constexpr JacobianBlocks blocks = Carried == Sensitivity::block   ? jacobian_blocks_of<R>()
                                             : Carried == Sensitivity::dense ? JacobianBlocks{D, 1}
                                                                             : JacobianBlocks{1, 1};
    static constexpr int K = blocks.size, stride = blocks.stride;
    static constexpr int stretches = Carried == Sensitivity::none ? 1 : D / K;
    static constexpr int entries = stretches * K * K;
    Scalar value[entries];
    WorstStretch<Scalar> stretch[stretches];

    KOKKOS_FUNCTION Tangent() {
      for (int i = 0; i < entries; ++i) {
        value[i] = i % (K * K) % (K + 1) == 0 ? Scalar(1) : Scalar(0);
      }
    }

    // From here on the state depends on the node no more.
    KOKKOS_FUNCTION void clear() {
      for (int i = 0; i < entries; ++i) value[i] = Scalar(0);
    }

    KOKKOS_FUNCTION void advance(const LaneKernel& kernel, StepContext at, const Scalar* state, const Scalar* x) {
      if constexpr (Carried == Sensitivity::diagonal && RecurrenceWithJacobianTimes<R>) {
        estimate(kernel, at, state, x);
      } else if constexpr (Carried != Sensitivity::none) {
        Scalar jacobian[D * D];
        kernel.recurrence.jacobian(at, state, x, kernel.parameters, JacobianRef<Scalar>(jacobian, D));
        for (int g = 0; g < stretches; ++g) multiply(g, jacobian);
      }
    }

    // v_i (J v)_i for random signs v has the mean J_ii. The signs are a function of t and b, so that bits repeat.
    KOKKOS_FUNCTION void estimate(const LaneKernel& kernel, StepContext at, const Scalar* state, const Scalar* x) {
      Scalar signs[D], times[D];
      std::uint64_t bits = 0;
      for (int i = 0; i < D; ++i) {
        if (i % 64 == 0) bits = random_bits(at, i / 64);
        signs[i] = (bits >> (i % 64)) & 1 ? Scalar(1) : Scalar(-1);
      }
      kernel.recurrence.jacobian_times(at, state, x, kernel.parameters, static_cast<const Scalar*>(signs),
                                       static_cast<Scalar*>(times));
      for (int i = 0; i < D; ++i) value[i] *= signs[i] * times[i];
    }

    // splitmix64 (Steele, Lea and Flood, OOPSLA 2014).
    KOKKOS_FUNCTION static std::uint64_t random_bits(StepContext at, int word) {
      std::uint64_t bits = 0x9E3779B97F4A7C15u * (static_cast<std::uint64_t>(at.t) + 1) +
                           0xD1B54A32D192ED03u * (static_cast<std::uint64_t>(at.b) + 1) + static_cast<std::uint64_t>(word);
      bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
      bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
      return bits ^ (bits >> 31);
    }

    // A block of value <- that of the jacobian * value, column by column, and the growth of its largest entry.
    KOKKOS_FUNCTION void multiply(int g, const Scalar* jacobian) {
      const JacobianBlocks shape{K, stride};
      if constexpr (K == 1) {
        const Scalar entry = jacobian[g * (D + 1)];
        value[g] *= entry;
        stretch[g].add(Kokkos::abs(entry));
        return;
      }
      Scalar* product = value + g * K * K;
      Scalar before = 0, after = 0;
      for (int j = 0; j < K; ++j) {
        Scalar column[K];
        for (int k = 0; k < K; ++k) {
          column[k] = product[k * K + j];
          const Scalar size = Kokkos::abs(column[k]);
          if (size > before) before = size;
        }
        for (int i = 0; i < K; ++i) {
          const Scalar* row = jacobian + shape.state(g, i) * D;
          Scalar sum = 0;
          for (int k = 0; k < K; ++k) sum += row[shape.state(g, k)] * column[k];
          product[i * K + j] = sum;
          const Scalar size = Kokkos::abs(sum);
          if (!(size <= after)) after = size;
        }
      }
      stretch[g].add(after / before);
    }

    KOKKOS_FUNCTION Scalar growth() const {
      // An estimated diagonal says nothing about the worst case: only exact merges then.
      if constexpr (Carried == Sensitivity::none || RecurrenceWithJacobianTimes<R>) return infinite<Scalar>();
      Scalar worst = 0;
      for (int i = 0; i < stretches; ++i) {
        if (stretch[i].worst() > worst) worst = stretch[i].worst();
      }
      return worst;
    }

    // A product that is not finite says nothing: the segment then counts as one that forgets.
    KOKKOS_FUNCTION void store(Scalar* sensitivities, std::int64_t flat) const {
      if constexpr (Carried != Sensitivity::none) {
        bool finite = true;
        for (int i = 0; i < entries; ++i) finite = finite && Kokkos::isfinite(value[i]);
        for (int i = 0; i < entries; ++i) sensitivities[flat * entries + i] = finite ? value[i] : Scalar(0);
      }
    }
  };
};

/// Propagator of a user's recurrence: compiled where the user calls `solve`.
template <class ExecutionSpace, Recurrence R>
class LanePropagator final : public Propagator<ExecutionSpace, typename R::scalar_type> {
 public:
  using Scalar = typename R::scalar_type;
  static_assert(RecurrenceWithJacobian<R> || !names_jacobian<R>(),
                "Elaphos: this recurrence's jacobian cannot be called as jacobian(at, y, x, p, J): it must be const, and "
                "its arguments are StepContext and four of type auto");

  LanePropagator(const R& recurrence, const Scalar* parameters) : m_recurrence(recurrence), m_parameters(parameters) {}

  bool has_jacobian() const override { return RecurrenceWithJacobian<R>; }

  bool has_jacobian_times() const override { return RecurrenceWithJacobianTimes<R>; }

  // All of it is evaluated, whatever is carried of it.
  double jacobian_cost() const override { return RecurrenceWithJacobian<R> ? R::state_size : 1; }

  JacobianBlocks jacobian_blocks() const override { return jacobian_blocks_of<R>(); }

  std::int64_t parallel_workers(const ExecutionSpace& exec) const override { return exec.concurrency(); }

  void check_sensitivity(Sensitivity) const override {}

  void run(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const override {
    if constexpr (RecurrenceWithJacobian<R>) {
      if (arguments.sensitivity == Sensitivity::diagonal) return launch<Sensitivity::diagonal>(exec, arguments);
      if constexpr (jacobian_blocks_of<R>().size > 0) {
        if (arguments.sensitivity == Sensitivity::block) return launch<Sensitivity::block>(exec, arguments);
      }
      if (arguments.sensitivity == Sensitivity::dense) return launch<Sensitivity::dense>(exec, arguments);
    }
    if constexpr (RecurrenceWithJacobianTimes<R>) {
      if (arguments.sensitivity == Sensitivity::diagonal) return launch<Sensitivity::diagonal>(exec, arguments);
    }
    launch<Sensitivity::none>(exec, arguments);
  }

 private:
  // Segments merge after different numbers of steps: threads take them one by one.
  template <Sensitivity Carried>
  void launch(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const {
    using Policy =
        Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>, Kokkos::Schedule<Kokkos::Dynamic>>;
    if constexpr (runs_on_host<ExecutionSpace> && Carried == Sensitivity::none) {
      if (lockstep_takes(arguments) && arguments.active_count > exec.concurrency()) {
        using Kernel = InterleavedKernel<R>;
        const LockstepGroups groups(arguments.active_count, exec.concurrency(), Kernel::most);
        Policy policy(exec, 0, groups.count);
        policy.set_chunk_size(1);
        Kokkos::parallel_for("Elaphos::propagate_interleaved", policy,
                             Kernel{m_recurrence, m_parameters, arguments, groups});
        return;
      }
    }
    Kokkos::parallel_for("Elaphos::propagate_lane", Policy(exec, 0, arguments.active_count),
                         LaneKernel<R, Carried>{m_recurrence, m_parameters, arguments});
  }

  R m_recurrence;
  const Scalar* m_parameters;
};

}  // namespace elaphos::impl

#endif
