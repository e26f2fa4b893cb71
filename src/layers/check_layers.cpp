// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../format.hpp"

#include <elaphos/errors.hpp>
#include <elaphos/impl/layers/check_layers.hpp>
#include <elaphos/impl/solve_segments.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace elaphos::impl {

namespace {

constexpr std::int64_t most_steps = std::int64_t(1) << 48, most_sequences = std::int64_t(1) << 32;
constexpr std::size_t most_layers = std::size_t(1) << 16;

std::string text_of(const LayerSizes& sizes) {
  return format("input size {}, state size {}, hidden size {}", sizes.input_size, sizes.state_size, sizes.hidden_size);
}

void check_dropout(const Dropout& dropout, std::size_t layers, std::int64_t steps, std::int64_t sequences) {
  if (!(dropout.probability >= 0 && dropout.probability < 1)) {
    throw InvalidArgument("options.dropout.probability", format("{}", dropout.probability), "a number in [0, 1)");
  }
  if (dropout.first_step < 0 || dropout.first_step > most_steps - steps) {
    throw InvalidArgument("options.dropout.first_step", format("{}", dropout.first_step),
                          format("0 to 2^48 - {}, the number of steps", steps));
  }
  if (dropout.first_sequence < 0 || dropout.first_sequence > most_sequences - sequences) {
    throw InvalidArgument("options.dropout.first_sequence", format("{}", dropout.first_sequence),
                          format("0 to 2^32 - {}, the number of sequences", sequences));
  }
  if (dropout.probability > 0 && layers > most_layers) {
    throw InvalidArgument("options.dropout.probability", format("{} with {} layers", dropout.probability, layers),
                          format("0, or at most {} layers", most_layers));
  }
}

void check_solve_options(const SolveOptions& options, std::int64_t steps) {
  check_options(options);
  if (options.keep_every != 1) {
    throw InvalidArgument("options.solve.keep_every", format("{}", options.keep_every),
                          "1: a layer reads every output of the one before");
  }
  if (options.initial_guess == InitialGuess::trajectory) {
    throw InvalidArgument("options.solve.initial_guess", to_string(options.initial_guess),
                          "another one: y holds the last layer's output only");
  }
  if (options.steps != 0 && options.steps != steps) {
    throw InvalidArgument("options.solve.steps", format("{}", options.steps), format("0 or {}, as y has", steps));
  }
}

void check_states(const char* name, const std::vector<ArrayShape>& states, const std::vector<LayerSizes>& layers,
                  std::size_t sequences, const std::string& reason) {
  std::size_t expected = 0;
  for (const LayerSizes& layer : layers) expected += static_cast<std::size_t>(layer.directions);
  if (states.size() != expected) {
    throw InvalidArgument(name, format("a range of {}", states.size()),
                          format("{} Views, one for each direction of every layer", expected));
  }
  std::size_t state = 0;
  for (const LayerSizes& layer : layers) {
    for (int direction = 0; direction < layer.directions; ++direction, ++state) {
      const std::string which = format("{}[{}]", name, state);
      if (!has_extents(states[state], {sequences, static_cast<std::size_t>(layer.state_size)})) {
        throw InvalidArgument(which, extents_of(states[state]),
                              format("({}, {}), as {}", sequences, layer.state_size, reason));
      }
      ArrayShape named = states[state];
      named.name = which.c_str();
      expect_contiguous(named);
    }
  }
}

// Two arrays of which the first is written.
void expect_own_memory(const ArrayShape& written, const std::string& name, const ArrayShape& other,
                       const std::string& other_name) {
  if (overlap(written, other)) {
    throw InvalidArgument(name, format("memory that overlaps {}", other_name), "memory of its own");
  }
}

}  // namespace

void check_directions(const LayerSizes& forward, const LayerSizes& backward) {
  const bool same = forward.input_size == backward.input_size && forward.state_size == backward.state_size &&
                    forward.hidden_size == backward.hidden_size;
  if (!same) throw InvalidArgument("backward", text_of(backward), text_of(forward) + ", as the forward cell");
}

void check_layers_fit(const std::vector<LayerSizes>& layers) {
  if (layers.empty()) throw InvalidArgument("layers", "none", "at least one");
  for (std::size_t index = 0; index < layers.size(); ++index) {
    const LayerSizes& layer = layers[index];
    if (layer.hidden_size < 1 || layer.hidden_size > layer.state_size) {
      throw InvalidArgument(format("layer {}", index), text_of(layer),
                            "a hidden size from 1 to the state size: states begin with what is handed on");
    }
    if (index > 0 && layer.input_size != layers[index - 1].output_size()) {
      throw InvalidArgument(format("layer {}", index), format("input size {}", layer.input_size),
                            format("{}, the output size of layer {}", layers[index - 1].output_size(), index - 1));
    }
  }
}

std::int64_t check_layer_shapes(const LayerShapes& shapes, const std::vector<LayerSizes>& layers,
                                const LayerOptions& options) {
  const auto& [y0, x, y, final_states] = shapes;
  if (y.extents[2] != static_cast<std::size_t>(layers.back().output_size())) {
    throw InvalidArgument("y", extents_of(y),
                          format("(T, B, {}), the output size of the last layer last", layers.back().output_size()));
  }
  const std::int64_t sequences = count_sequences(x, y), steps = static_cast<std::int64_t>(y.extents[0]);
  const std::string reason = format("{} is {}", x.offsets ? "offsets" : "y", extents_of(x.offsets ? *x.offsets : y));
  check_states("y0", y0, layers, static_cast<std::size_t>(sequences), reason);
  check_states("final_states", final_states, layers, static_cast<std::size_t>(sequences), reason);
  check_solve_options(options.solve, steps);
  check_dropout(options.dropout, layers.size(), steps, sequences);
  expect_contiguous(y);
  check_inputs(x, y.extents[0], layers.front().input_size, y);

  for (std::size_t i = 0; i < y0.size(); ++i) {
    expect_own_memory(y, "y", y0[i], format("y0[{}]", i));
    const ArrayShape& state = final_states[i];
    const std::string name = format("final_states[{}]", i);
    x.for_each([&](const ArrayShape& array) { expect_own_memory(state, name, array, array.name); });
    expect_own_memory(state, name, y, "y");
    for (std::size_t j = 0; j < i; ++j) {
      expect_own_memory(state, name, final_states[j], format("final_states[{}]", j));
    }
  }
  return sequences;
}

}  // namespace elaphos::impl
