// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_CONTEXT_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_CONTEXT_HPP

namespace perf {

/// Puts into the output what one must know to compare it with another: versions and commit, compiler, Kokkos'
/// configuration (with the device), processor and the environment's settings of threads.
void add_context();

}  // namespace perf

#endif
