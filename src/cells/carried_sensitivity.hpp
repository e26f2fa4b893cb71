// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_CARRIED_SENSITIVITY_HPP
#define ELAPHOS_SRC_CELLS_CARRIED_SENSITIVITY_HPP

#include <elaphos/impl/propagator.hpp>

#include <Kokkos_Core.hpp>

#include <type_traits>

namespace elaphos::impl {

// Whether `work` may run on the device is its caller's business.
#if defined(__NVCC__)
#define ELAPHOS_IMPL_NO_EXECUTION_CHECK _Pragma("nv_exec_check_disable")
#else
#define ELAPHOS_IMPL_NO_EXECUTION_CHECK
#endif

/// Calls `work` with the sensitivity as a constant, of those that a cell's kernels can carry. `dense` says whether they
/// can carry dense products.
ELAPHOS_IMPL_NO_EXECUTION_CHECK
template <class Gates, bool dense, class Work>
KOKKOS_INLINE_FUNCTION void with_sensitivity(Sensitivity sensitivity, const Work& work) {
  switch (sensitivity) {
    case Sensitivity::dense:
      if constexpr (dense) work(std::integral_constant<Sensitivity, Sensitivity::dense>());
      break;
    case Sensitivity::block:
      if constexpr (Gates::states > 1) work(std::integral_constant<Sensitivity, Sensitivity::block>());
      break;
    case Sensitivity::diagonal:
      work(std::integral_constant<Sensitivity, Sensitivity::diagonal>());
      break;
    case Sensitivity::none:
      work(std::integral_constant<Sensitivity, Sensitivity::none>());
  }
}

}  // namespace elaphos::impl

#endif
