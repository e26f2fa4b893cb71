// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_LAYER_OPTIONS_HPP
#define ELAPHOS_LAYERS_LAYER_OPTIONS_HPP

#include <elaphos/layers/dropout.hpp>
#include <elaphos/options.hpp>

namespace elaphos {

/// \brief What a solve of layers may be told; every default is safe.
struct LayerOptions {
  /// Of every layer's solve. All states must be kept (`keep_every` 1), and y is no guess (`initial_guess`): it holds
  /// the last layer's output only.
  SolveOptions solve{};
  Dropout dropout{};
};

}  // namespace elaphos

#endif
