// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LAYERS_DROPOUT_MASK_HPP
#define ELAPHOS_IMPL_LAYERS_DROPOUT_MASK_HPP

#include <elaphos/impl/layers/philox.hpp>
#include <elaphos/layers/dropout.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace elaphos::impl {

/// Which outputs of a layer are dropped. Four neighbouring units share a call of Philox.
template <class Scalar>
struct DropoutMask {
  PhiloxKey key{};
  std::uint64_t threshold = 0;  ///< p 2^32: words under it drop their unit; 0: nothing is dropped
  Scalar scale = 1;
  std::uint64_t first_step = 0;
  std::uint64_t first_sequence = 0;
  std::uint32_t layer = 0;

  DropoutMask() = default;
  DropoutMask(const Dropout& dropout, std::size_t of_layer)
      : key{{static_cast<std::uint32_t>(dropout.seed), static_cast<std::uint32_t>(dropout.seed >> 32)}},
        threshold(static_cast<std::uint64_t>(std::llround(dropout.probability * 4294967296.0))),
        scale(static_cast<Scalar>(1 / (1 - dropout.probability))),
        first_step(static_cast<std::uint64_t>(dropout.first_step)),
        first_sequence(static_cast<std::uint64_t>(dropout.first_sequence)),
        layer(static_cast<std::uint32_t>(of_layer)) {}

  /// The words of units 4 quad to 4 quad + 3 at step t of sequence b. The layer takes the counter's bits over a
  /// step's 48.
  KOKKOS_FORCEINLINE_FUNCTION PhiloxWords words(std::int64_t t, std::int64_t b, int quad) const {
    const std::uint64_t step = first_step + static_cast<std::uint64_t>(t);
    const std::uint64_t sequence = first_sequence + static_cast<std::uint64_t>(b);
    return philox_4x32_10({{static_cast<std::uint32_t>(step), static_cast<std::uint32_t>(step >> 32) | layer << 16,
                            static_cast<std::uint32_t>(sequence), static_cast<std::uint32_t>(quad)}},
                          key);
  }

  KOKKOS_FORCEINLINE_FUNCTION Scalar applied(Scalar number, std::uint32_t word) const {
    return word < threshold ? Scalar(0) : scale * number;
  }
};

}  // namespace elaphos::impl

#endif
