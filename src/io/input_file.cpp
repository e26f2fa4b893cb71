// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "input_file.hpp"

#include <elaphos/io/file_error.hpp>

#include <system_error>

namespace elaphos::io::impl {

InputFile::InputFile(const std::filesystem::path& path) : m_path(path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) fail("no such file");
  // A pipe or a device has no size to check lengths against.
  if (!std::filesystem::is_regular_file(status)) fail("not a regular file");
  m_stream.open(path, std::ios::binary);
  m_size = std::filesystem::file_size(path, error);
  if (error || !m_stream) fail("cannot be opened");
}

void InputFile::read(std::uint64_t offset, void* out, std::size_t count) {
  m_stream.seekg(static_cast<std::streamoff>(offset));
  m_stream.read(static_cast<char*>(out), static_cast<std::streamsize>(count));
  if (!m_stream) fail("cannot be read to the end");
}

std::string InputFile::read(std::uint64_t offset, std::size_t count) {
  std::string text(count, '\0');
  read(offset, text.data(), count);
  return text;
}

void InputFile::fail(const std::string& problem) const { throw FileError(m_path, problem); }

}  // namespace elaphos::io::impl
