// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../format.hpp"

#include <elaphos/errors.hpp>
#include <elaphos/impl/linear/check_linear.hpp>
#include <elaphos/linear_gradient.hpp>

#include <algorithm>

namespace elaphos::impl {

namespace {

// The block structure that the coefficients' own View says.
LinearSizes sizes_of(CoefficientKind kind, const ArrayShape& a, std::size_t T, std::size_t B, std::size_t D) {
  std::size_t K = 1;
  if (kind == CoefficientKind::dense) K = D;
  if (kind == CoefficientKind::block) K = a.extents[a.rank - 1];
  const std::size_t blocks = K == 0 ? 0 : D / K;
  return {static_cast<std::int64_t>(T), static_cast<std::int64_t>(B), static_cast<std::int64_t>(blocks),
          static_cast<int>(K)};
}

std::string expected_coefficients(CoefficientKind kind, bool varying, std::size_t T, std::size_t B, std::size_t D,
                                  int K) {
  const std::string front = varying ? format("{}, {}", T, B) : "";
  const std::string comma = varying ? ", " : "";
  switch (kind) {
    case CoefficientKind::scalar: return format("({})", front);
    case CoefficientKind::diagonal: return format("({}{}{})", front, comma, D);
    case CoefficientKind::block: return format("({}{}D / K, K, K) with D = {}, K = {}", front, comma, D, K);
    default: return format("({}{}{}, {})", front, comma, D, D);
  }
}

bool coefficients_fit(CoefficientKind kind, bool varying, const ArrayShape& a, std::size_t T, std::size_t B,
                      std::size_t D, const LinearSizes& sizes) {
  if (varying && (a.extents[0] != T || a.extents[1] != B)) return false;
  const std::size_t* own = a.extents + (varying ? 2 : 0);
  const std::size_t K = static_cast<std::size_t>(sizes.block_size);
  switch (kind) {
    case CoefficientKind::scalar: return true;
    case CoefficientKind::diagonal: return own[0] == D;
    case CoefficientKind::block: return K > 0 && own[0] * K == D && own[1] == K && own[2] == K;
    default: return own[0] == D && own[1] == D;
  }
}

}  // namespace

LinearSizes check_linear(CoefficientKind kind, bool varying, const ArrayShape& a, const ArrayShape& b,
                         const ArrayShape& y0, const ArrayShape& states, std::int64_t sequences, bool complex,
                         const LinearOptions& options) {
  const std::size_t T = b.extents[0], B = b.extents[1], D = b.extents[2];
  const bool states_fit = states.rank == 3 ? has_extents(states, {T, B, D}) : has_extents(states, {B, D});
  if (!states_fit) {
    throw InvalidArgument(states.name, extents_of(states),
                          states.rank == 3 ? format("{}, as b", extents_of(b))
                                           : format("({}, {}), as b is {}", B, D, extents_of(b)));
  }
  if (sequences > 0 && B != 1) {
    throw InvalidArgument("b", extents_of(b), "(T, 1, D), as the sequences are packed");
  }
  const std::size_t rows = sequences > 0 ? static_cast<std::size_t>(sequences) : B;
  if (y0.bytes != 0 && !has_extents(y0, {rows, D})) {
    throw InvalidArgument("y0", extents_of(y0), format("({}, {}) or an empty View", rows, D));
  }
  const LinearSizes sizes = sizes_of(kind, a, T, B, D);
  if (!coefficients_fit(kind, varying, a, T, B, D, sizes)) {
    throw InvalidArgument("A", extents_of(a), expected_coefficients(kind, varying, T, B, D, sizes.block_size));
  }
  if (sizes.block_size > widest_block) {
    throw InvalidArgument("A", format("of {} x {} blocks", sizes.block_size, sizes.block_size),
                          format("blocks of at most {}, the widest that is compiled", widest_block));
  }
  if (complex && sizes.block_size > 1) {
    throw InvalidArgument("A", "complex with blocks", "scalar or diagonal coefficients for complex numbers");
  }
  for (const ArrayShape* shape : {&a, &b, &y0, &states}) {
    if (shape->bytes != 0) expect_contiguous(*shape);
  }
  expect_apart(states, a);
  expect_apart(states, y0);
  // In place is fine: each number of b is read before the one of y in its place is written.
  if (states.data != b.data || states.rank != 3) expect_apart(states, b);
  if (options.scan_tile < 1 || options.scan_tile > 1024) {
    throw InvalidArgument("options.scan_tile", format("{}", options.scan_tile), "1 ... 1024 steps");
  }
  return sizes;
}

void check_gradient(const ArrayShape& gradient, const ArrayShape& of, const ArrayShape& y, const ArrayShape& db) {
  if (gradient.bytes == 0) return;
  const bool fits = gradient.rank == of.rank && std::equal(of.extents, of.extents + of.rank, gradient.extents);
  if (!fits) {
    throw InvalidArgument(gradient.name, extents_of(gradient),
                          format("{}, as {}, or an empty View", extents_of(of), of.name));
  }
  expect_contiguous(gradient);
  for (const ArrayShape* other : {&of, &y, &db}) expect_apart(gradient, *other);
}

void check_gradient_options(const LinearOptions& options) {
  if (options.adjoint) {
    throw InvalidArgument("options.adjoint", "true", "false: derivatives of the recurrence itself");
  }
}

void check_composed_map(const ArrayShape& A_all, const ArrayShape& b_all, std::int64_t batch, std::int64_t blocks,
                        int block_size) {
  const std::size_t B = static_cast<std::size_t>(batch), M = static_cast<std::size_t>(blocks),
                    K = static_cast<std::size_t>(block_size);
  if (!has_extents(A_all, {B, M, K, K})) {
    throw InvalidArgument("A_all", extents_of(A_all), format("({}, {}, {}, {})", B, M, K, K));
  }
  expect_contiguous(A_all);
  expect_apart(A_all, b_all);
}

}  // namespace elaphos::impl
