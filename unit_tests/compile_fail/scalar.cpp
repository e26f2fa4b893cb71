// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common.hpp"

void solve() {
  elaphos::solve(test::Exec(), test::Riccati{}, test::State(), elaphos::SequenceView<float, test::Memory>(),
                 test::Sequence());
}
