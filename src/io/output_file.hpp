// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_OUTPUT_FILE_HPP
#define ELAPHOS_SRC_IO_OUTPUT_FILE_HPP

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace elaphos::io::impl {

/// A file that is written beside `path` and takes its place when it is finished: readers see the old one or the new
/// one, whole. What does not work throws `FileError` and leaves `path` as it was.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(const void* bytes, std::size_t count);
  void write(std::string_view text) { write(text.data(), text.size()); }
  void finish();

 private:
  std::filesystem::path m_path;
  std::filesystem::path m_partial;
  std::ofstream m_stream;
};

}  // namespace elaphos::io::impl

#endif
