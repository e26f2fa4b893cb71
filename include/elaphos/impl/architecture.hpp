// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_ARCHITECTURE_HPP
#define ELAPHOS_IMPL_ARCHITECTURE_HPP

#include <elaphos/impl/runs_on_host.hpp>

#include <Kokkos_Core.hpp>

#include <string>
#include <type_traits>

namespace elaphos::impl {

/// The planner's name for what an execution space runs on.
template <class ExecutionSpace>
std::string architecture_of([[maybe_unused]] const ExecutionSpace& exec) {
  if constexpr (runs_on_host<ExecutionSpace>) {
    return "host";
  } else {
#ifdef KOKKOS_ENABLE_CUDA
    if constexpr (std::is_same_v<ExecutionSpace, Kokkos::Cuda>) {
      const auto& properties = exec.cuda_device_prop();
      return "cuda " + std::to_string(properties.major) + "." + std::to_string(properties.minor);
    }
#endif
    return "unknown device";
  }
}

}  // namespace elaphos::impl

#endif
