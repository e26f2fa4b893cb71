// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_FILES_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_FILES_HPP

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>

namespace test {

/// A folder of a test's own, which goes with it.
class Folder {
 public:
  Folder() {
    std::random_device random;
    m_path =
        std::filesystem::temp_directory_path() / ("elaphos_" + std::to_string(random()) + std::to_string(random()));
    std::filesystem::create_directory(m_path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::filesystem::path path(const std::string& name) const { return m_path / name; }

  std::filesystem::path write(const std::string& name, std::string_view contents) const {
    std::ofstream(path(name), std::ios::binary) << contents;
    return path(name);
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(m_path), {}));
  }

 private:
  std::filesystem::path m_path;
};

inline std::string contents_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace test

#endif
