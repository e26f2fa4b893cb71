// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_INTERLEAVED_KERNEL_HPP
#define ELAPHOS_IMPL_INTERLEAVED_KERNEL_HPP

#include <elaphos/impl/lockstep.hpp>
#include <elaphos/impl/merge_test.hpp>
#include <elaphos/impl/plain_step.hpp>
#include <elaphos/recurrence.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// Advances a few segments of a user's recurrence on one thread of a host, a step of each in turn: a processor begins one
/// segment's step while another's result is still on its way. No sensitivities; every step is the one compiled
/// `plain_step`, as in `LaneKernel`. Memory traffic I + D numbers a step, D more to merge.
template <Recurrence R>
struct InterleavedKernel {
  using Scalar = typename R::scalar_type;
  static constexpr int D = R::state_size;
  static constexpr int most = 4;  // segments: more would not fit in what a processor looks ahead

  R recurrence;
  const Scalar* parameters;
  SegmentArguments<Scalar> arguments;
  LockstepGroups groups;

  void operator()(std::int64_t group) const {
    const ActiveShare share = groups.share(arguments, group);
    Walker walkers[most];
    int running = 0;
    for (std::int64_t index = share.first; index < share.last; ++index) start(index, walkers[running++]);
    while (running > 0) {
      std::int64_t common = walkers[0].end - walkers[0].t;
      bool merging = false;
      for (int w = 0; w < running; ++w) {
        common = std::min(common, walkers[w].end - walkers[w].t);
        merging = merging || walkers[w].may_merge;
      }
      if (running == most && !merging) {
        for (std::int64_t s = 0; s < common; ++s) {
          for (int w = 0; w < most; ++w) advance(walkers[w]);
        }
      } else {
        for (int w = 0; w < running; ++w) advance(walkers[w]);
      }
      for (int w = 0; w < running;) {
        if (!ended(walkers[w])) {
          ++w;
          continue;
        }
        finish(walkers[w]);
        walkers[w] = walkers[--running];
      }
    }
  }

 private:
  struct Walker {
    Scalar state[2][D];  // the current one and the next change places
    int now;
    std::int64_t flat, sequence, begin, t, end;
    bool may_merge, merged;
    MergeTest<Scalar> test{SegmentRecord<Scalar>{}, Merge::exact};
  };

  void start(std::int64_t index, Walker& walker) const {
    const SegmentRange range = segment_range(arguments, index);
    walker.flat = range.flat;
    walker.sequence = range.sequence;
    walker.begin = walker.t = range.begin;
    walker.end = range.end;
    walker.now = 0;
    walker.merged = false;
    walker.test = MergeTest<Scalar>(arguments.records[range.flat], arguments.merge);
    walker.may_merge = arguments.pass == Pass::propagate && walker.test.possible();
    for (int i = 0; i < D; ++i) walker.state[0][i] = arguments.nodes[range.flat * D + i];
  }

  static bool ended(const Walker& walker) { return walker.merged || walker.t == walker.end; }

  void advance(Walker& walker) const {
    const Problem<Scalar>& problem = arguments.problem;
    const std::int64_t entry = walker.t * problem.batch + walker.sequence;
    Scalar* next = walker.state[1 - walker.now];
    plain_step(recurrence, StepContext{problem.first_step + walker.t, walker.sequence}, walker.state[walker.now],
               problem.inputs.row(0, entry), parameters, next);
    Scalar* y = problem.y + entry * D;
    if (walker.may_merge) {
      StateDifference<Scalar> difference;
      for (int i = 0; i < D; ++i) {
        difference.add(next[i], y[i], arguments.absolute_tolerance, arguments.relative_tolerance);
      }
      walker.merged = walker.test.merged(difference);
    }
    // At a merge the stored state stays, so that the jump lies between two neighbouring steps.
    if (!walker.merged) {
      for (int i = 0; i < D; ++i) y[i] = next[i];
    }
    walker.now = 1 - walker.now;
    ++walker.t;
  }

  void finish(const Walker& walker) const {
    record_run(arguments.records[walker.flat], walker.t - walker.begin, walker.merged,
               walker.merged ? walker.test.jump() : Scalar(0), infinite<Scalar>());
  }
};

}  // namespace elaphos::impl

#endif
