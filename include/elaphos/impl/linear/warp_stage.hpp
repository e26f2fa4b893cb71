// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_WARP_STAGE_HPP
#define ELAPHOS_IMPL_LINEAR_WARP_STAGE_HPP

#include <elaphos/impl/pack.hpp>
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

  KOKKOS_FORCEINLINE_FUNCTION WarpStage(const Member& member, int warps)
      : m_rank(member.team_rank() % warp_size) {
    m_data = static_cast<Scalar*>(
                 member.team_shmem().get_shmem_aligned(sizeof(Scalar) * std::size_t(warps) * entries, 16)) +
             member.team_rank() / warp_size * entries;
  }

  /// Copies the first `available` numbers from memory; the others stay what they are.
  KOKKOS_FORCEINLINE_FUNCTION void fill(const Scalar* from, std::int64_t available) const {
    if (available >= warp_size * count) {
      // First some loads, then as many stores, so that loads do not wait for one another.
      constexpr int some = run_packs % 8 == 0 ? 8 : (run_packs % 4 == 0 ? 4 : (run_packs % 9 == 0 ? 9 : run_packs));
      for (int begin = 0; begin < run_packs; begin += some) {
        Vector packs[some];
        ELAPHOS_UNROLL
        for (int i = 0; i < some; ++i) packs[i] = read(from + ((begin + i) * warp_size + m_rank) * width);
        ELAPHOS_UNROLL
        for (int i = 0; i < some; ++i) write(m_data + place((begin + i) * warp_size + m_rank), packs[i]);
      }
    } else {
      for (int i = 0; i < run_packs; ++i) {
        const int q = i * warp_size + m_rank;
        ELAPHOS_UNROLL
        for (int v = 0; v < width; ++v) {
          if (q * width + v < available) m_data[place(q) + v] = from[q * width + v];
        }
      }
    }
  }

  /// `fill` in two parts, the numbers in between in this thread's registers.
  KOKKOS_FORCEINLINE_FUNCTION void fetch(const Scalar* from, std::int64_t available, Scalar (&numbers)[count]) const {
    if (available >= warp_size * count) {
      ELAPHOS_UNROLL
      for (int i = 0; i < count; i += width) {
        const Vector pack = read(from + i * warp_size + m_rank * width);
        ELAPHOS_UNROLL
        for (int v = 0; v < width; ++v) numbers[i + v] = pack.v[v];
      }
    } else {
      ELAPHOS_UNROLL
      for (int i = 0; i < count; ++i) {
        const int e = i / width * width * warp_size + m_rank * width + i % width;
        numbers[i] = e < available ? from[e] : Scalar(0);
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

  /// Copies the first `available` numbers to memory.
  KOKKOS_FORCEINLINE_FUNCTION void drain(Scalar* to, std::int64_t available) const {
    if (available >= warp_size * count) {
      ELAPHOS_UNROLL
      for (int i = 0; i < run_packs; ++i) {
        const int q = i * warp_size + m_rank;
        write(to + q * width, read(m_data + place(q)));
      }
    } else {
      for (int i = 0; i < run_packs; ++i) {
        const int q = i * warp_size + m_rank;
        ELAPHOS_UNROLL
        for (int v = 0; v < width; ++v) {
          if (q * width + v < available) to[q * width + v] = m_data[place(q) + v];
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
  // Where pack q of the warp is kept.
  KOKKOS_FORCEINLINE_FUNCTION static int place(int q) {
    return q / run_packs * run_stride + q % run_packs * width;
  }

  Scalar* m_data;
  int m_rank;
};

}  // namespace elaphos::impl

#endif
