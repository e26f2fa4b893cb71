// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_COMPILE_FAIL_COMMON_HPP
#define ELAPHOS_UNIT_TESTS_COMPILE_FAIL_COMMON_HPP

#include "../support/systems.hpp"

// Each program beside this header must not compile, for the one reason that its name says: the rest is right, which
// `accepted.cpp` shows.
namespace test {

using State = elaphos::StateView<double, Memory>;
using Sequence = elaphos::SequenceView<double, Memory>;
using LeftSequence = Kokkos::View<double***, Kokkos::LayoutLeft, Memory>;

}  // namespace test

#endif
