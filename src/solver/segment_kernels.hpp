// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_SEGMENT_KERNELS_HPP
#define ELAPHOS_SRC_SOLVER_SEGMENT_KERNELS_HPP

#include "../execution_spaces.hpp"
#include "lengthening.hpp"
#include "little_work.hpp"
#include "node_scan.hpp"
#include "number_kernels.hpp"

#include <elaphos/impl/propagator.hpp>
#include <elaphos/impl/runs_on_host.hpp>
#include <elaphos/options.hpp>
#include <elaphos/plan.hpp>
#include <elaphos/workspace.hpp>

#include <cstdint>
#include <utility>

namespace elaphos::impl {

/// Who reads what a pass has come to.
enum class Decisions { host, device };

/// The kernels of a solve on the caller's instance, and their memory. Decides nothing, and waits only to read something
/// back: what follows upon what is a solver's business.
template <class ExecutionSpace, class Scalar>
class SegmentKernels {
 public:
  SegmentKernels(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                 const Problem<Scalar>& problem, const SolveOptions& options, const Plan& plan,
                 Workspace<ExecutionSpace>& workspace, Decisions read_by)
      : m_exec(exec),
        m_propagator(propagator),
        m_workspace(workspace),
        m_read_by(read_by),
        m_count(plan.segments * problem.batch) {
    const std::size_t segments = static_cast<std::size_t>(m_count);
    const std::size_t states = segments * static_cast<std::size_t>(problem.state_size);
    const Tolerance tolerance = options.tolerance.value_or(Tolerance::default_for<Scalar>());
    m_nodes.nodes = reserve<Scalar>(Buffer::nodes, states);
    const std::size_t batch = static_cast<std::size_t>(problem.batch);
    m_nodes.frontier = reserve<std::int64_t>(Buffer::frontier, 2 * batch + 1);
    m_nodes.next_frontier = m_nodes.frontier + batch;
    m_nodes.listed = m_nodes.next_frontier + batch;
    m_nodes.active = reserve<std::int64_t>(Buffer::active, segments);
    m_nodes.active_flags = reserve<std::int32_t>(Buffer::active_flags, segments);
    m_nodes.correction_limit = static_cast<Scalar>(options.correction_limit);
    m_tallies = read_by == Decisions::host ? workspace.template reserve_shared<Tally>(tallies_kept)
                                           : reserve<Tally>(Buffer::tallies, tallies_kept);
    m_nodes.segments = {problem,
                        plan.segments,
                        plan.steps_per_segment,
                        m_nodes.active,
                        m_count,
                        nullptr,
                        m_nodes.nodes,
                        nullptr,
                        reserve<SegmentRecord<Scalar>>(Buffer::records, segments),
                        Sensitivity::none,
                        plan.merge,
                        static_cast<Scalar>(tolerance.absolute),
                        static_cast<Scalar>(tolerance.relative),
                        Pass::propagate};
    carry(plan.sensitivity);
  }

  NodeArguments<Scalar>& nodes() { return m_nodes; }
  SegmentArguments<Scalar>& segments() { return m_nodes.segments; }
  const SegmentArguments<Scalar>& segments() const { return m_nodes.segments; }
  const Problem<Scalar>& problem() const { return m_nodes.segments.problem; }
  bool steps_by_host() const { return m_propagator.steps_by_host(); }
  bool is_loop() const { return m_nodes.segments.segments == 1; }
  /// N B.
  std::int64_t count() const { return m_count; }
  /// What the last `correct` or `tally_runs` counted, in the memory of whoever reads it.
  const Tally* tally() const { return m_tallies; }

  template <class T>
  T* reserve(Buffer which, std::size_t count) {
    return m_workspace.template reserve<T>(m_exec, which, count);
  }

  /// Reserves what a sensitivity needs; the segments' own products are not valid until they have been run again.
  void carry(Sensitivity sensitivity) {
    m_nodes.segments.sensitivity = sensitivity;
    if (sensitivity == Sensitivity::none || is_loop()) return;
    const std::size_t states = static_cast<std::size_t>(m_count) * static_cast<std::size_t>(problem().state_size);
    m_nodes.blocks = sensitivity == Sensitivity::block ? m_propagator.jacobian_blocks() : JacobianBlocks{1, 1};
    const int columns = sensitivity == Sensitivity::dense ? problem().state_size : m_nodes.blocks.size;
    m_nodes.segments.sensitivities = reserve<Scalar>(Buffer::sensitivities, states * static_cast<std::size_t>(columns));
    m_nodes.corrections = reserve<Scalar>(Buffer::corrections, states);
    m_nodes.scan_totals =
        reserve<Scalar>(Buffer::scan_totals,
                        node_scan_entries<Scalar>(sensitivity, m_nodes.blocks, m_nodes.segments.segments,
                                                  problem().batch, problem().state_size));
  }

  void start(InitialGuess guess, const StoredNodes<Scalar>& stored) {
    for_each_segment("Elaphos::start", StartFromGuess<Scalar>{m_nodes, guess, stored});
  }

  /// Joins every `factor` segments to one; all are to be run again.
  void lengthen(std::int64_t factor) {
    SegmentArguments<Scalar>& segments = m_nodes.segments;
    segments.segments = divide_up(segments.segments, factor);
    segments.steps_per_segment *= factor;
    segments.active_count = m_count = segments.segments * problem().batch;
    const Scalar* const shorter = m_nodes.nodes;
    m_nodes.nodes = reserve<Scalar>(Buffer::longer_nodes,
                                    static_cast<std::size_t>(m_count) * static_cast<std::size_t>(problem().state_size));
    segments.nodes = m_nodes.nodes;
    for_each_segment("Elaphos::lengthen_segments", LengthenSegments<Scalar>{m_nodes, shorter, factor});
  }

  void propagate(Pass pass = Pass::propagate) {
    m_nodes.segments.pass = pass;
    m_propagator.run(m_exec, m_nodes.segments);
  }

  void find_frontier() {
    std::swap(m_nodes.frontier, m_nodes.next_frontier);
    if (is_loop()) return;
    if constexpr (by_numbers) {
      for_each("Elaphos::find_frontier", m_count * problem().state_size, FindFrontierByNumbers<Scalar>{m_nodes});
    } else {
      for_each_segment("Elaphos::find_frontier", FindFrontier<Scalar>{m_nodes});
    }
  }

  /// For what `correct` adds to the ends; nothing without sensitivities.
  void scan() {
    if (!is_loop() && m_nodes.segments.sensitivity != Sensitivity::none) scan_nodes<ExecutionSpace>(m_exec, m_nodes);
  }

  void correct(int slot = 0) {
    if constexpr (by_numbers) {
      tally_by("Elaphos::correct_nodes", m_count * problem().state_size, CorrectNumbers<Scalar>{m_nodes}, slot);
    } else {
      tally_by("Elaphos::correct_nodes", m_count, CorrectNodes<Scalar>{m_nodes}, slot);
      if (!is_loop()) list_active();  // a loop is over after its one pass
    }
  }

  void list_active() {
    if (is_little_work<ExecutionSpace>(m_count)) {
      std::int64_t position = 0;
      return do_each(m_count, [&](std::int64_t flat) { ListActive<Scalar>{m_nodes}(flat, position, true); });
    }
    Kokkos::parallel_scan("Elaphos::list_active", Segments(m_exec, 0, m_count), ListActive<Scalar>{m_nodes});
  }

  void restart_all() {
    m_nodes.segments.active_count = m_count;
    m_nodes.segments.active_on_device = nullptr;
    for_each_segment("Elaphos::restart_all", RestartAll<Scalar>{m_nodes});
  }

  void tally_runs() { tally_by("Elaphos::tally_runs", m_count, TallyRuns<Scalar>{m_nodes}, 0); }

  /// Waits for what has been enqueued.
  const Tally& read_tally(int slot = 0) const {
    m_exec.fence("Elaphos::read_tally");
    return m_tallies[slot];
  }

  /// How many segments a device has listed, for passes that are enqueued before the host knows; back to the host's number.
  void count_on_device(bool yes) { m_nodes.segments.active_on_device = yes ? m_nodes.listed : nullptr; }

  template <class Kernel>
  void for_each_segment(const char* label, const Kernel& kernel) const {
    for_each(label, m_count, kernel);
  }

  template <class Kernel>
  void for_each(const char* label, std::int64_t range, const Kernel& kernel) const {
    if (is_little_work<ExecutionSpace>(range)) return do_each(range, kernel);
    Kokkos::parallel_for(label, Segments(m_exec, 0, range), kernel);
  }

  /// Leaves the result in `Space`.
  template <class Space = typename ExecutionSpace::memory_space, class Kernel, class Value>
  void reduce(const char* label, std::int64_t range, const Kernel& kernel, Value* result) const {
    if (is_little_work<ExecutionSpace>(range)) {
      *result = reduce_each<Value>(range, kernel);
      return;
    }
    Kokkos::View<Value, Space, Kokkos::MemoryUnmanaged> there(result);
    Kokkos::parallel_reduce(label, Segments(m_exec, 0, range), kernel, there);
  }

  /// Reduces to an integer, and waits for it.
  template <class Kernel>
  std::int64_t reduce_and_wait(const char* label, std::int64_t range, const Kernel& kernel) const {
    if (is_little_work<ExecutionSpace>(range)) return reduce_each<std::int64_t>(range, kernel);
    std::int64_t result = 0;
    Kokkos::parallel_reduce(label, Segments(m_exec, 0, range), kernel, result);
    return result;
  }

 private:
  template <class Kernel>
  void tally_by(const char* label, std::int64_t range, const Kernel& kernel, int slot) const {
    if (m_read_by == Decisions::host) {
      reduce<Kokkos::SharedHostPinnedSpace>(label, range, kernel, m_tallies + slot);
    } else {
      reduce(label, range, kernel, m_tallies + slot);
    }
  }

  static constexpr bool by_numbers = !runs_on_host<ExecutionSpace>;
  using Segments = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;

  const ExecutionSpace& m_exec;
  const Propagator<ExecutionSpace, Scalar>& m_propagator;
  Workspace<ExecutionSpace>& m_workspace;
  Decisions m_read_by;
  std::int64_t m_count;
  NodeArguments<Scalar> m_nodes{};
  static constexpr int tallies_kept = 2;  // of two passes at most, before they are read
  Tally* m_tallies = nullptr;
};

}  // namespace elaphos::impl

#endif
