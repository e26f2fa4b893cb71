// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_TALLY_HPP
#define ELAPHOS_SRC_SOLVER_TALLY_HPP

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// What the host needs to know after a pass: the only thing that is read back. Sums of integers and maxima only, so that
/// the order in which they are joined does not matter.
struct Tally {
  std::int64_t steps = 0;
  std::int64_t longest_run = 0;
  std::int64_t reached_end = 0;     ///< segments whose run no merge stopped
  std::int64_t active = 0;          ///< segments to advance in the next pass
  std::int64_t clipped = 0;         ///< entries of corrections that were cut
  std::int64_t non_finite = 0;      ///< segments' ends that are not finite
  double correction = 0;            ///< largest |new node - old node|
  double residual = 0;              ///< largest jump at a node or at a merge
  double scaled = 0;                ///< largest correction or jump at a node, over its tolerance

  static KOKKOS_FUNCTION void raise(double& largest, double value) {
    if (value > largest || value != value) largest = value == value ? value : Kokkos::Experimental::infinity_v<double>;
  }
  KOKKOS_FUNCTION void add_run(std::int64_t steps_run, std::int32_t to_the_end) {
    steps += steps_run;
    if (steps_run > longest_run) longest_run = steps_run;
    if (steps_run > 0) reached_end += to_the_end;
  }
  KOKKOS_FUNCTION void add_residual(double jump) { raise(residual, Kokkos::abs(jump)); }
  KOKKOS_FUNCTION void add_end(bool finite) { non_finite += finite ? 0 : 1; }
  template <class Scalar>
  KOKKOS_FUNCTION void add_correction(Scalar moved_by, Scalar tolerance) {
    raise(correction, static_cast<double>(Kokkos::abs(moved_by)));
    raise(scaled, static_cast<double>(Kokkos::abs(moved_by) / tolerance));
  }
  template <class Scalar>
  KOKKOS_FUNCTION void add_mismatch(Scalar mismatch, Scalar tolerance) {
    raise(residual, static_cast<double>(Kokkos::abs(mismatch)));
    raise(scaled, static_cast<double>(Kokkos::abs(mismatch) / tolerance));
  }
  /// A node that could not be corrected: nothing is known about how far off it is.
  KOKKOS_FUNCTION void add_unbounded() {
    scaled = residual = Kokkos::Experimental::infinity_v<double>;
  }
  KOKKOS_FUNCTION void merge(const Tally& other) {
    steps += other.steps;
    reached_end += other.reached_end;
    active += other.active;
    clipped += other.clipped;
    non_finite += other.non_finite;
    if (other.longest_run > longest_run) longest_run = other.longest_run;
    raise(correction, other.correction);
    raise(residual, other.residual);
    raise(scaled, other.scaled);
  }
};

}  // namespace elaphos::impl

#endif
