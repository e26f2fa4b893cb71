// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/errors.hpp>
#include <elaphos/impl/check_views.hpp>
#include <elaphos/impl/solve_segments.hpp>

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>

namespace elaphos::impl {

namespace {

std::string extents(const ArrayShape& shape) {
  std::string text = "(";
  for (int r = 0; r < shape.rank; ++r) text += fmt::format("{}{}", r == 0 ? "" : ", ", shape.extents[r]);
  return text + ")";
}

bool overlap(const ArrayShape& a, const ArrayShape& b) {
  if (a.bytes == 0 || b.bytes == 0) return false;
  const auto* a_begin = static_cast<const char*>(a.data);
  const auto* b_begin = static_cast<const char*>(b.data);
  // std::less orders pointers into different arrays; < does not.
  const std::less<const char*> before;
  return before(a_begin, b_begin + b.bytes) && before(b_begin, a_begin + a.bytes);
}

void expect_contiguous(const ArrayShape& shape) {
  if (!shape.contiguous) {
    throw InvalidArgument(shape.name, "a View with gaps between its rows", "contiguous data; copy it first");
  }
}

}  // namespace

void check_problem_shapes(const ArrayShape& y0, const ArrayShape& x, const ArrayShape& y, int state_size,
                          int input_size) {
  const std::size_t D = static_cast<std::size_t>(state_size), I = static_cast<std::size_t>(input_size);
  if (y.extents[2] != D) {
    throw InvalidArgument("y", extents(y), fmt::format("(T, B, {}), the recurrence's state size last", state_size));
  }
  const std::size_t T = y.extents[0], B = y.extents[1];
  if (y0.extents[0] != B || y0.extents[1] != D) {
    throw InvalidArgument("y0", extents(y0), fmt::format("({}, {}), as y is {}", B, state_size, extents(y)));
  }
  const bool x_fits = x.extents[0] == T && x.extents[1] == B && x.extents[2] == I;
  if (I == 0 ? x.bytes != 0 : !x_fits) {
    throw InvalidArgument("x", extents(x),
                          I == 0 ? std::string("an empty View, as the recurrence has no input")
                                 : fmt::format("({}, {}, {}), as y is {}", T, B, input_size, extents(y)));
  }
  expect_contiguous(y0);
  if (I != 0) expect_contiguous(x);
  expect_contiguous(y);
  if (overlap(y, x)) throw InvalidArgument("y", "memory that overlaps x", "memory of its own: y is written, x is read");
  if (overlap(y, y0)) {
    throw InvalidArgument("y", "memory that overlaps y0", "memory of its own: y is written, y0 is read");
  }
}

void check_options(const SolveOptions& options) {
  if (options.tolerance) {
    const auto [absolute, relative] = *options.tolerance;
    const auto valid = [](double value) { return std::isfinite(value) && value >= 0; };
    if (!valid(absolute) || !valid(relative) || (absolute == 0 && relative == 0)) {
      throw InvalidArgument("options.tolerance", fmt::format("{{absolute {}, relative {}}}", absolute, relative),
                            "finite numbers >= 0, at least one of them > 0");
    }
  }
  if (options.max_iterations < 1) {
    throw InvalidArgument("options.max_iterations", fmt::format("{}", options.max_iterations), "at least 1");
  }
  if (options.segments < 0) {
    throw InvalidArgument("options.segments", fmt::format("{}", options.segments), "at least 1, or 0 to let the planner choose");
  }
  if (options.steps_per_segment < 0) {
    throw InvalidArgument("options.steps_per_segment", fmt::format("{}", options.steps_per_segment),
                          "at least 1, or 0 to let the planner choose");
  }
  if (options.segments > 0 && options.steps_per_segment > 0) {
    throw InvalidArgument("options.steps_per_segment", fmt::format("{}", options.steps_per_segment),
                          fmt::format("0, as options.segments is {}: give one of the two", options.segments));
  }
}

}  // namespace elaphos::impl
