// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_METHODS_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_METHODS_HPP

#include <elaphos/method.hpp>

namespace test {

/// The methods that every recurrence with a Jacobian can be solved by.
inline constexpr elaphos::Method methods[] = {
    elaphos::Method::jacobi, elaphos::Method::quasi_newton, elaphos::Method::newton,
    elaphos::Method::quasi_levenberg_marquardt, elaphos::Method::levenberg_marquardt};

/// Those, and the one for recurrences that name blocks.
inline constexpr elaphos::Method methods_with_blocks[] = {
    elaphos::Method::jacobi, elaphos::Method::quasi_newton, elaphos::Method::block_quasi_newton, elaphos::Method::newton,
    elaphos::Method::quasi_levenberg_marquardt, elaphos::Method::levenberg_marquardt};

}  // namespace test

#endif
