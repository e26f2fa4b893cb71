// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_PLAIN_COPY_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_PLAIN_COPY_HPP

#include "timing.hpp"

#include <algorithm>
#include <cstdint>

namespace perf {

/// A copy that moves so many bytes, half of them read and half written, 16 a thread and turn.
class PlainCopy {
 public:
  // Public, since nvcc takes no kernel of a private type.
  struct alignas(16) Chunk {
    double halves[2];
  };
  using Chunks = Kokkos::View<Chunk*, Memory>;

  struct Kernel {
    Chunks from, to;
    KOKKOS_FUNCTION void operator()(std::int64_t i) const { to(i) = from(i); }
  };

  explicit PlainCopy(double bytes)
      : m_count(count_for(bytes)),
        m_kernel{Chunks("perf::from", static_cast<std::size_t>(m_count)),
                 Chunks("perf::to", static_cast<std::size_t>(m_count))} {}

  /// Chunks that a copy of so many bytes takes: copies of the same number are the same.
  static std::int64_t count_for(double bytes) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(bytes / 2 / sizeof(Chunk)));
  }

  void run(const Exec& exec) const {
    Kokkos::parallel_for("perf::copy", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, m_count),
                         m_kernel);
  }

 private:
  std::int64_t m_count;
  Kernel m_kernel;
};

}  // namespace perf

#endif
