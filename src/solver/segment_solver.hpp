// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_SEGMENT_SOLVER_HPP
#define ELAPHOS_SRC_SOLVER_SEGMENT_SOLVER_HPP

#include "damped_scan.hpp"
#include "growth.hpp"
#include "phase_clock.hpp"
#include "segment_kernels.hpp"

#include <elaphos/impl/solve_segments.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace elaphos::impl {

/// One solve: plan -> propagate -> correct -> report, on the caller's instance, with one wait per pass.
template <class ExecutionSpace, class Scalar>
class SegmentSolver {
 public:
  SegmentSolver(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                const Problem<Scalar>& problem, const SolveOptions& options, const Plan& plan,
                const std::vector<Plan>& escalations, Workspace<ExecutionSpace>& workspace,
                WarmStart<ExecutionSpace, Scalar>* warm_start)
      : m_exec(exec),
        m_options(options),
        m_escalations(escalations),
        m_warm_start(warm_start),
        m_clock(exec, options.measure_time),
        m_kernels(exec, propagator, problem, options, plan, workspace, Decisions::host),
        m_workers(propagator.parallel_workers(exec)) {
    m_report.status = SolveStatus::running;
    m_report.plan = plan;
    m_report.steps = problem.steps;
    m_report.total_steps = problem.steps * problem.batch;
    if (plan.damped) keep_damping();
  }

  SolveReport run() {
    StoredNodes<Scalar> stored;
    const Problem<Scalar>& problem = m_kernels.problem();
    if (m_warm_start != nullptr) stored = m_warm_start->stored_for(problem.batch, problem.state_size);
    m_kernels.start(m_options.initial_guess, stored);
    if (two_passes_are_sure()) first_two_passes();
    while (!m_finished) {
      propagate_and_correct();
      observe();
    }
    if (m_completing) complete();
    if (m_warm_start != nullptr && !m_kernels.is_loop()) keep_nodes(*m_warm_start);
    find_non_finite();
    if (m_options.estimate_growth) estimate_growth();
    if (m_options.verify) verify();
    m_report.seconds = m_clock.seconds();
    return std::move(m_report);
  }

 private:
  // More would let a pass cost little of the loop, and may need a few to see what long memories do.
  static constexpr std::int64_t most_probing_workers = 8;
  static constexpr int damped_passes_a_doubling = 16;
  static constexpr double patience = 4;  // passes
  using Sequences = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;

  void keep_damping() {
    m_damping = reserve_damping<Scalar>(m_kernels);
    const std::int64_t batch = m_kernels.problem().batch;
    std::int32_t* const is_near =
        m_kernels.template reserve<std::int32_t>(Buffer::is_near, static_cast<std::size_t>(batch));
    m_kernels.nodes().is_near = is_near;
    m_kernels.for_each("Elaphos::start_damping", batch, ClearFlags{is_near});
  }

  void scan() {
    if (!m_report.plan.damped || m_near || m_kernels.is_loop()) {
      m_kernels.scan();
      m_damping.adapt = false;
      return;
    }
    scan_nodes_damped<ExecutionSpace>(m_exec, m_kernels.nodes(), m_damping);
    m_damping.adapt = true;
    if (m_report.iterations() % damped_passes_a_doubling == damped_passes_a_doubling - 1) m_damping.reach *= 2;
  }

  void propagate_and_correct() {
    Kokkos::Profiling::ScopedRegion region("Elaphos::pass");
    m_clock.start();
    m_kernels.propagate();
    m_clock.stop(&PhaseSeconds::propagate);
    clamp_sensitivities();
    m_kernels.find_frontier();
    scan();
    m_kernels.correct();
    const Tally tally = m_kernels.read_tally();
    m_clock.stop(&PhaseSeconds::correct);
    take(tally);
  }

  // Whether nothing is decided after a first pass but that all segments whose node has moved are run again.
  bool two_passes_are_sure() const {
    const bool exact = m_report.plan.merge == Merge::exact && m_kernels.segments().sensitivity == Sensitivity::none;
    return !runs_on_host<ExecutionSpace> && exact && !m_kernels.is_loop() && !m_kernels.steps_by_host() &&
           !m_options.observer && !m_options.measure_time && m_options.max_iterations > 1;
  }

  // Both are enqueued before either is looked at: a device waits some ten microseconds for the host's next word.
  void first_two_passes() {
    for (const int pass : {0, 1}) {
      Kokkos::Profiling::ScopedRegion region("Elaphos::pass");
      m_kernels.count_on_device(pass > 0);
      m_kernels.propagate();
      m_kernels.find_frontier();
      m_kernels.correct(pass);
    }
    m_kernels.count_on_device(false);
    take(m_kernels.read_tally(0));
    if (!m_finished) take(m_kernels.read_tally(1));
  }

  // A pass is over.
  void take(const Tally& tally) {
    PassReport pass;
    pass.active_segments = m_kernels.segments().active_count;
    pass.steps = tally.steps;
    pass.longest_run = tally.longest_run;
    pass.max_correction = tally.correction;
    m_report.passes.push_back(pass);
    m_kernels.segments().active_count = tally.active;
    m_non_finite_ends = tally.non_finite;
    judge(tally);
    m_scaled_before = tally.scaled;
  }

  void clamp_sensitivities() {
    const SegmentArguments<Scalar>& segments = m_kernels.segments();
    if (std::isinf(m_options.sensitivity_limit) || segments.sensitivity == Sensitivity::none || m_kernels.is_loop())
      return;
    const int D = segments.problem.state_size;
    const int entries = D * (segments.sensitivity == Sensitivity::dense ? D : m_kernels.nodes().blocks.size);
    m_report.clamped += m_kernels.reduce_and_wait(
        "Elaphos::clamp_sensitivities", segments.active_count * entries,
        ClampSensitivities<Scalar>{m_kernels.nodes(), entries, static_cast<Scalar>(m_options.sensitivity_limit)});
  }

  // Decides how the solve goes on after a pass.
  void judge(const Tally& tally) {
    m_report.max_residual = tally.residual;
    m_report.error_estimate = tally.correction;
    m_report.clipped += tally.clipped;
    // A damped correction is small whatever the error. So near the solution none is damped, and the last one counts.
    const bool judged = m_kernels.segments().sensitivity != Sensitivity::none && tally.clipped == 0 &&
                        (!m_report.plan.damped || m_near);
    const bool within_tolerance = m_report.plan.merge == Merge::tolerance && tally.scaled <= 1 && judged;
    m_near = tally.scaled <= 1;
    if (tally.active == 0 || within_tolerance) {
      m_finished = true;
      m_report.status = SolveStatus::converged;
      return;
    }
    if (m_report.iterations() == 1 && a_probe_pays()) return probe();
    if (const std::int64_t factor = longer_by(tally); factor > 1) return lengthen(factor);
    m_report.stalled = stalled(tally);
    if (m_report.stalled || m_report.iterations() >= m_options.max_iterations) {
      m_finished = true;
      m_completing = m_options.at_limit == AtLimit::complete_sequentially;
      if (!m_completing) m_report.status = SolveStatus::iteration_limit;
      return;
    }
    const std::size_t escalated = m_report.escalations.size();
    if (escalated < m_escalations.size() && creeps(tally)) return go_on_with(m_escalations[escalated]);
    // Without sensitivities the corrections say nothing about errors that build up from segment to segment, so the
    // tolerance cannot be judged; once segments stop merging, it takes sensitivities to go on.
    if (m_report.plan.merge == Merge::tolerance && m_kernels.segments().sensitivity == Sensitivity::none &&
        m_report.iterations() > 1 && tally.reached_end > 0) {
      Plan with_diagonal = m_report.plan;
      with_diagonal.sensitivity = Sensitivity::diagonal;
      go_on_with(with_diagonal);
    }
  }

  // To a tolerance, by a method of the planner's choice: the corrections do not shrink, and at the frontier's pace the
  // passes would run out.
  bool creeps(const Tally& tally) const {
    constexpr std::size_t looked_back = 3;
    const std::size_t passes = m_report.passes.size();
    if (passes < passes_before_method() + 1 + looked_back) return false;
    const PassReport& before = m_report.passes[passes - 1 - looked_back];
    if (tally.correction < 0.5 * before.max_correction) return false;
    const double settled = static_cast<double>(before.active_segments - tally.active) / looked_back;
    return settled * (m_options.max_iterations - m_report.iterations()) < static_cast<double>(tally.active);
  }

  // Passes before the last change of plan, whose corrections say nothing of this one's.
  std::size_t passes_before_method() const {
    return m_report.escalations.empty() ? 0 : static_cast<std::size_t>(m_report.escalations.back().after);
  }

  void go_on_with(const Plan& plan) {
    m_report.escalations.push_back({m_report.iterations(), plan.segments, plan.sensitivity, plan.damped});
    m_report.plan = plan;
    m_kernels.carry(plan.sensitivity);
    if (plan.damped) keep_damping();
    m_kernels.segments().active_count =
        m_kernels.reduce_and_wait("Elaphos::restart_behind_frontier", m_kernels.count(),
                                  RestartBehindFrontier<Scalar>{m_kernels.nodes(), plan.damped});
    m_kernels.list_active();
  }

  // Exact merges of a plan of the planner's own: a memory too long for the passes that are left takes longer segments.
  std::int64_t longer_by(const Tally& tally) const {
    const bool planned = m_options.method == Method::automatic && m_options.segments == 0 &&
                         m_options.steps_per_segment == 0 && m_report.escalations.empty();
    if (!planned || !may_stall() || m_probing > 0 || m_report.iterations() < 2 || tally.scaled <= last_bits()) return 1;
    return lengthening(m_report.plan, m_report.steps, passes_to_last_bits(m_scaled_before, tally.scaled, last_bits()),
                       m_options.max_iterations - m_report.iterations());
  }

  void lengthen(std::int64_t factor) {
    m_kernels.lengthen(factor);
    Plan& plan = m_report.plan;
    plan.segments = m_kernels.segments().segments;
    plan.steps_per_segment = m_kernels.segments().steps_per_segment;
    m_report.escalations.push_back({m_report.iterations(), plan.segments, plan.sensitivity, plan.damped});
  }

  void observe() {
    if (!m_options.observer || m_options.observer(m_report)) return;
    if (m_report.status == SolveStatus::converged) return;
    m_finished = true;
    m_completing = m_report.stalled = false;
    m_report.status = SolveStatus::stopped;
  }

  // A few workers take several rounds for a pass. Before a second one, in which nothing may merge, a round tells.
  bool a_probe_pays() const {
    if (!runs_on_host<ExecutionSpace>) return false;
    return may_stall() && m_kernels.segments().sensitivity == Sensitivity::none && m_workers <= most_probing_workers &&
           m_kernels.segments().active_count > 2 * m_workers && m_options.max_iterations > 2;
  }

  void probe() {
    std::int64_t& active = m_kernels.segments().active_count;
    m_kernels.for_each("Elaphos::hold_back", active - m_workers, HoldBack<Scalar>{m_kernels.nodes(), m_workers});
    active = m_probing = m_workers;
  }

  bool may_stall() const {
    return m_options.stop_when_stalled && m_options.at_limit == AtLimit::complete_sequentially &&
           m_report.plan.merge == Merge::exact;
  }

  // Exact merges only. Wide states can go on flickering in their last bits for ever (rounding then revives as many
  // differences as contraction kills), and chaotic ones never meet. Either way only the frontier moves, and the passes
  // that are left at this pace are dearer than the loop.
  bool stalled(const Tally& tally) {
    const std::size_t passes = m_report.passes.size();
    if (!may_stall() || passes < passes_before_method() + 2) return false;
    // Without sensitivities a segment that does not merge has moved nothing but its successor.
    if (m_probing > 0 && passes == 2) return tally.reached_end == m_probing;
    // Either segments come to rest one after another, or differences shrink to nothing everywhere.
    const double active = static_cast<double>(tally.active);
    const double settled = static_cast<double>(m_report.passes.back().active_segments) - active;
    const double to_settle = settled > 0 ? active / settled : std::numeric_limits<double>::infinity();
    const double left = m_options.max_iterations - m_report.iterations();
    const double batch = static_cast<double>(m_kernels.problem().batch);
    const double workers = static_cast<double>(m_workers);
    // So many passes over all active segments cost as much as the loop.
    const double affordable = workers / std::min(batch, workers);
    // On average half of the active segments are run in each of these passes.
    if (to_settle <= left && to_settle / 2 <= affordable) return false;
    const bool shrinking = tally.correction < 0.5 * m_report.passes[passes - 2].max_correction;
    // Slow memories need some passes for the last bits, in which nothing is seen to gain: a tenth of the loop's cost.
    if (tally.scaled <= last_bits()) return ++m_flickers > std::min(patience, affordable / 10);
    if (!shrinking) return true;
    if (m_kernels.segments().sensitivity != Sensitivity::none) return false;
    const double to_shrink = passes_to_last_bits(m_scaled_before, tally.scaled, last_bits());
    return to_shrink > left || to_shrink > affordable;
  }

  // A difference so large, over the tolerance, may be rounding's: some ten units in the last place.
  double last_bits() const {
    const double relative = m_options.tolerance.value_or(Tolerance::default_for<Scalar>()).relative;
    return std::min(1.0, 64 * static_cast<double>(Kokkos::Experimental::epsilon_v<Scalar>) / relative);
  }

  // The sequential loop from each sequence's frontier: after it the answer is exact.
  void complete() {
    Kokkos::Profiling::ScopedRegion region("Elaphos::complete");
    m_clock.start();
    m_kernels.segments().active_count =
        m_kernels.reduce_and_wait("Elaphos::mark_completion", m_kernels.count(), MarkCompletion<Scalar>{m_kernels.nodes()});
    m_kernels.list_active();
    m_kernels.propagate(Pass::complete);
    m_kernels.tally_runs();
    const Tally tally = m_kernels.read_tally();
    m_clock.stop(&PhaseSeconds::complete);
    m_report.status = SolveStatus::completed_sequentially;
    m_report.completion_steps = tally.steps;
    m_non_finite_ends = tally.non_finite;
    m_report.longest_completion = tally.longest_run;
    m_report.max_residual = 0;
    m_report.error_estimate = 0;
  }

  void verify() {
    Kokkos::Profiling::ScopedRegion region("Elaphos::verify");
    m_clock.start();
    m_kernels.restart_all();
    m_kernels.propagate(Pass::verify);
    m_kernels.tally_runs();
    m_report.verified_residual = m_kernels.read_tally().residual;
    m_clock.stop(&PhaseSeconds::verify);
  }

  void keep_nodes(WarmStart<ExecutionSpace, Scalar>& warm_start) {
    const Problem<Scalar>& problem = m_kernels.problem();
    const Plan& plan = m_report.plan;
    Scalar* const kept =
        warm_start.keep(m_exec, plan.segments, plan.steps_per_segment, problem.batch, problem.state_size);
    m_kernels.for_each_segment(
        "Elaphos::keep_nodes",
        KeepNodes<Scalar>{m_kernels.nodes(), m_report.status == SolveStatus::completed_sequentially, kept});
  }

  void estimate_growth() {
    if (m_kernels.segments().sensitivity != Sensitivity::dense || m_kernels.is_loop() || m_completing) return;
    const std::size_t batch = static_cast<std::size_t>(m_kernels.problem().batch);
    const std::size_t D = static_cast<std::size_t>(m_kernels.problem().state_size);
    Scalar* const tangents = m_kernels.template reserve<Scalar>(Buffer::tangents, 2 * batch * D);
    double* const rates = m_kernels.template reserve<double>(Buffer::rates, batch);
    Kokkos::parallel_for("Elaphos::tangent_growth",
                         Kokkos::TeamPolicy<ExecutionSpace>(m_exec, static_cast<int>(batch), Kokkos::AUTO),
                         TangentGrowth<ExecutionSpace, Scalar>{m_kernels.nodes(), tangents, rates});
    double largest = 0;
    Kokkos::parallel_reduce("Elaphos::largest_rate", Sequences(m_exec, 0, static_cast<std::int64_t>(batch)),
                            LargestRate{rates}, Kokkos::Max<double>(largest));
    if (std::isfinite(largest)) m_report.growth_rate = largest;
  }

  void find_non_finite() {
    const Problem<Scalar>& problem = m_kernels.problem();
    if (m_non_finite_ends == 0) return;
    const std::int64_t first =
        m_kernels.reduce_and_wait("Elaphos::first_non_finite", problem.steps * problem.batch,
                                  FirstNonFinite<Scalar>{problem.y, problem.state_size});
    m_report.first_non_finite = NonFinite{first / problem.batch, first % problem.batch};
  }

  const ExecutionSpace& m_exec;
  const SolveOptions& m_options;
  const std::vector<Plan>& m_escalations;  // what is left to go on with, where passes no longer help
  WarmStart<ExecutionSpace, Scalar>* m_warm_start;
  PhaseClock<ExecutionSpace> m_clock;
  SegmentKernels<ExecutionSpace, Scalar> m_kernels;
  DampingState<Scalar> m_damping{};
  double m_scaled_before = 0;  // largest correction of the pass before, over its tolerance
  int m_flickers = 0;          // passes whose corrections were in the last bits, and that did not settle
  bool m_near = false;  // the last correction was within tolerance
  std::int64_t m_workers;
  std::int64_t m_probing = 0;  // segments of the second pass, where that is a probe
  std::int64_t m_non_finite_ends = 0;
  bool m_finished = false;
  bool m_completing = false;
  SolveReport m_report{};
};

/// All steps of a problem together.
template <class ExecutionSpace, class Scalar>
SolveReport solve_at_once(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                          const Problem<Scalar>& problem, const SolveOptions& options,
                          Workspace<ExecutionSpace>& workspace, WarmStart<ExecutionSpace, Scalar>* warm_start) {
  Kokkos::Profiling::ScopedRegion region("Elaphos::solve");
  const PlanRequest request = request_of(exec, propagator, problem.steps, problem.batch, problem.state_size);
  const Plan plan = make_plan(request, options);
  propagator.check_sensitivity(plan.sensitivity);
  if (problem.steps == 0 || problem.batch == 0) {
    SolveReport empty;
    empty.plan = plan;
    return empty;
  }
  const std::vector<Plan> further = escalations(request, options, plan);
  return SegmentSolver<ExecutionSpace, Scalar>(exec, propagator, problem, options, plan, further, workspace, warm_start)
      .run();
}

}  // namespace elaphos::impl

#endif
