// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WARP_STAGE_HPP
#define ELAPHOS_IMPL_LINEAR_WARP_STAGE_HPP

#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/team_scratch.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

/// The numbers of a warp's runs, `count` for each, which lie side by side in memory, in scratch memory: copied in whole
/// lines, in packs of `width`, and read by each thread as its own run, on a bank of its own.
template <class Member, class Scalar, int count, int width>
class WarpStage {
 public:
  static_assert(count % width == 0);
  static constexpr int run_packs = count / width;
  /// Odd, so that threads side by side start on different banks.
  static constexpr int run_stride = (run_packs | 1) * width;
  static constexpr int entries = warp_size * run_stride;

  static std::size_t bytes(int warps) { return sizeof(Scalar) * std::size_t(warps) * entries + 16; }

  KOKKOS_FORCEINLINE_FUNCTION WarpStage(const Member& member, const TeamScratch& scratch, int warps)
      : m_data(scratch.take<Scalar>(std::size_t(warps) * entries) + member.team_rank() / warp_size * entries),
        m_rank(member.team_rank() % warp_size) {}

  /// On the warp's own memory, of `entries` numbers.
  KOKKOS_FORCEINLINE_FUNCTION WarpStage(Scalar* data, int rank_in_warp) : m_data(data), m_rank(rank_in_warp) {}

  /// Whether memory has all numbers of the warp's runs.
  KOKKOS_FORCEINLINE_FUNCTION static bool whole(std::int64_t available) { return available >= warp_size * count; }

  /// Reads from memory into registers, for `publish`, where all is there.
  KOKKOS_FORCEINLINE_FUNCTION static void fetch_whole(int rank, const Scalar* from, Scalar (&numbers)[count]) {
    ELAPHOS_UNROLL
    for (int i = 0; i < count; i += width) {
      const Vector pack = read(from + offset(i / width, rank));
      ELAPHOS_UNROLL
      for (int v = 0; v < width; ++v) numbers[i + v] = pack.v[v];
    }
  }
  /// The same, with `other` where nothing is.
  KOKKOS_FORCEINLINE_FUNCTION static void fetch(int rank, const Scalar* from, std::int64_t available,
                                                const Scalar& other, Scalar (&numbers)[count]) {
    if (whole(available)) return fetch_whole(rank, from, numbers);
    const int left = static_cast<int>(available) - rank * width;
    ELAPHOS_UNROLL
    for (int i = 0; i < count; ++i) {
      const int e = i / width * width * warp_size + i % width;
      numbers[i] = e < left ? from[rank * width + e] : other;
    }
  }
  /// Begins to copy all numbers straight to scratch memory, where all are there; `wait_for_copies` ends it.
  KOKKOS_FORCEINLINE_FUNCTION void fill_whole(const Scalar* from) const {
    ELAPHOS_UNROLL
    for (int i = 0; i < run_packs; ++i) {
      copy_to_scratch(reinterpret_cast<Vector*>(m_data + place(i * warp_size + m_rank)),
                      reinterpret_cast<const Vector*>(from + offset(i, m_rank)));
    }
  }
  /// Copies what there is straight to scratch memory; what is past it stays what it was.
  KOKKOS_FORCEINLINE_FUNCTION void fill_partly(const Scalar* from, std::int64_t available) const {
    ELAPHOS_UNROLL_BY(1)
    for (int i = 0; i < run_packs; ++i) {
      const int e = offset(i, m_rank);
      ELAPHOS_UNROLL
      for (int v = 0; v < width; ++v) {
        if (e + v < available) m_data[place(i * warp_size + m_rank) + v] = from[e + v];
      }
    }
  }
  KOKKOS_FORCEINLINE_FUNCTION void publish(const Scalar (&numbers)[count]) const {
    ELAPHOS_UNROLL
    for (int i = 0; i < count; i += width) {
      Vector pack;
      ELAPHOS_UNROLL
      for (int v = 0; v < width; ++v) pack.v[v] = numbers[i + v];
      write(m_data + place(i / width * warp_size + m_rank), pack);
    }
  }

  /// Copies to memory what it has room for.
  KOKKOS_FORCEINLINE_FUNCTION void drain(Scalar* to, std::int64_t available) const {
    if (whole(available)) {
      ELAPHOS_UNROLL
      for (int i = 0; i < run_packs; ++i) {
        write(to + offset(i, m_rank), read(m_data + place(i * warp_size + m_rank)));
      }
    } else {
      ELAPHOS_UNROLL_BY(1)
      for (int i = 0; i < run_packs; ++i) {
        const int e = offset(i, m_rank);
        ELAPHOS_UNROLL
        for (int v = 0; v < width; ++v) {
          if (e + v < available) to[e + v] = m_data[place(i * warp_size + m_rank) + v];
        }
      }
    }
  }

  /// `size` numbers of this thread's run, from number `first` on.
  template <int size>
  KOKKOS_FORCEINLINE_FUNCTION void get(int first, Scalar (&numbers)[size]) const {
    static_assert(size % width == 0);
    ELAPHOS_UNROLL
    for (int i = 0; i < size; i += width) {
      const Vector pack = read(m_data + m_rank * run_stride + first + i);
      ELAPHOS_UNROLL
      for (int v = 0; v < width; ++v) numbers[i + v] = pack.v[v];
    }
  }
  template <int size>
  KOKKOS_FORCEINLINE_FUNCTION void put(int first, const Scalar (&numbers)[size]) const {
    ELAPHOS_UNROLL
    for (int i = 0; i < size; i += width) {
      Vector pack;
      ELAPHOS_UNROLL
      for (int v = 0; v < width; ++v) pack.v[v] = numbers[i + v];
      write(m_data + m_rank * run_stride + first + i, pack);
    }
  }

 private:
  struct alignas(sizeof(Scalar) * width) Vector {
    Scalar v[width];
  };
  KOKKOS_FORCEINLINE_FUNCTION static Vector read(const Scalar* from) { return *reinterpret_cast<const Vector*>(from); }
  KOKKOS_FORCEINLINE_FUNCTION static void write(Scalar* to, const Vector& pack) {
    *reinterpret_cast<Vector*>(to) = pack;
  }
  // Where pack i of a thread lies in memory: threads side by side take packs side by side.
  KOKKOS_FORCEINLINE_FUNCTION static int offset(int i, int rank) { return (i * warp_size + rank) * width; }
  // Where pack q of the warp is kept.
  KOKKOS_FORCEINLINE_FUNCTION static int place(int q) {
    if (run_stride == count) return q * width;
    return q / run_packs * run_stride + q % run_packs * width;
  }

  Scalar* m_data;
  int m_rank;
};

}  // namespace elaphos::impl

#endif
