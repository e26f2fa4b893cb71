// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_ONE_PASS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_ONE_PASS_HPP

#include "transfer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test {

template <class Scalar>
struct PassResult {
  std::vector<Scalar> sensitivities;
  Scalar growth;  ///< the largest of all sequences
};

/// One pass of a library cell, with a single segment a sequence: what it says of derivatives, `entries` numbers in all.
/// Throws what the cell's kernels throw for sensitivities that they cannot carry.
template <class Cell, class Scalar = typename Cell::scalar_type>
PassResult<Scalar> propagate_once(const Cell& cell, const elaphos::StateView<Scalar, Memory>& y0,
                                  const elaphos::SequenceView<Scalar, Memory>& x,
                                  const elaphos::SequenceView<Scalar, Memory>& y, elaphos::Sensitivity sensitivity,
                                  std::size_t entries) {
  elaphos::Workspace<Exec> workspace;
  const elaphos::impl::GatedPropagator<Exec, typename Cell::gates, Scalar> propagator(Exec(), cell.weights(),
                                                                                      cell.unit(), workspace);
  propagator.check_sensitivity(sensitivity);
  const auto T = static_cast<std::int64_t>(y.extent(0)), B = static_cast<std::int64_t>(y.extent(1));
  std::vector<std::int64_t> flat(y.extent(1));
  std::iota(flat.begin(), flat.end(), std::int64_t(0));
  const auto active = to_device<elaphos::VectorView<std::int64_t, Memory>>(flat, B);
  Kokkos::View<Scalar*, Memory> sensitivities("test::sensitivities", entries);
  Kokkos::deep_copy(sensitivities, Scalar(NAN));
  Kokkos::View<elaphos::impl::SegmentRecord<Scalar>*, Memory> records("test::records", y.extent(1));
  elaphos::impl::SegmentArguments<Scalar> arguments{};
  arguments.problem = elaphos::impl::problem_of<Exec>(cell, y0, x, y, elaphos::SolveOptions{});
  arguments.segments = 1;
  arguments.steps_per_segment = T;
  arguments.active = active.data();
  arguments.active_count = B;
  arguments.nodes = y0.data();
  arguments.sensitivities = sensitivities.data();
  arguments.records = records.data();
  arguments.sensitivity = sensitivity;
  arguments.merge = elaphos::Merge::tolerance;
  arguments.pass = elaphos::impl::Pass::propagate;
  propagator.run(Exec(), arguments);
  Exec().fence();
  PassResult<Scalar> out{to_host(sensitivities), 0};
  for (const auto& record : to_host(records)) out.growth = std::max(out.growth, record.growth);
  return out;
}

}  // namespace test

#endif
