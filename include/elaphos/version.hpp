// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_VERSION_HPP
#define ELAPHOS_VERSION_HPP

#include <elaphos/config.hpp>

#include <iosfwd>
#include <string_view>

namespace elaphos {

/// \brief Version of the library that is linked, "major.minor.patch".
std::string_view version();

/// \brief Commit that the library was built from; "unknown" where it was not built from a checkout.
std::string_view git_commit();

/// \brief Writes version, commit, compiler and the execution spaces that the library was built for.
void print_configuration(std::ostream& out);

}  // namespace elaphos

#endif
