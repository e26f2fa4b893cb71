// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_EMULATED_TEAM_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_EMULATED_TEAM_HPP

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

// A device's team, made of a host's threads: ranks, barriers and scratch memory are real, so that kernels written for
// devices run where there are none. Warps are not: their instructions are replaced as they are elsewhere.
namespace test {

class EmulatedTeam {
 public:
  struct Scratch {
    std::byte* memory;
    void* get_shmem_aligned(std::size_t, int) const { return memory; }
  };

  EmulatedTeam(int league_rank, int team_rank, std::barrier<>& barrier, std::byte* memory)
      : m_league_rank(league_rank), m_team_rank(team_rank), m_barrier(&barrier), m_scratch{memory} {}

  int league_rank() const { return m_league_rank; }
  int team_rank() const { return m_team_rank; }
  const Scratch& team_shmem() const { return m_scratch; }
  void team_barrier() const { m_barrier->arrive_and_wait(); }

 private:
  int m_league_rank, m_team_rank;
  std::barrier<>* m_barrier;
  Scratch m_scratch;
};

/// Runs a kernel's teams one after another, on scratch memory that holds rubbish.
template <class Kernel>
void run_on_emulated_teams(const Kernel& kernel) {
  constexpr std::size_t alignment = 16;
  for (int league_rank = 0; league_rank < kernel.teams(); ++league_rank) {
    std::vector<std::byte> memory(Kernel::scratch_bytes + alignment, std::byte(0xff));
    const std::size_t over = reinterpret_cast<std::uintptr_t>(memory.data()) % alignment;
    std::byte* const scratch = memory.data() + (alignment - over);
    std::barrier<> barrier(Kernel::team_size);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < Kernel::team_size; ++rank) {
      threads.emplace_back([&, rank] { kernel(EmulatedTeam(league_rank, rank, barrier, scratch)); });
    }
  }
}

}  // namespace test

#endif
