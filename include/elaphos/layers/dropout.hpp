// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_DROPOUT_HPP
#define ELAPHOS_LAYERS_DROPOUT_HPP

#include <cstdint>

namespace elaphos {

/// \brief Dropout between layers, for training: a number that a layer hands to the next is 0 with probability p, else
/// it is multiplied by 1 / (1 - p) (Srivastava et al., 2014; at the place where PyTorch has it).
///
/// Which numbers are dropped is a function of the seed, the layer, the step, the sequence and the unit alone, whatever
/// the plan, the threads, and the way in which steps and sequences are divided over calls.
struct Dropout {
  double probability = 0;           ///< p, in [0, 1); 0: none
  std::uint64_t seed = 0;           ///< another one for every training step
  std::int64_t first_step = 0;      ///< what the first step of a call is counted as; up to 2^48
  std::int64_t first_sequence = 0;  ///< what the first sequence of a call is counted as; up to 2^32
};

}  // namespace elaphos

#endif
