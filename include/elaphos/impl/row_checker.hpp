// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_ROW_CHECKER_HPP
#define ELAPHOS_IMPL_ROW_CHECKER_HPP

#include <elaphos/impl/batched_propagator.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace elaphos {

/// \brief What `check_recurrence` has found.
struct RecurrenceCheck {
  bool passed = true;
  std::int64_t evaluations = 0;  ///< rows that were evaluated
  StepContext first{-1, -1};     ///< the first step found whose bits differ; (-1, -1) where all passed
  std::string message{};         ///< what differs and when, for people; empty where all passed
};

namespace impl {

/// Evaluates random steps of a trajectory in batches of different make-up and compares their bits.
template <class ExecutionSpace, class R>
class RowChecker {
 public:
  using Scalar = typename R::scalar_type;

  RowChecker(const ExecutionSpace& exec, const R& recurrence, const Problem<Scalar>& problem, int samples,
             std::uint64_t seed)
      : m_exec(exec), m_recurrence(recurrence), m_generator(seed), m_state_size(std::size_t(problem.state_size)) {
    m_arguments.problem = problem;
    m_arguments.pass = Pass::verify;  // states come from the trajectory
    const std::int64_t entries = problem.steps * problem.batch;
    if (entries == 0) return;
    for (int i = 0; i < samples; ++i) {
      const std::int64_t entry = below(entries);
      m_samples.push_back({entry / problem.batch, entry % problem.batch});
    }
    m_batch = reserve_rows(exec, problem, samples, m_workspace);
  }

  RecurrenceCheck run() {
    if (m_samples.empty()) return m_check;
    std::vector<std::size_t> order(m_samples.size());
    std::iota(order.begin(), order.end(), std::size_t(0));
    for (const std::size_t sample : order) {
      const std::vector<Scalar> next = evaluate({sample}, std::numeric_limits<Scalar>::quiet_NaN());
      m_alone.insert(m_alone.end(), next.begin(), next.end());
    }
    in_batches_of(1, order);
    for (const std::size_t size : {2, 3, 7, 16, 33, 100}) {
      shuffle(order);
      in_batches_of(size, order);
    }
    shuffle(order);
    in_batches_of(order.size(), order);
    in_batches_of(order.size(), std::vector<std::size_t>(order.size(), order[0]));
    if constexpr (BatchedRecurrenceWithDiagonal<R, ExecutionSpace>) {
      m_batch.tangents =
          reserve_tangents<ExecutionSpace, Scalar>(m_exec, static_cast<std::int64_t>(order.size()),
                                                   m_arguments.problem.state_size, m_workspace);
      m_with_diagonal = true;
      in_batches_of(order.size(), order);
    }
    return std::move(m_check);
  }

 private:
  std::int64_t below(std::int64_t limit) {
    return static_cast<std::int64_t>(m_generator() % static_cast<std::uint64_t>(limit));
  }

  void shuffle(std::vector<std::size_t>& order) {
    for (std::size_t left = order.size(); left > 1; --left) {
      std::swap(order[left - 1], order[static_cast<std::size_t>(below(static_cast<std::int64_t>(left)))]);
    }
  }

  void in_batches_of(std::size_t size, const std::vector<std::size_t>& order) {
    for (std::size_t first = 0; first < order.size() && m_check.passed; first += size) {
      const std::size_t end = std::min(first + size, order.size());
      const std::vector<std::size_t> rows(order.begin() + static_cast<std::ptrdiff_t>(first),
                                          order.begin() + static_cast<std::ptrdiff_t>(end));
      compare(rows, evaluate(rows, Scalar(0)));
    }
  }

  // The next states of these samples as one batch. What `next` holds before must not matter.
  std::vector<Scalar> evaluate(const std::vector<std::size_t>& samples, Scalar before) {
    using Host = Kokkos::HostSpace;
    using Memory = typename ExecutionSpace::memory_space;
    const Problem<Scalar>& problem = m_arguments.problem;
    std::vector<BatchRow> rows;
    for (const std::size_t sample : samples) {
      const StepContext at = m_samples[sample];
      rows.push_back({{0, at.b, at.t, at.t + 1}, at.t, 0, 1, 1});
    }
    const Kokkos::View<BatchRow*, Host, Kokkos::MemoryUnmanaged> rows_here(rows.data(), rows.size());
    const Kokkos::View<BatchRow*, Memory, Kokkos::MemoryUnmanaged> rows_there(m_batch.rows, rows.size());
    Kokkos::deep_copy(m_exec, rows_there, rows_here);
    std::vector<Scalar> next(rows.size() * m_state_size);
    const Kokkos::View<Scalar*, Host, Kokkos::MemoryUnmanaged> next_here(next.data(), next.size());
    const Kokkos::View<Scalar*, Memory, Kokkos::MemoryUnmanaged> next_there(m_batch.next, next.size());
    Kokkos::deep_copy(m_exec, next_there, before);

    const std::int64_t count = static_cast<std::int64_t>(rows.size());
    for_each_row("Elaphos::gather_rows", m_exec, count, problem.state_size,
                 GatherRows<ExecutionSpace, Scalar>{m_arguments, m_batch});
    evaluate_rows(m_exec, m_recurrence, problem, m_batch, count);
    Kokkos::deep_copy(m_exec, next_here, next_there);
    m_exec.fence("Elaphos::read_rows");
    m_check.evaluations += count;
    return next;
  }

  void compare(const std::vector<std::size_t>& samples, const std::vector<Scalar>& next) {
    for (std::size_t row = 0; row < samples.size(); ++row) {
      for (std::size_t i = 0; i < m_state_size; ++i) {
        const Scalar now = next[row * m_state_size + i], alone = m_alone[samples[row] * m_state_size + i];
        if (std::memcmp(&now, &alone, sizeof(Scalar)) == 0) continue;
        m_check.passed = false;
        m_check.first = m_samples[samples[row]];
        m_check.message = message(row, samples.size(), i, now, alone);
        return;
      }
    }
  }

  std::string message(std::size_t row, std::size_t rows, std::size_t i, Scalar now, Scalar alone) const {
    std::ostringstream out;
    out.precision(std::numeric_limits<Scalar>::max_digits10);
    out << "step " << m_check.first.t << " of sequence " << m_check.first.b << ": state " << i << " is " << alone
        << " evaluated alone, and " << now;
    if (m_with_diagonal) {
      out << " by step_with_diagonal: it is to make the bits of step";
    } else if (rows == 1) {
      out << " a second time: the step reads what earlier calls have left, or does not write all of next";
    } else {
      out << " as row " << row << " of a batch of " << rows
          << ": the step's bits depend on the number of rows, on the row's place, or on the other rows";
    }
    return out.str();
  }

  const ExecutionSpace& m_exec;
  const R& m_recurrence;
  std::mt19937_64 m_generator;
  std::size_t m_state_size;
  Workspace<ExecutionSpace> m_workspace{};
  SegmentArguments<Scalar> m_arguments{};
  BatchRows<Scalar> m_batch{};
  std::vector<StepContext> m_samples{};
  std::vector<Scalar> m_alone{};  // (samples, D)
  RecurrenceCheck m_check{};
  bool m_with_diagonal = false;
};

}  // namespace impl

}  // namespace elaphos

#endif
