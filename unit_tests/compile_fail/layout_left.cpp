// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common.hpp"

void solve() { elaphos::solve(test::Exec(), test::Riccati{}, test::State(), test::Sequence(), test::LeftSequence()); }
