// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IO_IMPL_TENSOR_TRANSFER_HPP
#define ELAPHOS_IO_IMPL_TENSOR_TRANSFER_HPP

#include <elaphos/io/tensor.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace elaphos::io::impl {

/// Converts all of a tensor's entries, which must be F32 or F64.
void copy_numbers(const Tensor& tensor, float* out);
void copy_numbers(const Tensor& tensor, double* out);

/// Throws the `InvalidArgument` for a View whose entries do not lie one behind the other.
[[noreturn]] void refuse_gaps(const std::string& name);

/// Refuses, when the caller's code is compiled, Views whose numbers cannot be a tensor's.
template <class ExecutionSpace, class View>
struct TransferCheck {
  using scalar = typename View::non_const_value_type;
  static_assert(std::is_same_v<scalar, float> || std::is_same_v<scalar, double>,
                "Elaphos: a View that is read from or written to a state dict must be of float or double");
  static_assert(View::rank() <= 1 || std::is_same_v<typename View::array_layout, Kokkos::LayoutRight>,
                "Elaphos: tensors are LayoutRight; CUDA's default is LayoutLeft. Declare the View as "
                "elaphos::MatrixView, or name Kokkos::LayoutRight in its type");
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, typename View::memory_space>::accessible,
                "Elaphos: the execution space cannot reach this View's memory");
  static constexpr bool passed = true;
};

/// A new View with the numbers of a tensor, whose rank is the View's.
template <class View, class ExecutionSpace>
View to_view(const ExecutionSpace& exec, const Tensor& tensor) {
  static_assert(TransferCheck<ExecutionSpace, View>::passed);
  static_assert(View::rank() == View::rank_dynamic(),
                "Elaphos: a tensor's extents are known when it is read: no extent of the View can be part of its type");
  using Filled =
      Kokkos::View<typename View::non_const_data_type, typename View::array_layout, typename View::memory_space>;
  typename View::array_layout layout;
  for (std::size_t r = 0; r < View::rank(); ++r) layout.dimension[r] = tensor.shape[r];
  const Filled out(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "Elaphos::" + tensor.name), layout);
  const auto host = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, out);
  copy_numbers(tensor, host.data());
  if (host.data() != out.data()) {
    Kokkos::deep_copy(exec, out, host);
    exec.fence("Elaphos::io: tensor to View");  // the mirror goes when this function returns
  }
  return out;
}

/// A View's numbers as a tensor.
template <class ExecutionSpace, class View>
Tensor to_tensor(const ExecutionSpace& exec, std::string name, const View& view) {
  static_assert(TransferCheck<ExecutionSpace, View>::passed);
  using Scalar = typename View::non_const_value_type;
  if (!view.span_is_contiguous()) refuse_gaps(name);
  Tensor tensor{std::move(name), std::is_same_v<Scalar, float> ? "F32" : "F64", {}, {}};
  for (std::size_t r = 0; r < View::rank(); ++r) tensor.shape.push_back(view.extent(r));
  tensor.bytes.resize(view.size() * sizeof(Scalar));
  if (tensor.bytes.empty()) return tensor;
  if constexpr (Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible) {
    exec.fence("Elaphos::io: View to tensor");
    std::memcpy(tensor.bytes.data(), view.data(), tensor.bytes.size());
  } else {
    using Host = Kokkos::View<typename View::non_const_data_type, typename View::array_layout, Kokkos::HostSpace,
                              Kokkos::MemoryUnmanaged>;
    // What operator new returns is aligned for every scalar.
    Kokkos::deep_copy(exec, Host(reinterpret_cast<Scalar*>(tensor.bytes.data()), view.layout()), view);
    exec.fence("Elaphos::io: View to tensor");
  }
  return tensor;
}

}  // namespace elaphos::io::impl

#endif
