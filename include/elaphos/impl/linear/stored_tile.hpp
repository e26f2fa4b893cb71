// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_STORED_TILE_HPP
#define ELAPHOS_IMPL_LINEAR_STORED_TILE_HPP

#include <elaphos/impl/linear/number_loader.hpp>
#include <elaphos/impl/linear/number_store.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// A thread's runs of two tiles of channels of one number, in scratch memory, while a third is loaded: registers hold
/// what is on its way and nothing else. Not for composed maps.
template <class Member, class Scalar, TileAccess access, int steps>
class StoredTile {
 public:
  using Team = typename NumberLoader<Member, Scalar, access, steps>::Team;
  using Map = AffineMap<Scalar, 1>;

  /// Whether a kernel has registers left for what other teams tell; others would spill.
  static constexpr bool has_spare_registers = access == TileAccess::line;

  static std::size_t scratch_bytes(const TileShape& shape) { return Store::bytes(shape); }

  KOKKOS_FORCEINLINE_FUNCTION StoredTile(const Team& team, const LinearProblem<Scalar>& problem)
      : m_loader(team, problem), m_store(m_loader) {}

  KOKKOS_FORCEINLINE_FUNCTION const ChannelReader<Scalar, 1>& reader() const { return m_loader.reader; }

  /// Begins to read a tile.
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t tile) { m_loader.load(tile); }

  /// Keeps what was loaded in `slot`.
  KOKKOS_FORCEINLINE_FUNCTION void keep_loaded(int slot) const { m_store.put_loaded(m_loader, slot); }

  /// The map of this thread's run of the tile in `slot`.
  KOKKOS_FORCEINLINE_FUNCTION Map fold(int slot) const {
    Scalar product = Scalar(1), offset = Scalar(0);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; i += pack) {
      Scalar a[pack], b[pack];
      m_store.get(m_loader, slot, i, a, b);
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) {
        product = a[v] * product;
        offset = multiply_add_any(a[v], offset, b[v]);
      }
    }
    if (is_nan(product) || is_nan(offset)) return fold_again(slot);
    return {{{product}}, {offset}};
  }

  /// Walks this thread's run of the tile in `slot` from its entry; `copy_out` ends it.
  KOKKOS_FORCEINLINE_FUNCTION void walk(int slot, std::int64_t tile, Scalar (&state)[1]) const {
    const int left = m_loader.steps_left(tile);
    StateWriter<Scalar, access> writer(m_loader, tile);
    ELAPHOS_UNROLL_BY(access == TileAccess::steps ? 1 : steps / pack)
    for (int i = 0; i < steps; i += pack) {
      Scalar a[pack], b[pack];
      m_store.get(m_loader, slot, i, a, b);
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) {
        advance(Map{{{a[v]}}, {b[v]}}, state);
        b[v] = state[0];
        if constexpr (!through_warp) writer.write(i + v < left, state);
      }
      if constexpr (through_warp) m_store.put_states(m_loader, slot, i, b);
    }
  }

  /// Writes the states that `walk` has left in scratch memory.
  KOKKOS_FORCEINLINE_FUNCTION void copy_out(int slot, std::int64_t tile) const {
    if constexpr (through_warp) m_store.copy_out(m_loader, slot, tile);
  }

 private:
  static constexpr bool through_warp = access == TileAccess::staged || access == TileAccess::line;
  using Loader = NumberLoader<Member, Scalar, access, steps>;
  using Store = NumberStore<Member, Scalar, access, steps, 2>;
  static constexpr int pack = Store::pack;

  // Packed sequences are read step by step.
  KOKKOS_FORCEINLINE_FUNCTION void advance(const Map& map, Scalar (&state)[1]) const {
    if constexpr (access == TileAccess::steps) {
      m_loader.reader.advance(map, state);
    } else {
      map.step(state);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Map fold_again(int slot) const {
    Map total;
    ELAPHOS_UNROLL_BY(1)
    for (int i = 0; i < steps; i += pack) {
      Scalar a[pack], b[pack];
      m_store.get(m_loader, slot, i, a, b);
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) {
        const Map map{{{a[v]}}, {b[v]}};
        total = i + v == 0 ? map : compose(total, map, m_loader.reader.problem.packed);
      }
    }
    return total;
  }

  Loader m_loader;
  Store m_store;
};

}  // namespace elaphos::impl

#endif
