// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common.hpp"

// Meant for device builds: there the host's memory is out of reach.
using HostSequence = elaphos::SequenceView<double, Kokkos::HostSpace>;

void solve() { elaphos::solve(test::Exec(), test::Riccati{}, test::State(), HostSequence(), test::Sequence()); }
