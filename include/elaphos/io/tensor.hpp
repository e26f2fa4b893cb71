// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IO_TENSOR_HPP
#define ELAPHOS_IO_TENSOR_HPP

#include <cstddef>
#include <string>
#include <vector>

namespace elaphos::io {

/// \brief A named tensor on the host.
struct Tensor {
  /// As a module's state_dict() has it: "encoder.rnn.weight_ih_l0".
  std::string name;
  /// What an entry is, in the terms of the safetensors format. "F32" and "F64" are numbers that Elaphos computes with;
  /// other types ("I64", "BOOL", ...) are kept as they are.
  std::string dtype;
  /// Extents, the slowest first; none for a single number.
  std::vector<std::size_t> shape;
  /// The entries, row-major, in the machine's byte order.
  std::vector<std::byte> bytes;
};

}  // namespace elaphos::io

#endif
