// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/errors.hpp>

#include <fmt/format.h>

namespace elaphos::impl {

void check_layer_weights(const char* cell, int gates, MatrixShape input_weights, MatrixShape hidden_weights,
                         std::size_t input_bias, std::size_t hidden_bias) {
  const std::size_t hidden_size = hidden_weights.columns;
  const std::size_t rows = static_cast<std::size_t>(gates) * hidden_size;
  if (hidden_size == 0 || hidden_weights.rows != rows) {
    throw InvalidArgument(fmt::format("{} hidden_weights", cell),
                          fmt::format("({}, {})", hidden_weights.rows, hidden_weights.columns),
                          fmt::format("({} H, H) with H >= 1", gates));
  }
  if (input_weights.rows != rows) {
    throw InvalidArgument(fmt::format("{} input_weights", cell),
                          fmt::format("({}, {})", input_weights.rows, input_weights.columns),
                          fmt::format("({}, I), as hidden_weights has H = {}", rows, hidden_size));
  }
  if (input_bias != rows) {
    throw InvalidArgument(fmt::format("{} input_bias", cell), fmt::format("({})", input_bias),
                          fmt::format("({}), as hidden_weights has H = {}", rows, hidden_size));
  }
  if (hidden_bias != rows) {
    throw InvalidArgument(fmt::format("{} hidden_bias", cell), fmt::format("({})", hidden_bias),
                          fmt::format("({}), as hidden_weights has H = {}", rows, hidden_size));
  }
}

}  // namespace elaphos::impl
