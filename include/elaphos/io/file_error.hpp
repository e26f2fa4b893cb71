// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IO_FILE_ERROR_HPP
#define ELAPHOS_IO_FILE_ERROR_HPP

#include <filesystem>
#include <stdexcept>
#include <string>

namespace elaphos::io {

/// \brief A file that cannot be read or written, or does not hold what its format promises.
///
/// The message names the file and what is wrong with it, in text files also the line.
class FileError : public std::runtime_error {
 public:
  FileError(const std::filesystem::path& file, const std::string& problem);
};

}  // namespace elaphos::io

#endif
