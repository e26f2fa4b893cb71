// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_PHASE_CLOCK_HPP
#define ELAPHOS_SRC_SOLVER_PHASE_CLOCK_HPP

#include <elaphos/report.hpp>

#include <Kokkos_Core.hpp>

#include <optional>

namespace elaphos::impl {

/// Seconds by phase. Fences the caller's instance around each phase, and only when time was asked for.
template <class ExecutionSpace>
class PhaseClock {
 public:
  PhaseClock(const ExecutionSpace& exec, bool enabled) : m_exec(exec) {
    if (enabled) m_seconds.emplace();
  }

  void start() {
    if (!m_seconds) return;
    m_exec.fence("Elaphos::measure_time");
    m_timer.reset();
  }

  /// Adds the time since the last start or stop to a phase.
  void stop(double PhaseSeconds::* phase) {
    if (!m_seconds) return;
    m_exec.fence("Elaphos::measure_time");
    (*m_seconds).*phase += m_timer.seconds();
    m_timer.reset();
  }

  const std::optional<PhaseSeconds>& seconds() const { return m_seconds; }

 private:
  const ExecutionSpace& m_exec;
  Kokkos::Timer m_timer;
  std::optional<PhaseSeconds> m_seconds;
};

}  // namespace elaphos::impl

#endif
