// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_INPUT_FILE_HPP
#define ELAPHOS_SRC_IO_INPUT_FILE_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace elaphos::io::impl {

/// A regular file that is open for reading. What does not work throws `FileError`.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);

  std::uint64_t size() const { return m_size; }

  /// `count` bytes from `offset` on, which must lie within the file.
  void read(std::uint64_t offset, void* out, std::size_t count);
  std::string read(std::uint64_t offset, std::size_t count);

  [[noreturn]] void fail(const std::string& problem) const;

 private:
  std::filesystem::path m_path;
  std::ifstream m_stream;
  std::uint64_t m_size = 0;
};

}  // namespace elaphos::io::impl

#endif
