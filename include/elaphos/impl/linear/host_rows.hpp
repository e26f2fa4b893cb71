// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_ROWS_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_ROWS_HPP

#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>

#include <algorithm>
#include <cstdint>
#include <type_traits>

namespace elaphos::impl {

/// The most channels that a thread walks together: a long piece of each row, since memory is read ahead within a row,
/// with states that stay in the first cache.
template <class Scalar>
inline constexpr int most_host_lanes = int(8192 / sizeof(Scalar));

/// So many that states are kept in vector registers.
template <class Scalar>
inline constexpr int few_host_lanes = int(256 / sizeof(Scalar));

/// A group of channels with one number each, whose coefficients lie in rows like the data: the vector case.
template <class Scalar>
struct HostRows {
  static constexpr int most = most_host_lanes<Scalar>, few = few_host_lanes<Scalar>;
  const LinearProblem<Scalar>& problem;
  std::int64_t first;
  int count;
  Scalar ones[most];  // the coefficients of an adjoint's first step

  /// Group `group` of groups of `lanes` channels, at most `most`.
  HostRows(const LinearProblem<Scalar>& of, std::int64_t group, int lanes)
      : problem(of),
        first(group * lanes),
        count(static_cast<int>(std::min<std::int64_t>(lanes, of.channels() - first))) {
    if (of.previous_coefficients) std::fill_n(ones, count, Scalar(1));
  }

  /// Channels of a group: a share of them for each of `threads`, whole cache lines of them.
  static int lanes_of_a_group(std::int64_t channels, std::int64_t threads) {
    const std::int64_t share = divide_up(divide_up(channels, threads), few) * few;
    return static_cast<int>(std::min<std::int64_t>(share, most));
  }

  /// Whether neighbouring channels have neighbouring coefficients.
  static bool possible(const LinearProblem<Scalar>& of) {
    const bool rows = of.a.block == 1 && (of.batch == 1 || of.a.sequence == of.blocks);
    return of.block_size == 1 && rows && of.starts == nullptr;
  }

  const Scalar* a(std::int64_t p) const {
    const std::int64_t t = problem.time(p);
    if (!problem.previous_coefficients) return problem.a.data + t * problem.a.time + first;
    if (p == 0) return ones;
    return problem.a.data + (problem.reversed ? t + 1 : t - 1) * problem.a.time + first;
  }

  std::int64_t entry(std::int64_t p) const { return problem.time(p) * problem.channels() + first; }

  void fold(std::int64_t begin, std::int64_t end, Scalar* A, Scalar* b) const {
    with_count([&]<int n>(std::integral_constant<int, n>) { fold_some<n>(begin, end, A, b); });
  }

  void walk(std::int64_t begin, std::int64_t end, Scalar* state) const {
    with_count([&]<int n>(std::integral_constant<int, n>) { walk_some<n>(begin, end, state); });
  }

 private:
  // Usual numbers of channels are known when this is compiled: only then the states stay in registers. Else 0.
  template <class Work>
  void with_count(const Work& work) const {
    if (count == few) return work(std::integral_constant<int, few>());
    if (count == 1) return work(std::integral_constant<int, 1>());
    if (count == 2) return work(std::integral_constant<int, 2>());
    if (count == 4) return work(std::integral_constant<int, 4>());
    if (count == 8) return work(std::integral_constant<int, 8>());
    if (count == 16) return work(std::integral_constant<int, 16>());
    work(std::integral_constant<int, 0>());
  }

  template <int fixed>
  void fold_some(std::int64_t begin, std::int64_t end, Scalar* A, Scalar* b) const {
    const int n = fixed > 0 ? fixed : count;
    Scalar product[fixed > 0 ? fixed : most], offset[fixed > 0 ? fixed : most];
    for (int c = 0; c < n; ++c) {
      product[c] = Scalar(1);
      offset[c] = Scalar(0);
    }
    for (std::int64_t p = begin; p < end; ++p) {
      const Scalar* factor = a(p);
      for (int c = 0; c < n; ++c) product[c] = factor[c] * product[c];
      if (problem.b == nullptr) continue;
      const Scalar* added = problem.b + entry(p);
      for (int c = 0; c < n; ++c) offset[c] = multiply_add_any(factor[c], offset[c], added[c]);
    }
    bool suspect = false;
    for (int c = 0; c < n; ++c) suspect = suspect || is_nan(product[c]) || is_nan(offset[c]);
    // Rare: once more, with products in which a zero wins over an infinity.
    if (suspect) fold_again(begin, end, n, product, offset);
    for (int c = 0; c < n; ++c) {
      A[c] = product[c];
      b[c] = offset[c];
    }
  }

  void fold_again(std::int64_t begin, std::int64_t end, int n, Scalar* product, Scalar* offset) const {
    for (int c = 0; c < n; ++c) {
      AffineMap<Scalar, 1> total;
      total.set_identity();
      for (std::int64_t p = begin; p < end; ++p) {
        const Scalar added = problem.b == nullptr ? Scalar(0) : problem.b[entry(p) + c];
        total = compose(total, AffineMap<Scalar, 1>{{{a(p)[c]}}, {added}}, problem.packed);
      }
      product[c] = total.A[0][0];
      offset[c] = total.b[0];
    }
  }

  template <int fixed>
  void walk_some(std::int64_t begin, std::int64_t end, Scalar* from) const {
    const int n = fixed > 0 ? fixed : count;
    Scalar state[fixed > 0 ? fixed : most];
    for (int c = 0; c < n; ++c) state[c] = from[c];
    if (problem.composed) return leap_some(begin, end, n, state, from);
    for (std::int64_t p = begin; p < end; ++p) {
      const Scalar* factor = a(p);
      if (problem.b == nullptr) {
        for (int c = 0; c < n; ++c) state[c] = multiply_add_any(factor[c], state[c], Scalar(0));
      } else {
        const Scalar* added = problem.b + entry(p);
        if (problem.y != nullptr) {
          advance_row(n, factor, added, state, problem.y + entry(p));
          continue;
        }
        for (int c = 0; c < n; ++c) state[c] = multiply_add_any(factor[c], state[c], added[c]);
      }
      if (problem.y != nullptr) {
        Scalar* to = problem.y + entry(p);
        for (int c = 0; c < n; ++c) to[c] = state[c];
      }
    }
    for (int c = 0; c < n; ++c) from[c] = state[c];
  }

  // One loop that writes both, rather than one that reads the states again. `to` may be `added` itself, which compilers
  // need not be afraid of.
  static void advance_row(int n, const Scalar* factor, const Scalar* added, Scalar* state, Scalar* to) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC ivdep
#endif
    for (int c = 0; c < n; ++c) {
      const Scalar next = multiply_add_any(factor[c], state[c], added[c]);
      state[c] = next;
      to[c] = next;
    }
  }

  void leap_some(std::int64_t begin, std::int64_t end, int n, Scalar* state, Scalar* from) const {
    for (std::int64_t p = begin; p < end; ++p) {
      for (int c = 0; c < n; ++c) {
        const AffineMap<Scalar, 1> map{{{a(p)[c]}}, {problem.b[entry(p) + c]}};
        Scalar one[1] = {state[c]};
        map.leap(one, problem.packed);
        state[c] = one[0];
        if (problem.y != nullptr) problem.y[entry(p) + c] = state[c];
      }
    }
    for (int c = 0; c < n; ++c) from[c] = state[c];
  }
};

}  // namespace elaphos::impl

#endif
