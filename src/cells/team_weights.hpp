// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_TEAM_WEIGHTS_HPP
#define ELAPHOS_SRC_CELLS_TEAM_WEIGHTS_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/scalar.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <cstdint>

namespace elaphos::impl {

/// Into how many parts a unit's sums over h are cut, so that as many lanes can hold the weights in registers: of at
/// most 128 words each, and of no more lanes than a multiprocessor has registers for. 1 where they stay in memory.
template <class Gates, class Scalar, int Width, bool has_warps>
constexpr int slices_of_unit() {
  const int words = Gates::count * Width * int(sizeof(Scalar)) / 4;
  int slices = 1;
  while (words / slices > 128 && slices < 4) slices *= 2;
  return has_warps && Gates::recurrent && words / slices <= 128 && Width * (words + 32 * slices) <= 65536 ? slices : 1;
}

/// A lane's part of its unit's recurrent weights, in registers where they fit.
///
/// The sums over k are cut into `Slices` in any case, in packs that take turns, and joined in a tree: a kernel whose
/// lanes have a unit to themselves (`Lanes` = 1) makes the same bits as one whose lanes share it.
template <class Gates, class Scalar, int Width, int Slices, int Lanes>
class TeamWeights {
  static constexpr int gates = Gates::count, row = gates * Width;
  static constexpr int pack = Pack<Scalar>::size;
  static constexpr int packs = Width / pack / Slices;  // of a slice
  static_assert(Lanes == 1 || Lanes == Slices);
  static_assert(Width % (pack * Slices) == 0);

 public:
  static constexpr bool in_registers = Gates::recurrent && sizeof(Scalar) * row / Lanes <= 512;

  KOKKOS_FUNCTION TeamWeights(const PackedWeights<Scalar>& weights, int unit, int part)
      : m_memory(weights.hidden_weights + unit), m_part(part) {
    if constexpr (in_registers) {
      ELAPHOS_UNROLL
      for (int c = 0; c < row / Lanes; ++c) m_own[c] = from_memory(place(c / gates, part), c % gates);
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar from_memory(int k, int g) const {
    return m_memory[std::int64_t(k) * row + g * Width];
  }

  /// Weight k of gate g, for lanes that have their unit to themselves.
  KOKKOS_FORCEINLINE_FUNCTION Scalar of(int k, int g) const {
    static_assert(Lanes == 1);
    if constexpr (in_registers && Slices == 1) return m_own[k * gates + g];
    return from_memory(k, g);
  }

  /// Adds the products of gates from ... to - 1 with all `factors`, which are in scratch and aligned for packs.
  template <int from, int to>
  KOKKOS_FORCEINLINE_FUNCTION void multiply(const Scalar* factors, Scalar (&sums)[gates]) const {
    if constexpr (Slices == 1) {
      add<from, to>(factors, 0, sums);
    } else if constexpr (Lanes == 1) {
      Scalar slice[Slices][gates];
      for (int p = 0; p < Slices; ++p) {
        for (int g = from; g < to; ++g) slice[p][g] = p == 0 ? sums[g] : Scalar(0);
        add<from, to>(factors, p, slice[p]);
      }
      ELAPHOS_UNROLL
      for (int g = from; g < to; ++g) {
        sums[g] = slice[0][g] + slice[1][g];
        if constexpr (Slices == 4) sums[g] += slice[2][g] + slice[3][g];
      }
    } else {
      Scalar slice[gates];
      for (int g = from; g < to; ++g) slice[g] = m_part == 0 ? sums[g] : Scalar(0);
      add<from, to>(factors, m_part, slice);
      for (int g = from; g < to; ++g) sums[g] = joined(slice[g]);
    }
  }

 private:
  // Entry k of a slice, among all.
  KOKKOS_FORCEINLINE_FUNCTION static constexpr int place(int k, int slice) {
    return (k / pack * Slices + slice) * pack + k % pack;
  }

  template <int from, int to>
  KOKKOS_FORCEINLINE_FUNCTION void add(const Scalar* factors, int slice, Scalar (&sums)[gates]) const {
    ELAPHOS_UNROLL
    for (int j = 0; j < packs; ++j) {
      const Pack<Scalar> some = read_pack(factors + place(j * pack, slice));
      ELAPHOS_UNROLL
      for (int v = 0; v < pack; ++v) {
        const int k = j * pack + v;
        for (int g = from; g < to; ++g) {
          Scalar weight;
          if constexpr (in_registers) {
            weight = m_own[k * gates + g];
          } else {
            weight = from_memory(place(k, slice), g);
          }
          sums[g] = multiply_add(some.v[v], weight, sums[g]);
        }
      }
    }
  }

  // The unit's lanes are neighbours; additions commute, so that all get the same bits.
  KOKKOS_FORCEINLINE_FUNCTION static Scalar joined(Scalar sum) {
#if ELAPHOS_HAS_WARPS
    ELAPHOS_UNROLL
    for (int distance = 1; distance < Lanes; distance *= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, distance);
    }
#endif
    return sum;
  }

  const Scalar* m_memory;
  int m_part;
  Scalar m_own[in_registers ? row / Lanes : 1];
};

}  // namespace elaphos::impl

#endif
