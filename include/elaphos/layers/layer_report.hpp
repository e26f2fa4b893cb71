// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_LAYERS_LAYER_REPORT_HPP
#define ELAPHOS_LAYERS_LAYER_REPORT_HPP

#include <elaphos/report.hpp>

#include <iosfwd>
#include <vector>

namespace elaphos {

/// \brief The reports of a solve of layers, in the order of the states: one a layer, or one a direction.
struct LayerReport {
  std::vector<SolveReport> solves{};

  /// \brief Whether y is right: all solves are. False where the observer has stopped one, the last in the list.
  bool converged() const;
};

/// \brief Writes the reports one after another.
std::ostream& operator<<(std::ostream& out, const LayerReport& report);

}  // namespace elaphos

#endif
