// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_NUMBER_TILE_HPP
#define ELAPHOS_IMPL_LINEAR_NUMBER_TILE_HPP

#include <elaphos/impl/linear/number_loader.hpp>
#include <elaphos/impl/linear/number_store.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// A thread's run of a tile of channels of one number, which stays in registers between the two walks over it: 2 words
/// read and 1 written a step and channel, whatever happens in between.
template <class Member, class Scalar, TileAccess access>
class NumberTile {
 public:
  using Team = typename NumberLoader<Member, Scalar, access, steps_in_a_run<Scalar, 1>>::Team;
  using Map = AffineMap<Scalar, 1>;
  static constexpr int steps = steps_in_a_run<Scalar, 1>;
  static constexpr bool reads_ahead = true;

  static std::size_t scratch_bytes(const TileShape& shape) { return through_scratch ? Store::bytes(shape) : 0; }

  KOKKOS_FUNCTION NumberTile(const Team& team, const LinearProblem<Scalar>& problem)
      : m_loader(team, problem), m_store(m_loader) {}

  KOKKOS_FORCEINLINE_FUNCTION const ChannelReader<Scalar, 1>& reader() const { return m_loader.reader; }

  /// Begins to read a tile's numbers, while the tile before is still in use.
  KOKKOS_FORCEINLINE_FUNCTION void load(std::int64_t tile) { m_loader.load(tile); }

  /// The map of this thread's run of a loaded tile; steps past the problem's end act as the identity.
  KOKKOS_FORCEINLINE_FUNCTION Map fold_loaded(std::int64_t) {
    if constexpr (through_scratch) {
      m_store.put_loaded(m_loader, 0);
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; i += Store::pack) {
        Scalar a[Store::pack], b[Store::pack];
        m_store.get(m_loader, 0, i, a, b);
        ELAPHOS_UNROLL
        for (int v = 0; v < Store::pack; ++v) {
          m_a[i + v] = a[v];
          m_b[i + v] = b[v];
        }
      }
    } else {
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        m_a[i] = m_loader.next_a[i];
        m_b[i] = m_loader.next_b[i];
      }
    }
    Scalar product = m_a[0], offset = m_b[0];
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) {
      product = m_a[i] * product;
      offset = multiply_add_any(m_a[i], offset, m_b[i]);
    }
    if (is_nan(product) || is_nan(offset)) return fold_again();
    return {{{product}}, {offset}};
  }

  /// Walks this thread's run from its entry and writes the states.
  KOKKOS_FORCEINLINE_FUNCTION void walk(std::int64_t tile, Scalar (&state)[1]) {
    if constexpr (through_scratch) {
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; i += Store::pack) {
        Scalar y[Store::pack];
        ELAPHOS_UNROLL
        for (int v = 0; v < Store::pack; ++v) {
          advance(i + v, state);
          y[v] = state[0];
        }
        m_store.put_states(m_loader, 0, i, y);  // where its own numbers were, and nobody else's
      }
      m_store.copy_out(m_loader, 0, tile);
    } else {
      const int left = m_loader.steps_left(tile);
      StateWriter<Scalar, access> writer(m_loader, tile);
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        writer.write(i < left, state);
      }
    }
  }

 private:
  static constexpr bool through_scratch = access == TileAccess::staged || access == TileAccess::line;
  using Loader = NumberLoader<Member, Scalar, access, steps>;
  using Store = NumberStore<Member, Scalar, access, steps, 1>;
  struct NoStore {
    KOKKOS_FORCEINLINE_FUNCTION explicit NoStore(const Loader&) {}
  };

  KOKKOS_FORCEINLINE_FUNCTION void advance(int i, Scalar (&state)[1]) const {
    m_loader.reader.advance(Map{{{m_a[i]}}, {m_b[i]}}, state);
  }

  KOKKOS_FORCEINLINE_FUNCTION Map fold_again() const {
    Map total{{{m_a[0]}}, {m_b[0]}};
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) total = compose(total, Map{{{m_a[i]}}, {m_b[i]}}, m_loader.reader.problem.packed);
    return total;
  }

  Loader m_loader;
  [[no_unique_address]] std::conditional_t<through_scratch, Store, NoStore> m_store;
  Scalar m_a[steps], m_b[steps];  // of the tile in use
};

}  // namespace elaphos::impl

#endif
