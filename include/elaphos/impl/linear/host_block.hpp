// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_BLOCK_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_BLOCK_HPP

#include <elaphos/impl/linear/linear_problem.hpp>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace elaphos::impl {

/// A block of any width on a host: one thread walks time, or composes maps, with sizes known only when it runs.
template <class Scalar>
class HostBlock {
 public:
  HostBlock(const LinearProblem<Scalar>& problem, std::int64_t channel)
      : m_problem(problem), m_reader(problem, channel), m_K(problem.block_size) {}

  /// Walks positions begin ... end - 1 from and to `state`: reads K^2 + K words a step, writes K; K^2 multiply-adds.
  void walk(std::int64_t begin, std::int64_t end, Scalar* state) const {
    Scalar next[widest_block];
    for (std::int64_t p = begin; p < end; ++p) {
      enter_sequence(p, state);
      step(p, state, next);
      std::copy_n(next, m_K, state);
      if (m_problem.y != nullptr) std::copy_n(state, m_K, m_problem.y + m_reader.entry(m_problem.time(p)));
    }
  }

  /// Composes them: K^3 multiply-adds a step. `A` gets the map's coefficients; `spare` is as large.
  void fold(std::int64_t begin, std::int64_t end, Scalar* A, Scalar* spare, Scalar* b) const {
    Scalar next[widest_block];
    Scalar *before = A, *after = spare;
    for (int r = 0; r < m_K; ++r) {
      for (int c = 0; c < m_K; ++c) before[r * m_K + c] = Scalar(r == c ? 1 : 0);
      b[r] = Scalar(0);
    }
    for (std::int64_t p = begin; p < end; ++p) {
      if (enter_sequence(p, b)) std::fill_n(before, m_K * m_K, Scalar(0));
      step(p, b, next);
      make_safe(p, b, next);
      std::copy_n(next, m_K, b);
      const Scalar* const matrix = m_reader.matrix(p);
      if (matrix == nullptr) continue;  // the identity
      for (int r = 0; r < m_K; ++r) compose_row(matrix, r, before, after + r * m_K);
      std::swap(before, after);
    }
    if (before != A) std::copy_n(before, m_K * m_K, A);
  }

  const ChannelReader<Scalar, widest_block>& reader() const { return m_reader; }

 private:
  // A packed sequence brings its own state, whatever was before.
  bool enter_sequence(std::int64_t p, Scalar* state) const {
    const std::int32_t start = m_reader.start(p);
    if (start == 0) return false;
    for (int r = 0; r < m_K; ++r) {
      state[r] = m_problem.y0 == nullptr ? Scalar(0) : m_reader.first_state(start, r);
    }
    return true;
  }

  Scalar coefficient(const Scalar* matrix, int r, int c) const {
    return matrix[r * m_problem.a.row + c * m_problem.a.column];
  }

  // next = A state + b, each sum from left to right.
  void step(std::int64_t p, const Scalar* state, Scalar* next) const {
    const Scalar* const b = m_problem.b == nullptr ? nullptr : m_problem.b + m_reader.entry(m_problem.time(p));
    for (int r = 0; r < m_K; ++r) next[r] = b == nullptr ? Scalar(0) : b[r];
    const Scalar* const matrix = m_reader.matrix(p);
    if (matrix == nullptr) {
      for (int r = 0; r < m_K; ++r) next[r] = next[r] + state[r];
      return;
    }
    if (m_problem.a.row == 1) {
      // Transposed: columns lie in memory, and rows go side by side.
      for (int c = 0; c < m_K; ++c) {
        const Scalar* const column = matrix + c * m_problem.a.column;
        for (int r = 0; r < m_K; ++r) next[r] = multiply_add_any(column[r], state[c], next[r]);
      }
    } else {
      // A few rows side by side, so that one sum does not wait for the other.
      constexpr int some = 8;
      int r = 0;
      for (; r + some <= m_K; r += some) add_rows<some>(matrix, r, state, next);
      for (; r < m_K; ++r) add_rows<1>(matrix, r, state, next);
    }
    if (m_problem.composed) make_safe(p, state, next);
  }

  template <int count>
  void add_rows(const Scalar* matrix, int first, const Scalar* state, Scalar* next) const {
    Scalar sums[count];
    const Scalar* rows[count];
    for (int r = 0; r < count; ++r) {
      sums[r] = next[first + r];
      rows[r] = matrix + (first + r) * m_problem.a.row;
    }
    for (int c = 0; c < m_K; ++c) {
      for (int r = 0; r < count; ++r) sums[r] = multiply_add_any(rows[r][c], state[c], sums[r]);
    }
    for (int r = 0; r < count; ++r) next[first + r] = sums[r];
  }

  // Once more where a NaN came up, with products in which a zero wins over an infinity.
  void make_safe(std::int64_t p, const Scalar* state, Scalar* next) const {
    const Scalar* const matrix = m_reader.matrix(p);
    if (matrix == nullptr) return;
    for (int r = 0; r < m_K; ++r) {
      if (!is_nan(next[r])) continue;
      next[r] = m_problem.b == nullptr ? Scalar(0) : m_problem.b[m_reader.entry(m_problem.time(p)) + r];
      for (int c = 0; c < m_K; ++c)
        next[r] = next[r] + overflow_safe_product(coefficient(matrix, r, c), state[c], m_problem.packed);
    }
  }

  // Row r of the product of `matrix` and `before`.
  void compose_row(const Scalar* matrix, int r, const Scalar* before, Scalar* row) const {
    std::fill_n(row, m_K, Scalar(0));
    for (int k = 0; k < m_K; ++k) {
      const Scalar factor = coefficient(matrix, r, k);
      for (int c = 0; c < m_K; ++c) row[c] = multiply_add_any(factor, before[k * m_K + c], row[c]);
    }
    for (int c = 0; c < m_K; ++c) {
      if (!is_nan(row[c])) continue;
      row[c] = Scalar(0);
      for (int k = 0; k < m_K; ++k) {
        row[c] = row[c] + overflow_safe_product(coefficient(matrix, r, k), before[k * m_K + c], m_problem.packed);
      }
    }
  }

  const LinearProblem<Scalar>& m_problem;
  ChannelReader<Scalar, widest_block> m_reader;
  int m_K;
};

}  // namespace elaphos::impl

#endif
