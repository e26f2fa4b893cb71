// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_REFERENCE_CASE_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_REFERENCE_CASE_HPP

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace test {

struct ReferenceArray {
  std::vector<std::int64_t> extents;
  std::vector<double> values;
};

/// One reference case: named arrays from a text file, a line `name d0 d1 ...` and then that many numbers. Whatever does
/// not fit throws and names the file.
class ReferenceCase {
 public:
  explicit ReferenceCase(const std::filesystem::path& file) : m_file(file.string()) {
    std::ifstream in(file);
    if (!in) fail("cannot be read");
    std::string header;
    while (std::getline(in, header)) {
      if (header.find_first_not_of(" \t\r") != std::string::npos) read_array(header, in);
    }
    if (m_arrays.empty()) fail("holds no arrays");
  }

  /// The array of that name, which must have these extents.
  const std::vector<double>& array(const std::string& name, const std::vector<std::int64_t>& extents) const {
    const ReferenceArray& found = at(name);
    if (found.extents != extents) fail("has an array '" + name + "' of an unexpected shape");
    return found.values;
  }

  /// Extent r of an array.
  std::int64_t extent(const std::string& name, std::size_t r) const {
    const ReferenceArray& found = at(name);
    if (r >= found.extents.size()) fail("has an array '" + name + "' of too low a rank");
    return found.extents[r];
  }

 private:
  void read_array(const std::string& header, std::ifstream& in) {
    std::istringstream words(header);
    std::string name, word;
    words >> name;
    ReferenceArray array;
    std::int64_t size = 1;
    while (words >> word) {
      std::size_t used = 0;
      std::int64_t extent = -1;
      try {
        extent = std::stoll(word, &used);
      } catch (const std::exception&) {
      }
      if (used != word.size() || extent < 0) fail("has the broken header '" + header.substr(0, 60) + "'");
      array.extents.push_back(extent);
      size *= extent;
    }
    if (array.extents.empty()) fail("has the header '" + header.substr(0, 60) + "' without extents");
    array.values.resize(static_cast<std::size_t>(size));
    for (double& value : array.values) {
      if (!(in >> value) || !std::isfinite(value)) fail("ends early or is broken in array '" + name + "'");
    }
    std::string rest;
    std::getline(in, rest);
    if (rest.find_first_not_of(" \t\r") != std::string::npos) fail("has too many numbers in array '" + name + "'");
    if (!m_arrays.emplace(name, array).second) fail("has two arrays '" + name + "'");
  }

  const ReferenceArray& at(const std::string& name) const {
    const auto found = m_arrays.find(name);
    if (found == m_arrays.end()) fail("has no array '" + name + "'");
    return found->second;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error("reference case " + m_file + " " + what);
  }

  std::string m_file;
  std::map<std::string, ReferenceArray> m_arrays;
};

}  // namespace test

#endif
