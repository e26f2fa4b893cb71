// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_file.hpp"

#include "../format.hpp"

#include <elaphos/io/file_error.hpp>

#include <random>
#include <system_error>

namespace elaphos::io::impl {

namespace {

// In the same folder, since only there can it be renamed at once; under a name that no other writer has.
std::filesystem::path partial_path(const std::filesystem::path& path) {
  std::random_device random;
  std::filesystem::path out = path;
  out += elaphos::impl::format(".{:08x}{:08x}.partial", random(), random());
  return out;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path) : m_path(path), m_partial(partial_path(path)) {
  m_stream.open(m_partial, std::ios::binary | std::ios::trunc);
  if (!m_stream) throw FileError(m_path, "cannot be written: no file can be made in its folder");
}

OutputFile::~OutputFile() {
  m_stream.close();
  std::error_code ignored;
  std::filesystem::remove(m_partial, ignored);
}

void OutputFile::write(const void* bytes, std::size_t count) {
  m_stream.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(count));
}

void OutputFile::finish() {
  m_stream.close();
  if (!m_stream) throw FileError(m_path, "cannot be written: is the disk full?");
  std::error_code error;
  std::filesystem::rename(m_partial, m_path, error);
  if (error) throw FileError(m_path, elaphos::impl::format("cannot be replaced: {}", error.message()));
}

}  // namespace elaphos::io::impl
