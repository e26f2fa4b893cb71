// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_CHECK_LINEAR_HPP
#define ELAPHOS_IMPL_LINEAR_CHECK_LINEAR_HPP

#include <elaphos/impl/array_shape.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/linear_options.hpp>

#include <cstdint>

namespace elaphos::impl {

/// What the numbers of a View of coefficients mean.
enum class CoefficientKind { scalar, diagonal, block, dense };

/// Ranks of coefficients with T and B in front, and without.
template <CoefficientKind kind>
struct CoefficientRank {
  static constexpr std::size_t constant = kind == CoefficientKind::scalar     ? 0
                                          : kind == CoefficientKind::diagonal ? 1
                                          : kind == CoefficientKind::block    ? 3
                                                                              : 2;
  static constexpr std::size_t varying = constant + 2;
};

struct LinearSizes {
  std::int64_t steps, batch, blocks;
  int block_size;
};

/// Sizes of a problem whose shapes fit each other. `states` is what is written, (T, B, D) or (B, D); `sequences` is 0
/// where they are not packed. Throws `InvalidArgument`.
LinearSizes check_linear(CoefficientKind kind, bool varying, const ArrayShape& a, const ArrayShape& b,
                         const ArrayShape& y0, const ArrayShape& states, std::int64_t sequences, bool complex,
                         const LinearOptions& options);

/// Throws `InvalidArgument`.
void check_composed_map(const ArrayShape& A_all, const ArrayShape& b_all, std::int64_t batch, std::int64_t blocks,
                        int block_size);

/// Strides of coefficients of a kind, row-major.
template <class Scalar>
void place_coefficients(CoefficientKind kind, bool varying, const Scalar* data, LinearProblem<Scalar>& problem) {
  const std::int64_t K = problem.block_size, M = problem.blocks;
  const std::int64_t of_block = kind == CoefficientKind::scalar ? 0 : K * K;
  const std::int64_t of_sequence = kind == CoefficientKind::scalar ? 1 : M * K * K;
  problem.a = {data, varying ? problem.batch * of_sequence : 0, varying ? of_sequence : 0, of_block, K, 1};
}

}  // namespace elaphos::impl

#endif
