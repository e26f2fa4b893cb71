// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_TILE_TOTALS_HPP
#define ELAPHOS_IMPL_LINEAR_TILE_TOTALS_HPP

namespace elaphos::impl {

/// Where the composed maps of tiles are kept: as coefficients and offsets of a shorter problem, one step a tile.
template <class Scalar>
struct TileTotals {
  Scalar* A = nullptr;      ///< (tiles, channels, K, K)
  Scalar* b = nullptr;      ///< (tiles, channels, K)
  Scalar* spare = nullptr;  ///< (tiles, channels, so many as the kernels ask for)
};

}  // namespace elaphos::impl

#endif
