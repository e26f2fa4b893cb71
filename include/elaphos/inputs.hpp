// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_INPUTS_HPP
#define ELAPHOS_INPUTS_HPP

#include <elaphos/impl/check_views.hpp>
#include <elaphos/impl/input_arrays.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace elaphos {

/// \brief What a solve reads where that is more than one View: features in several arrays, packed or masked sequences,
/// resets. Made by `inputs`, and passed in the place of x.
///
/// It holds the Views: their memory lives as long as it does. With `enqueue_solve` it must live until the solve is over.
template <class Scalar, class MemorySpace>
class Inputs {
 public:
  explicit Inputs(const impl::InputArrays& arrays, std::vector<std::shared_ptr<const void>> views = {})
      : m_arrays(arrays), m_views(std::move(views)) {}

  /// \brief Sequences of different lengths, one behind the other: x is (T, 1, I), y (T, 1, D), and y0 (sequences, D).
  ///
  /// Sequence s has the steps offsets(s) ... offsets(s + 1) - 1, and a recurrence is told s as `b` and its own steps,
  /// from 0 on, as `t`. Segments are cut through all of them, so that a short sequence and a long one cost by length.
  ///
  /// \param offsets std::int64_t, one entry more than there are sequences; starts with 0, ends with T, does not
  ///                decrease: the caller vouches for its values, which the device reads
  template <class View>
  Inputs packed(const View& offsets) const {
    check<View, std::int64_t, 1>();
    Inputs with = *this;
    with.m_arrays.offsets = impl::shape_of("offsets", offsets);
    with.keep(offsets);
    return with;
  }

  /// \brief Steps (T, B) that count: where `mask` is false, the state stays as it is, whatever the input is. For padding.
  template <class View>
  Inputs masked(const View& mask) const {
    check<View, bool, 2>();
    Inputs with = *this;
    with.m_arrays.mask = impl::shape_of("mask", mask);
    with.keep(mask);
    return with;
  }

  /// \brief Steps (T, B) before which a new sequence begins: where `resets` is true, from y0 instead of the last state.
  template <class View>
  Inputs reset(const View& resets) const {
    check<View, bool, 2>();
    Inputs with = *this;
    with.m_arrays.resets = impl::shape_of("resets", resets);
    with.keep(resets);
    return with;
  }

  const impl::InputArrays& arrays() const { return m_arrays; }

 private:
  template <class View, class Value, std::size_t Rank>
  static void check() {
    static_assert(Kokkos::is_view_v<View>, "Elaphos: offsets, mask and resets are Kokkos::Views");
    static_assert(View::rank == Rank && std::is_same_v<typename View::non_const_value_type, Value>,
                  "Elaphos: offsets are a View<std::int64_t*>, mask and resets a View<bool**>");
    static_assert(Rank == 1 || std::is_same_v<typename View::array_layout, Kokkos::LayoutRight>,
                  "Elaphos: mask and resets are time-major and LayoutRight, as sequences are");
    static_assert(Kokkos::SpaceAccessibility<MemorySpace, typename View::memory_space>::assignable,
                  "Elaphos: offsets, mask and resets lie in the inputs' memory space");
  }

  template <class View>
  void keep(const View& view) {
    m_views.push_back(std::make_shared<View>(view));
  }

  impl::InputArrays m_arrays;
  std::vector<std::shared_ptr<const void>> m_views;  // of any type: their memory lives as long as this does
};

namespace impl {

template <class Scalar, class Memory, class... Views>
InputArrays arrays_of(const Views&... views) {
  static_assert(sizeof...(Views) <= InputBlocks<Scalar>::most, "Elaphos: features come in at most eight Views");
  static_assert((ViewCheck<typename Memory::execution_space, Scalar, 3, Views>::passed && ...));
  InputArrays arrays;
  (arrays.add(shape_of("x", views)), ...);
  return arrays;
}

}  // namespace impl

/// \brief Features in one or up to eight Views (T, B, I_k), which a step reads as one input of I = I_0 + I_1 + ...
/// numbers, in this order; nothing is copied.
template <class First, class... More>
auto inputs(const First& first, const More&... more) {
  using Scalar = typename First::non_const_value_type;
  using Memory = typename First::memory_space;
  return Inputs<Scalar, Memory>(impl::arrays_of<Scalar, Memory>(first, more...),
                                {std::make_shared<First>(first), std::make_shared<More>(more)...});
}

namespace impl {

/// Inputs as they are, or a View, which outlives the call, as inputs.
template <class Scalar, class MemorySpace>
const Inputs<Scalar, MemorySpace>& as_inputs(const Inputs<Scalar, MemorySpace>& given) {
  return given;
}

template <class View>
  requires Kokkos::is_view_v<View>
auto as_inputs(const View& view) {
  using Scalar = typename View::non_const_value_type;
  using Memory = typename View::memory_space;
  return Inputs<Scalar, Memory>(arrays_of<Scalar, Memory>(view));
}

/// What the checks of the caller's types ask of x.
template <class ExecutionSpace, class Scalar, class X>
struct InputCheck : ViewCheck<ExecutionSpace, Scalar, 3, X> {};

template <class ExecutionSpace, class Scalar, class Of, class MemorySpace>
struct InputCheck<ExecutionSpace, Scalar, Inputs<Of, MemorySpace>> {
  static_assert(std::is_same_v<Of, Scalar>, "Elaphos: the inputs' numbers must have the recurrence's scalar type");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, MemorySpace>::accessible,
                "Elaphos: the execution space cannot reach these inputs' memory");
  static constexpr bool passed = true;
};

}  // namespace impl

}  // namespace elaphos

#endif
