// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_BLENDED_HPP
#define ELAPHOS_CELLS_BLENDED_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/errors.hpp>

#include <cmath>
#include <string>

namespace elaphos {

/// \brief The cell with leaky states: y' = (1 - rate) y + rate f(y, x), an Euler step of dy/dt = f - y (Jaeger et al.,
/// 2007). Holds for all states of a unit. Throws `InvalidArgument` unless 0 <= rate <= 1.
template <GatedCell Cell>
Cell leaky(Cell cell, double rate) {
  if (!(rate >= 0 && rate <= 1)) throw InvalidArgument("leaky rate", std::to_string(rate), "a number from 0 to 1");
  using Scalar = typename Cell::scalar_type;
  cell.blend(static_cast<Scalar>(1 - rate), static_cast<Scalar>(rate));
  return cell;
}

/// \brief The cell as a residual step: y' = y + scale f(y, x). Throws `InvalidArgument` unless the scale is finite.
template <GatedCell Cell>
Cell residual(Cell cell, double scale = 1) {
  if (!std::isfinite(scale)) throw InvalidArgument("residual scale", std::to_string(scale), "a finite number");
  cell.blend(1, static_cast<typename Cell::scalar_type>(scale));
  return cell;
}

}  // namespace elaphos

#endif
