// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_ERRORS_HPP
#define ELAPHOS_ERRORS_HPP

#include <stdexcept>
#include <string>

namespace elaphos {

/// \brief An argument that the library cannot work with; thrown before anything is written.
///
/// The message names the argument, its value and what was expected.
class InvalidArgument : public std::invalid_argument {
 public:
  InvalidArgument(const std::string& argument, const std::string& value, const std::string& expected);
};

}  // namespace elaphos

#endif
