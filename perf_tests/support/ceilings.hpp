// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_PERF_TESTS_SUPPORT_CEILINGS_HPP
#define ELAPHOS_PERF_TESTS_SUPPORT_CEILINGS_HPP

#include "sweep_model.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace perf {

/// Rates that arithmetic can reach, in operations a second over the whole execution space.
struct ArithmeticRates {
  double multiply_adds;  ///< independent fused (or, without such instructions, separate) multiply-adds
  double activations;    ///< independent evaluations of the library's own sigmoid
};

/// The least time that a sweep can take, and what it is bound by.
struct Floor {
  double seconds;
  std::string bound_by;
};

/// What this machine can reach, measured in this process on the default execution space when it is first asked for.
class Ceilings {
 public:
  /// Seconds of one kernel that reads `bytes` / 2 and writes as many: of the same size as the problem, since what fits in
  /// a cache is copied faster. Includes the kernel's launch.
  double copy_seconds(double bytes);

  template <class Scalar>
  const ArithmeticRates& rates();

  /// The largest of the three times that memory, multiply-adds and activations need each by itself: perfect overlap.
  template <class Scalar>
  Floor floor(const SweepModel& sweep);

 private:
  std::map<std::int64_t, double> m_copies;
  std::optional<ArithmeticRates> m_float, m_double;
};

}  // namespace perf

#endif
