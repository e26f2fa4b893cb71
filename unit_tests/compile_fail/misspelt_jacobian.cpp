// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common.hpp"

struct NotConst : test::Riccati {
  void jacobian(elaphos::StepContext, auto y, auto, auto, auto J) { J(0, 0) = 2 * y[0]; }
};

void solve() { elaphos::solve(test::Exec(), NotConst{}, test::State(), test::Sequence(), test::Sequence()); }
