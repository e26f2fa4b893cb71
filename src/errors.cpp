// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/errors.hpp>

#include <fmt/format.h>

namespace elaphos {

InvalidArgument::InvalidArgument(const std::string& argument, const std::string& value, const std::string& expected)
    : std::invalid_argument(fmt::format("Elaphos: {} is {}; expected {}", argument, value, expected)) {}

}  // namespace elaphos
