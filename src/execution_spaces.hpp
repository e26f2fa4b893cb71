// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_EXECUTION_SPACES_HPP
#define ELAPHOS_SRC_EXECUTION_SPACES_HPP

#include <elaphos/impl/runs_on_host.hpp>

#include <Kokkos_Core.hpp>

// ELAPHOS_FOR_EACH_SPACE(M) expands M(Space) for every execution space that Kokkos was built with: the library's
// templates are instantiated for all of them, so that users never compile them.

#ifdef KOKKOS_ENABLE_SERIAL
#define ELAPHOS_WITH_SERIAL(M) M(Kokkos::Serial)
#else
#define ELAPHOS_WITH_SERIAL(M)
#endif

#ifdef KOKKOS_ENABLE_OPENMP
#define ELAPHOS_WITH_OPENMP(M) M(Kokkos::OpenMP)
#else
#define ELAPHOS_WITH_OPENMP(M)
#endif

#ifdef KOKKOS_ENABLE_THREADS
#define ELAPHOS_WITH_THREADS(M) M(Kokkos::Threads)
#else
#define ELAPHOS_WITH_THREADS(M)
#endif

#ifdef KOKKOS_ENABLE_CUDA
#define ELAPHOS_WITH_CUDA(M) M(Kokkos::Cuda)
#else
#define ELAPHOS_WITH_CUDA(M)
#endif

#ifdef KOKKOS_ENABLE_HIP
#define ELAPHOS_WITH_HIP(M) M(Kokkos::HIP)
#else
#define ELAPHOS_WITH_HIP(M)
#endif

#ifdef KOKKOS_ENABLE_SYCL
#define ELAPHOS_WITH_SYCL(M) M(Kokkos::SYCL)
#else
#define ELAPHOS_WITH_SYCL(M)
#endif

#define ELAPHOS_FOR_EACH_SPACE(M) \
  ELAPHOS_WITH_SERIAL(M)          \
  ELAPHOS_WITH_OPENMP(M)          \
  ELAPHOS_WITH_THREADS(M)         \
  ELAPHOS_WITH_CUDA(M)            \
  ELAPHOS_WITH_HIP(M)             \
  ELAPHOS_WITH_SYCL(M)

#endif
