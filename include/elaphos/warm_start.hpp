// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_WARM_START_HPP
#define ELAPHOS_WARM_START_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos {

namespace impl {

/// Nodes (N, B, D) of an earlier solve; none when `segments` is 0.
template <class Scalar>
struct StoredNodes {
  const Scalar* data = nullptr;
  std::int64_t segments = 0;
  std::int64_t steps_per_segment = 0;
};

}  // namespace impl

/// \brief The nodes of a solve, as the guess of the next one: training steps and parameter sweeps change little at a
/// time.
///
/// Keeps N * B * D numbers and outlives calls. The next solve may cut time otherwise: each node then starts from the
/// kept one nearest in time; a solve in one segment has none to keep. With another batch or state size what is kept is
/// of no use and the solve starts cold. An answer that is not finite somewhere is a guess nevertheless: such nodes
/// count as y_0. It must go before Kokkos is finalized.
template <class ExecutionSpace, class Scalar>
class WarmStart {
 public:
  WarmStart() = default;
  // Copies would share their numbers.
  WarmStart(const WarmStart&) = delete;
  WarmStart& operator=(const WarmStart&) = delete;
  WarmStart(WarmStart&&) = default;
  WarmStart& operator=(WarmStart&&) = default;

  /// \brief Whether there is nothing to start from.
  bool empty() const { return m_stored.segments == 0; }
  /// \brief Forgets what is kept.
  void clear() { *this = WarmStart(); }
  /// \brief Bytes held at present.
  std::size_t bytes() const { return m_nodes.span() * sizeof(Scalar); }

  /// Not for callers: what is kept for a problem of this batch and state size.
  impl::StoredNodes<Scalar> stored_for(std::int64_t batch, int state_size) const {
    return batch == m_batch && state_size == m_state_size ? m_stored : impl::StoredNodes<Scalar>();
  }
  /// Not for callers: room for the nodes of a solve, which are then the ones kept.
  Scalar* keep(const ExecutionSpace& exec, std::int64_t segments, std::int64_t steps_per_segment, std::int64_t batch,
               int state_size) {
    const std::size_t count = static_cast<std::size_t>(segments * batch) * static_cast<std::size_t>(state_size);
    if (m_nodes.extent(0) < count) {
      m_stored = {};  // nothing is kept if there is no memory
      m_nodes = Nodes();
      m_nodes = Nodes(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "Elaphos::warm_start"), count);
    }
    m_stored = {m_nodes.data(), segments, steps_per_segment};
    m_batch = batch;
    m_state_size = state_size;
    return m_nodes.data();
  }

 private:
  using Nodes = Kokkos::View<Scalar*, typename ExecutionSpace::memory_space>;
  Nodes m_nodes;
  impl::StoredNodes<Scalar> m_stored;
  std::int64_t m_batch = 0;
  int m_state_size = 0;
};

}  // namespace elaphos

#endif
