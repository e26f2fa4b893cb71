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

void check_dropout(const Dropout& dropout, std::size_t layers, std::int64_t steps, std::int64_t batch) {
  if (!(dropout.probability >= 0 && dropout.probability < 1)) {
    throw InvalidArgument("options.dropout.probability", format("{}", dropout.probability), "a number in [0, 1)");
  }
  if (dropout.first_step < 0 || dropout.first_step > most_steps - steps) {
    throw InvalidArgument("options.dropout.first_step", format("{}", dropout.first_step),
                          format("0 to 2^48 - {}, the number of steps", steps));
  }
  if (dropout.first_sequence < 0 || dropout.first_sequence > most_sequences - batch) {
    throw InvalidArgument("options.dropout.first_sequence", format("{}", dropout.first_sequence),
                          format("0 to 2^32 - {}, the number of sequences", batch));
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
                  std::size_t batch, const std::string& y) {
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
      if (!has_extents(states[state], {batch, static_cast<std::size_t>(layer.state_size)})) {
        throw InvalidArgument(which, extents_of(states[state]),
                              format("({}, {}), as y is {}", batch, layer.state_size, y));
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

void check_layer_shapes(const LayerShapes& shapes, const std::vector<LayerSizes>& layers, const LayerOptions& options) {
  const std::size_t T = shapes.y.extents[0], B = shapes.y.extents[1];
  const std::size_t I = static_cast<std::size_t>(layers.front().input_size);
  const std::string y = extents_of(shapes.y);
  if (shapes.y.extents[2] != static_cast<std::size_t>(layers.back().output_size())) {
    throw InvalidArgument("y", y,
                          format("(T, B, {}), the output size of the last layer last", layers.back().output_size()));
  }
  if (I == 0 ? shapes.x.bytes != 0 : !has_extents(shapes.x, {T, B, I})) {
    throw InvalidArgument("x", extents_of(shapes.x),
                          I == 0 ? std::string("an empty View, as the first layer has no input")
                                 : format("({}, {}, {}), as y is {}", T, B, I, y));
  }
  check_states("y0", shapes.y0, layers, B, y);
  check_states("final_states", shapes.final_states, layers, B, y);
  check_solve_options(options.solve, static_cast<std::int64_t>(T));
  check_dropout(options.dropout, layers.size(), static_cast<std::int64_t>(T), static_cast<std::int64_t>(B));
  if (I != 0) expect_contiguous(shapes.x);
  expect_contiguous(shapes.y);

  expect_own_memory(shapes.y, "y", shapes.x, "x");
  for (std::size_t i = 0; i < shapes.y0.size(); ++i) {
    expect_own_memory(shapes.y, "y", shapes.y0[i], format("y0[{}]", i));
    const ArrayShape& state = shapes.final_states[i];
    const std::string name = format("final_states[{}]", i);
    expect_own_memory(state, name, shapes.x, "x");
    expect_own_memory(state, name, shapes.y, "y");
    for (std::size_t j = 0; j < i; ++j) {
      expect_own_memory(state, name, shapes.final_states[j], format("final_states[{}]", j));
    }
  }
}

}  // namespace elaphos::impl
