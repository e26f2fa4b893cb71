// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_SESSION_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_SESSION_HPP

#include "ceilings.hpp"

#include <algorithm>
#include <cstdint>

namespace perf {

/// What the rows of one process share.
struct Session {
  Ceilings ceilings;
  bool dry_run = false;

  /// A dry run shows that a row works, not how fast: a few steps are enough.
  std::int64_t steps(std::int64_t T) const { return dry_run ? std::min<std::int64_t>(T, 300) : T; }
};

/// Each program defines it: registers its rows with Google Benchmark. Must not use Kokkos, which may not have started.
void register_rows(Session& session);

}  // namespace perf

#endif
