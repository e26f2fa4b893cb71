// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_VIEWS_HPP
#define ELAPHOS_VIEWS_HPP

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

namespace elaphos {

/// \brief Time-major data (T, B, D) as every solve wants it: LayoutRight, also where the space's default is LayoutLeft.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
using SequenceView = Kokkos::View<Scalar***, Kokkos::LayoutRight, MemorySpace>;

/// \brief One state per sequence (B, D), LayoutRight.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
using StateView = Kokkos::View<Scalar**, Kokkos::LayoutRight, MemorySpace>;

/// \brief A weight matrix (rows, columns), LayoutRight: the memory order of PyTorch and C.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
using MatrixView = Kokkos::View<Scalar**, Kokkos::LayoutRight, MemorySpace>;

/// \brief A vector of numbers, such as a bias.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
using VectorView = Kokkos::View<Scalar*, Kokkos::LayoutRight, MemorySpace>;

}  // namespace elaphos

#endif
