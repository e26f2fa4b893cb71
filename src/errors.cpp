// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "format.hpp"

#include <elaphos/errors.hpp>

namespace elaphos {

InvalidArgument::InvalidArgument(const std::string& argument, const std::string& value, const std::string& expected)
    : std::invalid_argument(impl::format("Elaphos: {} is {}; expected {}", argument, value, expected)) {}

}  // namespace elaphos
