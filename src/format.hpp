// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_FORMAT_HPP
#define ELAPHOS_SRC_FORMAT_HPP

#include <fmt/format.h>

#include <string>

namespace elaphos::impl {

std::string format_arguments(fmt::string_view text, fmt::format_args arguments);

/// fmt::format, whose machinery is compiled in one file: used by its headers alone, it would be in each.
template <class... Arguments>
std::string format(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  return format_arguments(text, fmt::make_format_args(arguments...));
}

}  // namespace elaphos::impl

#endif
