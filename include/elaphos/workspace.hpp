// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_WORKSPACE_HPP
#define ELAPHOS_WORKSPACE_HPP

#include <Kokkos_Core.hpp>

#include <array>
#include <cstddef>

namespace elaphos {

namespace impl {

/// What the solvers keep between kernels; one buffer each.
enum class Buffer : std::size_t {
  nodes,
  longer_nodes,
  records,
  sensitivities,
  corrections,
  scan_totals,
  damping,
  is_near,
  tangents,
  rates,
  active,
  active_flags,
  frontier,
  tallies,
  progress,
  packed_weights,
  lane_weights,
  trajectory,
  window_entry,
  linear,
  sequence_starts,
  batch_numbers,
  batch_rows,
  batch_contexts,
  batch_merges,
  batch_tangents,
  batch_stretches,
  between,
  layer_output,
  layer_states,
  layer_reversed,
  layer_reversed_flags,
  layer_final_states,
  count
};

}  // namespace impl

/// \brief Memory that solves reuse: it grows when a solve needs more and never shrinks, so that a second solve of the
/// same size allocates nothing.
///
/// One workspace per solve in flight. It lives in the execution space's memory and must go before Kokkos is finalized.
template <class ExecutionSpace>
class Workspace {
 public:
  using execution_space = ExecutionSpace;
  using memory_space = typename ExecutionSpace::memory_space;

  /// \brief Bytes held at present.
  std::size_t bytes() const {
    std::size_t sum = m_shared.extent(0);
    for (const auto& buffer : m_buffers) sum += buffer.extent(0);
    return sum;
  }

  /// Not for callers: room for `count` numbers of type T in a buffer; what it held is lost when it has to grow.
  template <class T>
  T* reserve(const ExecutionSpace& exec, impl::Buffer which, std::size_t count) {
    Bytes& buffer = m_buffers[static_cast<std::size_t>(which)];
    const std::size_t needed = count * sizeof(T);
    if (buffer.extent(0) < needed) {
      // The old buffer goes first, so that the two never need room together.
      buffer = Bytes();
      buffer = Bytes(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "Elaphos::workspace"), needed);
    }
    return reinterpret_cast<T*>(buffer.data());
  }

  /// Not for callers: the same for records that kernels write and the host reads, without a copy in between.
  template <class T>
  T* reserve_shared(std::size_t count) {
    if (m_shared.extent(0) < count * sizeof(T)) m_shared = SharedBytes("Elaphos::workspace", count * sizeof(T));
    return reinterpret_cast<T*>(m_shared.data());
  }

 private:
  using Bytes = Kokkos::View<unsigned char*, memory_space>;
  using SharedBytes = Kokkos::View<unsigned char*, Kokkos::SharedHostPinnedSpace>;
  SharedBytes m_shared;
  std::array<Bytes, static_cast<std::size_t>(impl::Buffer::count)> m_buffers{};
};

}  // namespace elaphos

#endif
