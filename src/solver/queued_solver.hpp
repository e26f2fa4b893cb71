// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_QUEUED_SOLVER_HPP
#define ELAPHOS_SRC_SOLVER_QUEUED_SOLVER_HPP

#include "segment_kernels.hpp"

#include <elaphos/impl/enqueue_segments.hpp>

#include <Kokkos_Profiling_ScopedRegion.hpp>

#include <cstdint>

namespace elaphos::impl {

/// How far an enqueued solve is: what the host's solver keeps in variables, and kernels read here.
struct QueuedProgress {
  std::int64_t active;        ///< segments to advance in the next pass
  std::int64_t first_non_finite;
  std::int32_t finished;
};

struct StartProgress {
  QueuedProgress* progress;
  QueuedReport* report;
  std::int64_t segments;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    *progress = {segments, nowhere, 0};
    *report = QueuedReport{};
  }
};

/// After each pass: adds it to the report, and decides whether it was the last one needed.
struct JudgePass {
  const Tally* tally;
  QueuedProgress* progress;
  QueuedReport* report;
  bool tolerance_counts;  ///< there are sensitivities to judge a tolerance by

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    if (progress->finished != 0) return;
    ++report->iterations;
    report->steps_evaluated += tally->steps;
    report->critical_path += tally->longest_run;
    report->max_residual = tally->residual;
    report->error_estimate = tally->correction;
    progress->active = tally->active;
    if (tally->active > 0 && !(tolerance_counts && tally->clipped == 0 && tally->scaled <= 1)) return;
    progress->finished = 1;
    progress->active = 0;
    report->status = SolveStatus::converged;
  }
};

/// `MarkCompletion`, where there is anything left to complete.
template <class Scalar>
struct MarkUnlessFinished {
  using value_type = std::int64_t;
  MarkCompletion<Scalar> mark;
  const QueuedProgress* progress;

  KOKKOS_FUNCTION void operator()(std::int64_t flat, std::int64_t& unfinished) const {
    if (progress->finished != 0) {
      mark.nodes.active_flags[flat] = Activity::at_rest;
    } else {
      mark(flat, unfinished);
    }
  }
};

struct JudgeCompletion {
  const Tally* tally;
  const QueuedProgress* progress;
  QueuedReport* report;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    if (progress->finished != 0) return;
    report->status = SolveStatus::completed_sequentially;
    report->steps_evaluated += tally->steps;
    report->completion_steps = tally->steps;
    report->critical_path += tally->longest_run;
    report->max_residual = report->error_estimate = 0;
  }
};

/// The last kernel of an enqueued solve.
struct EndReport {
  const QueuedProgress* progress;
  const Tally* verified;  ///< null where the residual was not measured
  QueuedReport* report;
  std::int64_t batch;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    const std::int64_t first = progress->first_non_finite;
    if (first != nowhere) report->first_non_finite = {first / batch, first % batch};
    if (verified != nullptr) report->verified_residual = verified->residual;
    if (report->status == SolveStatus::running) report->status = SolveStatus::iteration_limit;
  }
};

struct EmptyReport {
  QueuedReport* report;

  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    *report = QueuedReport{};
    report->status = SolveStatus::converged;
  }
};

/// One solve whose decisions are made by kernels, so that the host need not wait: every pass is launched, and finds
/// nothing to do when the ones before it were enough. Such a pass costs its launches, five to eight kernels.
template <class ExecutionSpace, class Scalar>
class QueuedSolver {
 public:
  QueuedSolver(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
               const Problem<Scalar>& problem, const SolveOptions& options, const Plan& plan,
               Workspace<ExecutionSpace>& workspace, QueuedReport* report)
      : m_options(options), m_kernels(exec, propagator, problem, options, plan, workspace, Decisions::device), m_report(report) {
    m_progress = m_kernels.template reserve<QueuedProgress>(Buffer::progress, 1);
    m_passes = m_kernels.is_loop() ? 1 : options.max_iterations;
  }

  void run() {
    m_kernels.start(m_options.initial_guess, {});
    once("Elaphos::start_progress", StartProgress{m_progress, m_report, m_kernels.count()});
    SegmentArguments<Scalar>& segments = m_kernels.segments();
    segments.active_on_device = &m_progress->active;
    const bool tolerance_counts = segments.merge == Merge::tolerance && segments.sensitivity != Sensitivity::none;
    for (int pass = 0; pass < m_passes; ++pass) {
      Kokkos::Profiling::ScopedRegion region("Elaphos::pass");
      m_kernels.propagate();
      m_kernels.find_frontier();
      m_kernels.scan();
      m_kernels.correct();
      once("Elaphos::judge_pass", JudgePass{m_kernels.tally(), m_progress, m_report, tolerance_counts});
    }
    if (m_options.at_limit == AtLimit::complete_sequentially && !m_kernels.is_loop()) complete();
    find_non_finite();
    if (m_options.verify) verify();
    once("Elaphos::end_report", EndReport{m_progress, m_options.verify ? m_kernels.tally() : nullptr, m_report,
                                          m_kernels.problem().batch});
  }

 private:
  template <class Kernel>
  void once(const char* label, const Kernel& kernel) const {
    m_kernels.for_each(label, 1, kernel);
  }

  void complete() {
    Kokkos::Profiling::ScopedRegion region("Elaphos::complete");
    m_kernels.reduce("Elaphos::mark_completion", m_kernels.count(),
                     MarkUnlessFinished<Scalar>{{m_kernels.nodes()}, m_progress}, &m_progress->active);
    m_kernels.list_active();
    m_kernels.propagate(Pass::complete);
    m_kernels.tally_runs();
    once("Elaphos::judge_completion", JudgeCompletion{m_kernels.tally(), m_progress, m_report});
  }

  // All of y is searched: whether an end is not finite is not known here.
  void find_non_finite() {
    const Problem<Scalar>& problem = m_kernels.problem();
    m_kernels.reduce("Elaphos::first_non_finite", problem.steps * problem.batch,
                     FirstNonFinite<Scalar>{problem.y, problem.state_size}, &m_progress->first_non_finite);
  }

  void verify() {
    Kokkos::Profiling::ScopedRegion region("Elaphos::verify");
    m_kernels.restart_all();
    m_kernels.propagate(Pass::verify);
    m_kernels.tally_runs();
  }

  const SolveOptions& m_options;
  SegmentKernels<ExecutionSpace, Scalar> m_kernels;
  QueuedReport* m_report;
  QueuedProgress* m_progress = nullptr;
  int m_passes = 1;
};

template <class ExecutionSpace, class Scalar>
void enqueue_segments(const ExecutionSpace& exec, const Propagator<ExecutionSpace, Scalar>& propagator,
                      const Problem<Scalar>& problem, const SolveOptions& options,
                      Workspace<ExecutionSpace>& workspace, QueuedReport* report) {
  Kokkos::Profiling::ScopedRegion region("Elaphos::enqueue_solve");
  const Plan plan =
      make_plan(request_of(exec, propagator, problem.steps, problem.batch, problem.state_size), options);
  propagator.check_sensitivity(plan.sensitivity);
  check_queueable(options, propagator.steps_by_host());
  if (problem.steps == 0 || problem.batch == 0) {
    return Kokkos::parallel_for("Elaphos::empty_report", Kokkos::RangePolicy<ExecutionSpace>(exec, 0, 1),
                                EmptyReport{report});
  }
  QueuedSolver<ExecutionSpace, Scalar>(exec, propagator, problem, options, plan, workspace, report).run();
}

}  // namespace elaphos::impl

#endif
