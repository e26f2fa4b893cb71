// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_PROPAGATOR_HPP
#define ELAPHOS_IMPL_PROPAGATOR_HPP

#include <elaphos/impl/segment_arguments.hpp>
#include <elaphos/recurrence.hpp>

namespace elaphos::impl {

/// How many segments one worker advances together where no sensitivities are carried, and how many times faster than one
/// after another.
struct Lockstep {
  int segments = 1;
  double gain = 1;
};

/// The only thing that the solver knows of a recurrence: something that advances a list of segments.
///
/// The solver is compiled once per execution space and scalar; recurrences add only their propagate kernels.
template <class ExecutionSpace, class Scalar>
class Propagator {
 public:
  virtual ~Propagator() = default;

  /// Whether sensitivities other than `none` can be carried.
  virtual bool has_jacobian() const = 0;

  /// Whether the diagonal one can, where the others cannot: exactly, or as an estimate.
  virtual bool has_jacobian_diagonal() const { return false; }
  virtual bool has_jacobian_times() const { return false; }

  /// What the diagonal of one Jacobian costs, in steps: about, for the planner.
  virtual double jacobian_cost() const { return 1; }

  /// The blocks of `Sensitivity::block`; size 0 where the recurrence names none.
  virtual JacobianBlocks jacobian_blocks() const { return {}; }

  /// Segments that the execution space advances at the same time, one a worker.
  virtual std::int64_t parallel_workers(const ExecutionSpace& exec) const = 0;

  /// What a worker makes of more.
  virtual Lockstep lockstep() const { return {}; }

  /// Throws `InvalidArgument` when this sensitivity cannot be carried at this state size on this space.
  virtual void check_sensitivity(Sensitivity sensitivity) const = 0;

  /// Whether the host calls the steps of a pass one by one, and waits in between.
  virtual bool steps_by_host() const { return false; }

  /// Enqueues one pass on `exec`; does not wait, unless the host calls its steps.
  virtual void run(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const = 0;
};

}  // namespace elaphos::impl

#endif
