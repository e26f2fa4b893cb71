// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/layers/layer_report.hpp>

#include <algorithm>
#include <cstddef>
#include <ostream>

namespace elaphos {

bool LayerReport::converged() const {
  return std::all_of(solves.begin(), solves.end(), [](const SolveReport& report) { return report.converged(); });
}

std::ostream& operator<<(std::ostream& out, const LayerReport& report) {
  for (std::size_t state = 0; state < report.solves.size(); ++state) {
    out << "state " << state << '\n' << report.solves[state];
  }
  return out;
}

}  // namespace elaphos
