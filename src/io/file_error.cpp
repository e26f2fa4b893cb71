// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../format.hpp"

#include <elaphos/io/file_error.hpp>

namespace elaphos::io {

FileError::FileError(const std::filesystem::path& file, const std::string& problem)
    : std::runtime_error(elaphos::impl::format("Elaphos: {}: {}", file.string(), problem)) {}

}  // namespace elaphos::io
