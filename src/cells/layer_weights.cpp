// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../format.hpp"

#include <elaphos/cells/layer_weights.hpp>
#include <elaphos/errors.hpp>

#include <string>

namespace elaphos::impl {

namespace {

std::string text_of(MatrixShape shape) { return format("({}, {})", shape.rows, shape.columns); }

void expect_entries(const char* cell, const char* name, std::size_t found, std::size_t rows, std::size_t units) {
  if (found == rows) return;
  throw InvalidArgument(format("{} {}", cell, name), format("({})", found), format("({}), as H = {}", rows, units));
}

}  // namespace

void check_layer_weights(const char* cell, LayerKind kind, MatrixShape input_weights, MatrixShape hidden_weights,
                         std::size_t input_bias, std::size_t hidden_bias) {
  const auto gates = static_cast<std::size_t>(kind.gates);
  if (kind.heads < 1) throw InvalidArgument(format("{} heads", cell), format("{}", kind.heads), "at least 1");
  const std::size_t units =
      kind.recurrent ? hidden_weights.columns * static_cast<std::size_t>(kind.heads) : input_weights.rows / gates;
  const std::size_t rows = gates * units;
  if (kind.recurrent && (units == 0 || hidden_weights.rows != rows)) {
    throw InvalidArgument(format("{} hidden_weights", cell), text_of(hidden_weights),
                          kind.heads == 1 ? format("({} H, H) with H >= 1", gates)
                                          : format("({} H, H / {}) for {} heads", gates, kind.heads, kind.heads));
  }
  if (!kind.recurrent && hidden_weights.rows * hidden_weights.columns + hidden_bias > 0) {
    throw InvalidArgument(format("{} hidden_weights", cell), text_of(hidden_weights), "none, nor a hidden_bias");
  }
  if (units == 0 || input_weights.rows != rows) {
    throw InvalidArgument(format("{} input_weights", cell), text_of(input_weights),
                          kind.recurrent ? format("({}, I), as hidden_weights has H = {}", rows, units)
                                         : format("({} H, I) with H >= 1", gates));
  }
  expect_entries(cell, "input_bias", input_bias, rows, units);
  if (kind.recurrent) expect_entries(cell, "hidden_bias", hidden_bias, rows, units);
}

void check_unit_weights(const char* cell, const char* name, MatrixShape found, MatrixShape expected) {
  if (found.rows == expected.rows && found.columns == expected.columns) return;
  throw InvalidArgument(format("{} {}", cell, name), text_of(found), text_of(expected));
}

}  // namespace elaphos::impl
