// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LANE_BATCH_HPP
#define ELAPHOS_IMPL_LANE_BATCH_HPP

#include <elaphos/batched_recurrence.hpp>
#include <elaphos/impl/plain_step.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// A recurrence of threads as one of batches: a thread takes a row.
template <Recurrence R>
struct LaneBatch {
  using scalar_type = typename R::scalar_type;
  R recurrence;
  const scalar_type* parameters;

  int state_size() const { return R::state_size; }
  int input_size() const { return R::input_size; }

  template <class ExecutionSpace>
  struct Rows {
    R recurrence;
    const scalar_type* parameters;
    StepBatch<ExecutionSpace, scalar_type> batch;
    KOKKOS_FUNCTION void operator()(std::int64_t r) const {
      plain_step(recurrence, batch.at(r), batch.y.data() + r * R::state_size, batch.x.data() + r * R::input_size,
                 parameters, batch.next.data() + r * R::state_size);
    }
  };

  template <class ExecutionSpace>
  void step(const ExecutionSpace& exec, const StepBatch<ExecutionSpace, scalar_type>& batch) const {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("Elaphos::step_rows", Policy(exec, 0, batch.count),
                         Rows<ExecutionSpace>{recurrence, parameters, batch});
  }
};

template <HasRunTimeSizes R>
const R& as_batched(const R& recurrence) {
  return recurrence;
}

template <Recurrence R>
LaneBatch<R> as_batched(const R& recurrence) {
  static_assert(parameter_size_of<R>() == 0,
                "Elaphos: this recurrence has parameters; pass elaphos::bind_parameters(recurrence, parameters)");
  return {recurrence, nullptr};
}

template <Recurrence R, class ParameterView>
LaneBatch<R> as_batched(const BoundRecurrence<R, ParameterView>& bound) {
  return {bound.recurrence, bound.parameters.data()};
}

}  // namespace elaphos::impl

#endif
