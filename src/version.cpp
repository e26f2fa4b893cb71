// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "execution_spaces.hpp"
#include "format.hpp"

#include <elaphos/version.hpp>

#include <git_commit.hpp>
#include <ostream>

#define ELAPHOS_TEXT(number) #number
#define ELAPHOS_DOTTED(major, minor, patch) ELAPHOS_TEXT(major) "." ELAPHOS_TEXT(minor) "." ELAPHOS_TEXT(patch)

namespace elaphos {

std::string_view version() {
  return ELAPHOS_DOTTED(ELAPHOS_VERSION_MAJOR, ELAPHOS_VERSION_MINOR, ELAPHOS_VERSION_PATCH);
}

std::string_view git_commit() { return ELAPHOS_GIT_COMMIT; }

void print_configuration(std::ostream& out) {
  out << impl::format("Elaphos {} (commit {})\n", version(), git_commit());
#if defined(__clang__)
  out << impl::format("compiler: clang {}\n", __clang_version__);
#elif defined(__GNUC__)
  out << impl::format("compiler: GNU {}\n", __VERSION__);
#endif
  out << impl::format("Kokkos {}.{}.{}, compiled for:", KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100,
                     KOKKOS_VERSION % 100);
#define ELAPHOS_NAME_SPACE(Space) out << " " #Space;
  ELAPHOS_FOR_EACH_SPACE(ELAPHOS_NAME_SPACE)
  out << "\n";
}

}  // namespace elaphos
