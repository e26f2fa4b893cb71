// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_NUMBER_STORE_HPP
#define ELAPHOS_IMPL_LINEAR_NUMBER_STORE_HPP

#include <elaphos/impl/linear/number_loader.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

/// Scratch memory for the numbers of `slots` tiles of a NumberLoader: coefficients, and offsets that become states. A
/// warp puts them in as it has loaded them, a thread gets its run; for `rows` and `steps` that is the same, and nobody
/// else's. (The loader is passed, not kept: nvcc would leave both in memory.)
template <class Member, class Scalar, TileAccess access, int steps, int slots>
class NumberStore {
 public:
  using Loader = NumberLoader<Member, Scalar, access, steps>;
  using Line = typename Loader::Line;
  static constexpr bool staged = access == TileAccess::staged, line = access == TileAccess::line;
  /// Numbers that a thread gets at once.
  static constexpr int pack = staged ? 1 : Pack<Scalar>::size;
  static_assert(steps % pack == 0);

  static std::size_t bytes(const TileShape& shape) { return sizeof(Scalar) * numbers(shape) + 16; }

  KOKKOS_FORCEINLINE_FUNCTION explicit NumberStore(const Loader& loader)
      : m_rank(loader.team.member.team_rank() % warp_size) {
    m_data = loader.team.scratch.template take<Scalar>(numbers(loader.team.shape)) +
             loader.team.member.team_rank() / warp_size * (2 * slots * entries);
  }

  /// Takes what was loaded.
  KOKKOS_FORCEINLINE_FUNCTION void put_loaded(const Loader& loader, int slot) const {
    sync_warp(loader.team.member);  // the tile before has been copied out
    put_loaded(coefficients(slot), loader.next_a);
    put_loaded(states(slot), loader.next_b);
    sync_warp(loader.team.member);
  }

  /// Numbers `first` ... of this thread's run.
  KOKKOS_FORCEINLINE_FUNCTION void get(const Loader& loader, int slot, int first, Scalar (&a)[pack],
                                       Scalar (&b)[pack]) const {
    if constexpr (staged) {
      const int e = staged_place(loader, first);
      a[0] = loader.team.real ? coefficients(slot)[e] : Scalar(1);
      b[0] = loader.team.real ? states(slot)[e] : Scalar(0);
    } else if constexpr (line) {
      Line(coefficients(slot), m_rank).get(first, a);
      Line(states(slot), m_rank).get(first, b);
    } else {
      from_pack(read_pack(coefficients(slot) + shelf_place(first)), a);
      from_pack(read_pack(states(slot) + shelf_place(first)), b);
    }
  }

  /// States in place of this thread's offsets `first` ...
  KOKKOS_FORCEINLINE_FUNCTION void put_states(const Loader& loader, int slot, int first,
                                              const Scalar (&y)[pack]) const {
    if constexpr (staged) {
      if (loader.team.real) states(slot)[staged_place(loader, first)] = y[0];
    } else {
      static_assert(line, "other threads write their states themselves");
      Line(states(slot), m_rank).put(first, y);
    }
  }

  /// Copies the warp's states to memory.
  KOKKOS_FORCEINLINE_FUNCTION void copy_out(const Loader& loader, int slot, std::int64_t tile) const {
    const LinearProblem<Scalar>& problem = loader.reader.problem;
    const std::int64_t first = loader.first_of_warp(tile);
    sync_warp(loader.team.member);
    if constexpr (line) {
      Line(states(slot), m_rank).drain(problem.y + first, problem.steps - first);
    } else {
      const int C = static_cast<int>(problem.channels()), count = loader.numbers_of_warp(first);
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        const int e = i * warp_size + m_rank;
        if (e >= count) continue;
        const int row = loader.row_of(e);
        problem.y[problem.time(first + row) * C + (e - row * C)] = states(slot)[apart(e)];
      }
    }
  }

 private:
  static constexpr int entries = line ? Line::entries : warp_size * (staged ? steps + 1 : steps);

  static KOKKOS_FUNCTION std::size_t numbers(const TileShape& shape) {
    return std::size_t(2 * slots * entries) * std::size_t(shape.warps());
  }

  // Numbers of staged tiles lie on a bank each where threads go through them `steps` apart.
  KOKKOS_FORCEINLINE_FUNCTION static int apart(int e) { return e + e / steps; }
  KOKKOS_FORCEINLINE_FUNCTION static int staged_place(const Loader& loader, int i) {
    const int C = static_cast<int>(loader.reader.problem.channels());
    return apart((loader.run_in_warp() * steps + i) * C + loader.team.lane);
  }
  // Packs of threads side by side.
  KOKKOS_FORCEINLINE_FUNCTION int shelf_place(int i) const { return i * warp_size + m_rank * pack; }

  KOKKOS_FORCEINLINE_FUNCTION void put_loaded(Scalar* to, const Scalar (&loaded)[steps]) const {
    if constexpr (line) {
      Line(to, m_rank).publish(loaded);
    } else if constexpr (staged) {
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) to[apart(i * warp_size + m_rank)] = loaded[i];
    } else {
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; i += pack) {
        Pack<Scalar> some;
        ELAPHOS_UNROLL
        for (int v = 0; v < pack; ++v) some.v[v] = loaded[i + v];
        write_pack(to + shelf_place(i), some);
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION static void from_pack(const Pack<Scalar>& some, Scalar (&numbers)[pack]) {
    ELAPHOS_UNROLL
    for (int v = 0; v < pack; ++v) numbers[v] = some.v[v];
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar* coefficients(int slot) const { return m_data + 2 * slot * entries; }
  KOKKOS_FORCEINLINE_FUNCTION Scalar* states(int slot) const { return m_data + (2 * slot + 1) * entries; }

  Scalar* m_data;
  int m_rank;
};

}  // namespace elaphos::impl

#endif
