// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_TEAM_SCRATCH_HPP
#define ELAPHOS_IMPL_TEAM_SCRATCH_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace elaphos::impl {

/// `bytes` of a team's scratch memory (level 0), aligned for packs. A device's compiler is told that they are in
/// shared memory: what it takes for memory of any kind it reads with longer addresses and later.
template <class Value, class Member>
KOKKOS_FORCEINLINE_FUNCTION Value* scratch_of(const Member& member, std::size_t bytes) {
  auto* const taken = static_cast<Value*>(member.team_shmem().get_shmem_aligned(bytes, 16));
#if defined(__CUDA_ARCH__)
  __builtin_assume(__isShared(taken));
#endif
  return taken;
}

/// A team's scratch memory, of which its parts take theirs one after another, aligned for packs. Kokkos is asked once:
/// its own way to take a part is some hundred instructions long, which a kernel's every first team waits for.
class TeamScratch {
 public:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION explicit TeamScratch(const Member& member)
      : m_next(static_cast<unsigned char*>(member.team_shmem().get_shmem_aligned(std::size_t(16), 16))) {}

  template <class Value>
  KOKKOS_FORCEINLINE_FUNCTION Value* take(std::size_t count) const {
    auto* const taken = reinterpret_cast<Value*>(m_next);
    m_next += (count * sizeof(Value) + alignment - 1) / alignment * alignment;
    return taken;
  }

 private:
  static constexpr std::size_t alignment = 16;
  mutable unsigned char* m_next;
};

}  // namespace elaphos::impl

#endif
