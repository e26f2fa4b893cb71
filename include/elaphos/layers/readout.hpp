// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_READOUT_HPP
#define ELAPHOS_LAYERS_READOUT_HPP

#include <elaphos/impl/check_views.hpp>
#include <elaphos/impl/layers/read_out.hpp>
#include <elaphos/views.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace elaphos {

/// \brief A linear map of a layer's output, z = W h + b: PyTorch's `nn.Linear`.
///
/// Weights (O, H), bias (O), which are shared, not copied. Throws `InvalidArgument` when the shapes do not fit.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Readout {
 public:
  using scalar_type = Scalar;
  using memory_space = MemorySpace;

  Readout(const MatrixView<const Scalar, MemorySpace>& weights, const VectorView<const Scalar, MemorySpace>& bias)
      : m_weights(weights), m_bias(bias) {
    impl::check_readout(impl::shape_of("weights", weights), impl::shape_of("bias", bias));
  }

  /// \brief H.
  int input_size() const { return static_cast<int>(m_weights.extent(1)); }
  /// \brief O.
  int output_size() const { return static_cast<int>(m_weights.extent(0)); }

  const MatrixView<const Scalar, MemorySpace>& weights() const { return m_weights; }
  const VectorView<const Scalar, MemorySpace>& bias() const { return m_bias; }

 private:
  MatrixView<const Scalar, MemorySpace> m_weights;
  VectorView<const Scalar, MemorySpace> m_bias;
};

/// \brief Enqueues z = W h + b on `exec`, which is not waited for.
///
/// Sums run in ascending order, so the bits of a row depend on that row alone.
///
/// \param h  (T, B, H)
/// \param z  (T, B, O), or (B, O) for the last step alone
/// \throws InvalidArgument for shapes or overlaps that make no sense, before anything is written
template <class ExecutionSpace, class Scalar, class MemorySpace, class InputView, class OutputView>
void read_out(const ExecutionSpace& exec, const Readout<Scalar, MemorySpace>& readout, const InputView& h,
              const OutputView& z) {
  static_assert(Kokkos::SpaceAccessibility<ExecutionSpace, MemorySpace>::accessible,
                "Elaphos: the execution space cannot reach this readout's weights");
  static_assert(impl::ViewCheck<ExecutionSpace, Scalar, 3, InputView>::passed);
  static_assert(impl::ViewCheck < ExecutionSpace, Scalar, OutputView::rank == 2 ? 2 : 3, OutputView > ::passed);
  static_assert(!std::is_const_v<typename OutputView::value_type>, "Elaphos: z is written: its View must not be const");
  impl::check_read_out(impl::shape_of("weights", readout.weights()), impl::shape_of("bias", readout.bias()),
                       impl::shape_of("h", h), impl::shape_of("z", z));
  const std::int64_t steps = static_cast<std::int64_t>(h.extent(0)), batch = static_cast<std::int64_t>(h.extent(1));
  constexpr bool last_only = OutputView::rank == 2;
  const Scalar* const first = last_only ? h.data() + (steps - 1) * batch * readout.input_size() : h.data();
  impl::enqueue_read_out(exec, impl::ReadOutProblem<Scalar>{readout.weights().data(), readout.bias().data(), first,
                                                            z.data(), last_only ? batch : steps * batch,
                                                            readout.input_size(), readout.output_size()});
}

}  // namespace elaphos

#endif
