// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_CHECK_VIEWS_HPP
#define ELAPHOS_IMPL_CHECK_VIEWS_HPP


#include <Kokkos_Core.hpp>

#include <cstddef>
#include <type_traits>

namespace elaphos::impl {

/// Refuses, when the caller's code is compiled, Views that a kernel could not walk as the library does. A class, not a
/// function, so that its messages come before those of whatever does not compile with such a View either.
template <class ExecutionSpace, class Scalar, std::size_t Rank, class View, bool is_view = Kokkos::is_view<View>::value>
struct ViewCheck {
  static_assert(is_view, "Elaphos: this argument must be a Kokkos::View");
  static constexpr bool passed = true;
};

template <class ExecutionSpace, class Scalar, std::size_t Rank, class View>
struct ViewCheck<ExecutionSpace, Scalar, Rank, View, true> {
  static_assert(View::rank == Rank, "Elaphos: states are (B, D) and sequences (T, B, D): this View's rank is wrong");
  static_assert(Rank == 1 || std::is_same_v<typename View::array_layout, Kokkos::LayoutRight>,
                "Elaphos: data are time-major and LayoutRight; CUDA's default is LayoutLeft. Declare the View as "
                "elaphos::SequenceView or elaphos::StateView, or name Kokkos::LayoutRight in its type");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename View::memory_space>::accessible,
                "Elaphos: the execution space cannot reach this View's memory; copy the data to "
                "elaphos::SequenceView<Scalar, ExecutionSpace::memory_space> first");
  static_assert(std::is_same_v<typename View::non_const_value_type, Scalar>,
                "Elaphos: the View's numbers must have the recurrence's scalar type");
  static constexpr bool passed = true;
};

}  // namespace elaphos::impl

#endif
