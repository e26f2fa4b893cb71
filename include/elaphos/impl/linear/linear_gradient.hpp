// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_LINEAR_GRADIENT_HPP
#define ELAPHOS_IMPL_LINEAR_LINEAR_GRADIENT_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/impl/linear/solve_linear.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// The gradient of a scalar function with respect to the coefficients, from that with respect to the offsets:
/// dA_t = (db_t)(y_{t-1})^T, of which the kind of coefficients keeps its own entries.
template <class Scalar>
struct CoefficientGradient {
  LinearProblem<Scalar> problem;  ///< with y, the states of the forward solve
  const Scalar* db;               ///< (T, B, D)
  std::int64_t entries;           ///< of one A: 1 for scalar coefficients, blocks * K * K otherwise
  bool scalar;

  /// The part of step t of sequence s in an entry.
  KOKKOS_FUNCTION Scalar at(std::int64_t t, std::int64_t s, std::int64_t entry) const {
    const std::int64_t D = problem.width(), K = problem.block_size;
    const Scalar* before = previous(t, s);
    if (before == nullptr) return Scalar(0);
    const Scalar* own = db + (t * problem.batch + s) * D;
    if (scalar) {
      Scalar sum = Scalar(0);
      for (std::int64_t i = 0; i < D; ++i) sum = multiply_add_any(own[i], before[i], sum);
      return sum;
    }
    const std::int64_t block = entry / (K * K), row = entry / K % K, column = entry % K;
    return own[block * K + row] * before[block * K + column];
  }

  /// The state in front of a step, or null for zeros.
  KOKKOS_FUNCTION const Scalar* previous(std::int64_t t, std::int64_t s) const {
    const std::int64_t D = problem.width();
    const std::int32_t start = problem.starts == nullptr ? 0 : problem.starts[t];
    if (start != 0) return problem.y0 == nullptr ? nullptr : problem.y0 + (start - 1) * D;
    const std::int64_t before = problem.reversed ? t + 1 : t - 1;
    if (before >= 0 && before < problem.steps) return problem.y + (before * problem.batch + s) * D;
    return problem.y0 == nullptr ? nullptr : problem.y0 + s * D;
  }
};

/// Coefficients that vary: every entry of its own. Reads 2 words an entry and writes 1.
template <class Scalar>
struct VaryingCoefficientGradient {
  CoefficientGradient<Scalar> gradient;
  Scalar* dA;

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t step = index / gradient.entries, B = gradient.problem.batch;
    dA[index] = gradient.at(step / B, step % B, index % gradient.entries);
  }
};

/// Coefficients that are the same for all steps: sums over parts of equal length, then over the parts, in a fixed order.
template <class Scalar>
struct ConstantCoefficientGradient {
  struct SumParts {};
  struct SumAll {};
  CoefficientGradient<Scalar> gradient;
  std::int64_t parts, part_steps;
  Scalar* sums;  // (parts, entries)
  Scalar* dA;

  KOKKOS_FUNCTION void operator()(SumParts, std::int64_t index) const {
    const std::int64_t part = index / gradient.entries, entry = index % gradient.entries, B = gradient.problem.batch;
    const std::int64_t begin = part * part_steps, all = gradient.problem.steps * B;
    const std::int64_t end = begin + part_steps < all ? begin + part_steps : all;
    Scalar sum = Scalar(0);
    for (std::int64_t step = begin; step < end; ++step) sum = sum + gradient.at(step / B, step % B, entry);
    sums[index] = sum;
  }
  KOKKOS_FUNCTION void operator()(SumAll, std::int64_t entry) const {
    Scalar sum = Scalar(0);
    for (std::int64_t part = 0; part < parts; ++part) sum = sum + sums[part * gradient.entries + entry];
    dA[entry] = sum;
  }
};

/// The gradient with respect to the initial states: A^T db of each sequence's first step; 0 for a sequence of no steps.
template <class Scalar>
struct InitialStateGradient {
  LinearProblem<Scalar> problem;
  const Scalar* db;
  const std::int64_t* offsets;  // packed sequences, or null
  Scalar* dy0;                  // (sequences, D)

  KOKKOS_FUNCTION void operator()(std::int64_t index) const {
    const std::int64_t D = problem.width(), K = problem.block_size;
    const std::int64_t s = index / D, block = index % D / K, column = index % D % K;
    std::int64_t t = problem.time(0), sequence = s;
    if (offsets != nullptr) {
      sequence = 0;
      t = problem.reversed ? offsets[s + 1] - 1 : offsets[s];
      if (offsets[s] == offsets[s + 1]) t = -1;
    }
    Scalar sum = Scalar(0);
    if (t >= 0 && t < problem.steps) {
      const Scalar* a =
          problem.a.data + t * problem.a.time + sequence * problem.a.sequence + block * problem.a.block;
      const Scalar* own = db + (t * problem.batch + sequence) * D + block * K;
      for (std::int64_t row = 0; row < K; ++row) {
        sum = multiply_add_any(a[row * problem.a.row + column * problem.a.column], own[row], sum);
      }
    }
    dy0[index] = sum;
  }
};

template <class ExecutionSpace, class Scalar>
void linear_gradients(const ExecutionSpace& exec, const LinearProblem<Scalar>& problem, const Scalar* db,
                      const LinearGradients<Scalar>& to, Workspace<ExecutionSpace>& workspace) {
  using Index = Kokkos::IndexType<std::int64_t>;
  using Range = Kokkos::RangePolicy<ExecutionSpace, Index>;
  const std::int64_t all = problem.steps * problem.batch;
  const std::int64_t entries = to.scalar ? 1 : problem.width() * problem.block_size;
  const CoefficientGradient<Scalar> gradient{problem, db, entries, to.scalar};
  if (to.dA != nullptr && to.varying) {
    Kokkos::parallel_for("Elaphos::linear_gradient", Range(exec, 0, all * entries),
                         VaryingCoefficientGradient<Scalar>{gradient, to.dA});
  } else if (to.dA != nullptr) {
    // By the problem's size alone, so that bits repeat on any number of threads.
    const std::int64_t part_steps = std::max<std::int64_t>(64, divide_up(all, 4096));
    const std::int64_t parts = std::max<std::int64_t>(1, divide_up(all, part_steps));
    using Kernel = ConstantCoefficientGradient<Scalar>;
    const Kernel kernel{gradient, parts, part_steps,
                        reserve_linear<Scalar>(exec, workspace, std::size_t(parts * entries)), to.dA};
    Kokkos::parallel_for("Elaphos::linear_gradient_parts",
                         Kokkos::RangePolicy<ExecutionSpace, Index, typename Kernel::SumParts>(exec, 0, parts * entries),
                         kernel);
    Kokkos::parallel_for("Elaphos::linear_gradient_sum",
                         Kokkos::RangePolicy<ExecutionSpace, Index, typename Kernel::SumAll>(exec, 0, entries), kernel);
  }
  if (to.dy0 != nullptr) {
    Kokkos::parallel_for("Elaphos::linear_gradient_start", Range(exec, 0, to.sequences * problem.width()),
                         InitialStateGradient<Scalar>{problem, db, to.offsets, to.dy0});
  }
}

}  // namespace elaphos::impl

#endif
