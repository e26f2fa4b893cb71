// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_RUNS_ON_HOST_HPP
#define ELAPHOS_IMPL_RUNS_ON_HOST_HPP

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace elaphos::impl {

/// Whether a space runs on the host's cores, where a thread takes a whole piece of work, rather than on a device, where a
/// team does.
template <class ExecutionSpace>
inline constexpr bool runs_on_host = std::is_same_v<typename ExecutionSpace::memory_space, Kokkos::HostSpace>;

}  // namespace elaphos::impl

#endif
