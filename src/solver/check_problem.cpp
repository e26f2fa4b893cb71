// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../format.hpp"

#include <elaphos/errors.hpp>
#include <elaphos/impl/enqueue_segments.hpp>
#include <elaphos/impl/input_arrays.hpp>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace elaphos::impl {

namespace {

// Every block (T, B, .), and I numbers in all.
void check_blocks(const std::vector<ArrayShape>& blocks, std::size_t T, std::size_t B, int input_size,
                  const ArrayShape& y) {
  const std::size_t I = static_cast<std::size_t>(input_size);
  if (I == 0) {
    if (blocks.size() == 1 && blocks[0].bytes == 0) return;
    throw InvalidArgument(blocks[0].name, extents_of(blocks[0]), "an empty View, as the recurrence has no input");
  }
  std::size_t given = 0;
  for (const ArrayShape& block : blocks) {
    const bool alone = blocks.size() == 1;
    given += block.extents[2];
    if (block.extents[0] == T && block.extents[1] == B && (!alone || block.extents[2] == I)) continue;
    throw InvalidArgument(block.name, extents_of(block),
                          format("({}, {}, {}), as y is {}", T, B, alone ? std::to_string(input_size) : "features",
                                 extents_of(y)));
  }
  if (given != I) {
    throw InvalidArgument("x", format("{} features in {} Views", given, blocks.size()),
                          format("{}, the recurrence's input size", input_size));
  }
  for (const ArrayShape& block : blocks) expect_contiguous(block);
}

void check_flags(const std::optional<ArrayShape>& flags, std::size_t T, std::size_t B, const InputArrays& x,
                 const ArrayShape& y) {
  if (!flags) return;
  if (x.offsets) {
    throw InvalidArgument(flags->name, "given with offsets", "none: packed sequences begin and end by their offsets");
  }
  if (!has_extents(*flags, {T, B})) {
    throw InvalidArgument(flags->name, extents_of(*flags), format("({}, {}), as y is {}", T, B, extents_of(y)));
  }
  expect_contiguous(*flags);
}

}  // namespace

std::int64_t count_sequences(const InputArrays& x, const ArrayShape& y) {
  if (!x.offsets) return static_cast<std::int64_t>(y.extents[1]);
  if (y.extents[1] != 1) {
    throw InvalidArgument("y", extents_of(y), "(T, 1, D), as sequences are packed one behind the other");
  }
  return check_offsets(*x.offsets);
}

void check_inputs(const InputArrays& x, std::size_t T, int input_size, const ArrayShape& y) {
  const std::size_t B = y.extents[1];
  check_blocks(x.blocks, T, B, input_size, y);
  if (x.offsets) expect_contiguous(*x.offsets);
  check_flags(x.mask, T, B, x, y);
  check_flags(x.resets, T, B, x, y);
  x.for_each([&y](const ArrayShape& array) { expect_apart(y, array); });
}

std::int64_t check_problem_shapes(const ArrayShape& y0, const InputArrays& x, const ArrayShape& y, int state_size,
                                  int input_size, const SolveOptions& options) {
  const std::size_t D = static_cast<std::size_t>(state_size), I = static_cast<std::size_t>(input_size);
  if (y.extents[2] != D) {
    throw InvalidArgument("y", extents_of(y), format("(T, B, {}), the recurrence's state size last", state_size));
  }
  const std::size_t every = static_cast<std::size_t>(options.keep_every);
  if (every > 1 && options.steps == 0 && I == 0) {
    throw InvalidArgument("options.steps", "0", "T: neither the input nor y says it, as not every state is kept");
  }
  const std::size_t said = every == 1 ? y.extents[0] : x.blocks[0].extents[0];
  const std::size_t T = options.steps > 0 ? static_cast<std::size_t>(options.steps) : said;
  if (y.extents[0] != (T + every - 1) / every) {
    throw InvalidArgument("y", extents_of(y),
                          format("{} states, for {} steps of which every {} is kept", (T + every - 1) / every, T,
                                 every == 1 ? std::string("one") : format("{}th", every)));
  }
  const std::size_t beginnings = static_cast<std::size_t>(count_sequences(x, y));
  if (y0.extents[0] != beginnings || y0.extents[1] != D) {
    throw InvalidArgument("y0", extents_of(y0),
                          format("({}, {}), as {} is {}", beginnings, state_size, x.offsets ? "offsets" : "y",
                                 extents_of(x.offsets ? *x.offsets : y)));
  }
  if (every > 1 && options.initial_guess == InitialGuess::trajectory) {
    throw InvalidArgument("options.initial_guess", to_string(options.initial_guess),
                          "another one: y does not hold every state");
  }
  expect_contiguous(y0);
  expect_contiguous(y);
  expect_apart(y, y0);
  check_inputs(x, T, input_size, y);
  return static_cast<std::int64_t>(T);
}

void check_options(const SolveOptions& options) {
  if (options.tolerance) {
    const auto [absolute, relative] = *options.tolerance;
    const auto valid = [](double value) { return std::isfinite(value) && value >= 0; };
    if (!valid(absolute) || !valid(relative) || (absolute == 0 && relative == 0)) {
      throw InvalidArgument("options.tolerance", format("{{absolute {}, relative {}}}", absolute, relative),
                            "finite numbers >= 0, at least one of them > 0");
    }
  }
  if (!(options.sensitivity_limit > 0)) {
    throw InvalidArgument("options.sensitivity_limit", format("{}", options.sensitivity_limit), "a number > 0");
  }
  if (!(options.correction_limit > 0)) {
    throw InvalidArgument("options.correction_limit", format("{}", options.correction_limit), "a number > 0");
  }
  if (options.max_iterations < 1) {
    throw InvalidArgument("options.max_iterations", format("{}", options.max_iterations), "at least 1");
  }
  if (options.window_steps < 0) {
    throw InvalidArgument("options.window_steps", format("{}", options.window_steps),
                          "at least 1, or 0 for all steps at once");
  }
  if (options.keep_every < 1) {
    throw InvalidArgument("options.keep_every", format("{}", options.keep_every), "at least 1");
  }
  if (options.steps < 0) {
    throw InvalidArgument("options.steps", format("{}", options.steps), "at least 1, or 0 for as many as x or y has");
  }
  if (options.segments < 0) {
    throw InvalidArgument("options.segments", format("{}", options.segments),
                          "at least 1, or 0 to let the planner choose");
  }
  if (options.steps_per_segment < 0) {
    throw InvalidArgument("options.steps_per_segment", format("{}", options.steps_per_segment),
                          "at least 1, or 0 to let the planner choose");
  }
  if (options.segments > 0 && options.steps_per_segment > 0) {
    throw InvalidArgument("options.steps_per_segment", format("{}", options.steps_per_segment),
                          format("0, as options.segments is {}: give one of the two", options.segments));
  }
}

void check_queueable(const SolveOptions& options, bool steps_by_host) {
  const auto expect = [](bool can, const char* name, const std::string& value, const char* expected) {
    if (!can)
      throw InvalidArgument(name, value, std::string(expected) + " in an enqueued solve, whose host does not wait");
  };
  expect(!steps_by_host, "recurrence", "one whose steps the host calls", "a cell of at most 128 units");
  expect(!is_damped(options.method), "options.method", to_string(options.method), "a method without damping");
  expect(options.at_limit != AtLimit::throw_exception, "options.at_limit", "throw_exception",
         "complete_sequentially or return_iterate");
  expect(std::isinf(options.sensitivity_limit), "options.sensitivity_limit", format("{}", options.sensitivity_limit),
         "infinity");
  expect(options.window_steps == 0, "options.window_steps", format("{}", options.window_steps), "0");
  expect(options.keep_every == 1, "options.keep_every", format("{}", options.keep_every), "1");
  expect(!options.observer, "options.observer", "a function", "none");
  expect(!options.estimate_growth, "options.estimate_growth", "true", "false");
  expect(!options.measure_time, "options.measure_time", "true", "false");
}

}  // namespace elaphos::impl
