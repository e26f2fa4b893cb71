// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../format.hpp"

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/errors.hpp>

namespace elaphos::impl {

void check_layer_weights(const char* cell, int gates, MatrixShape input_weights, MatrixShape hidden_weights,
                         std::size_t input_bias, std::size_t hidden_bias) {
  const std::size_t hidden_size = hidden_weights.columns;
  const std::size_t rows = static_cast<std::size_t>(gates) * hidden_size;
  if (hidden_size == 0 || hidden_weights.rows != rows) {
    throw InvalidArgument(format("{} hidden_weights", cell),
                          format("({}, {})", hidden_weights.rows, hidden_weights.columns),
                          format("({} H, H) with H >= 1", gates));
  }
  if (input_weights.rows != rows) {
    throw InvalidArgument(format("{} input_weights", cell),
                          format("({}, {})", input_weights.rows, input_weights.columns),
                          format("({}, I), as hidden_weights has H = {}", rows, hidden_size));
  }
  if (input_bias != rows) {
    throw InvalidArgument(format("{} input_bias", cell), format("({})", input_bias),
                          format("({}), as hidden_weights has H = {}", rows, hidden_size));
  }
  if (hidden_bias != rows) {
    throw InvalidArgument(format("{} hidden_bias", cell), format("({})", hidden_bias),
                          format("({}), as hidden_weights has H = {}", rows, hidden_size));
  }
}

}  // namespace elaphos::impl
