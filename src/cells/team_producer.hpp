// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_TEAM_PRODUCER_HPP
#define ELAPHOS_SRC_CELLS_TEAM_PRODUCER_HPP

#include "team_input.hpp"

#include <elaphos/impl/segment_arguments.hpp>
#include <elaphos/impl/warp.hpp>

#include <cstdint>

namespace elaphos::impl {

// Warps share the work on a segment: some make steps, which wait for one another; the others make the input parts of
// the steps to come, which wait for memory. A barrier of the team hands a tile over.

/// What the warps that make steps take tiles from, which others make or they make themselves.
template <class Kernel, class Input>
class TileSource {
  using Member = typename Kernel::Member;

 public:
  KOKKOS_FORCEINLINE_FUNCTION TileSource(const Member& member, const Input& input) : m_member(member), m_input(input) {}

  /// The tile that begins at step t is there.
  template <class Sync>
  KOKKOS_FORCEINLINE_FUNCTION void take([[maybe_unused]] std::int64_t sequence, [[maybe_unused]] std::int64_t t,
                                        [[maybe_unused]] std::int64_t end, [[maybe_unused]] const Sync& sync) {
    if constexpr (Kernel::produced) {
      m_member.team_barrier();
      m_slot = 1 - m_slot;
    } else {
      m_input.make(0, sequence, t, end, sync);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void read(int step, typename Kernel::Scalar (&input)[Input::gates]) const {
    m_input.read(Kernel::produced ? m_slot : 0, step, input);
  }

  /// No more tiles are wanted; `more`: there would be some. All lanes call it.
  KOKKOS_FORCEINLINE_FUNCTION void stop([[maybe_unused]] bool more) const {
    if constexpr (Kernel::produced) {
      if (!more) return;
      // Of the tile behind the one in use, whose flag its makers may be reading.
      if (m_input.lane == 0) reinterpret_cast<int*>(m_input.scratch + Input::stop)[1 - m_slot] = 1;
      m_member.team_barrier();
    }
  }

 private:
  const Member& m_member;
  const Input& m_input;
  int m_slot = 1;
};

/// The warps that make tiles. The next tile's inputs are on their way from memory while one is made.
template <class Kernel, class Input>
class TeamProducer {
  using Member = typename Kernel::Member;
  using Scalar = typename Kernel::Scalar;

 public:
  KOKKOS_FORCEINLINE_FUNCTION TeamProducer(const Member& member, const Input& input)
      : m_member(member), m_input(input) {}

  KOKKOS_FORCEINLINE_FUNCTION void run(const SegmentRange& range) const {
    volatile int* const stop = reinterpret_cast<int*>(m_input.scratch + Input::stop);
    const auto sync = [this] {
      if constexpr (Input::makers <= warp_size) {
        sync_warp(m_member);
      } else {
        sync_warps<2, Input::makers>(m_member);
      }
    };
    const bool staged = m_input.fits(), fetches = staged && m_input.lane < m_input.problem.inputs.sizes[0];
    if (m_input.lane < Input::tiles) stop[m_input.lane] = 0;
    Scalar x[Input::steps];
    if (fetches) m_input.fetch(0, m_input.lane, range.sequence, range.begin, range.end, x);
    int slot = 0;
    for (std::int64_t t = range.begin; t < range.end; t += Input::steps) {
      if (staged) {
        if (fetches) m_input.put(m_input.lane, x);
        sync();
        const std::int64_t next = t + Input::steps;
        if (fetches && next < range.end) m_input.fetch(0, m_input.lane, range.sequence, next, range.end, x);
        m_input.make_staged(slot);
      } else {
        m_input.make(slot, range.sequence, t, range.end, sync);
      }
      m_member.team_barrier();
      if (stop[slot] != 0) return;
      slot = 1 - slot;
    }
  }

 private:
  const Member& m_member;
  const Input& m_input;
};

}  // namespace elaphos::impl

#endif
