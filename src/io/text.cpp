// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "text.hpp"

#include "input_file.hpp"
#include "output_file.hpp"
#include "tensor_type.hpp"

#include "../format.hpp"

#include <elaphos/errors.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace elaphos::io::impl {

namespace {

using elaphos::impl::format;

/// The words of a text, line by line; lines that begin with # are skipped.
class Words {
 public:
  explicit Words(std::string_view text) : m_rest(text) {}

  std::size_t line() const { return m_line; }
  /// Characters that are not read yet.
  std::size_t left() const { return m_rest.size(); }

  /// Goes to the next line that has words; false where there is none.
  bool next_line() {
    while (m_position < m_rest.size()) {
      m_rest.remove_prefix(m_position);
      const std::size_t end = std::min(m_rest.find('\n'), m_rest.size());
      m_current = m_rest.substr(0, end);
      m_position = std::min(end + 1, m_rest.size());
      ++m_line;
      if (!m_current.starts_with('#') && m_current.find_first_not_of(blanks) != std::string_view::npos) return true;
    }
    m_current = {};
    return false;
  }

  /// The next word of this line; empty where there is none.
  std::string_view word() {
    const std::size_t begin = std::min(m_current.find_first_not_of(blanks), m_current.size());
    m_current.remove_prefix(begin);
    const std::string_view word = m_current.substr(0, m_current.find_first_of(blanks));
    m_current.remove_prefix(word.size());
    return word;
  }

 private:
  static constexpr std::string_view blanks = " \t\r";
  std::string_view m_rest;
  std::string_view m_current;
  std::size_t m_position = 0;
  std::size_t m_line = 0;
};

template <class Number>
bool parse(std::string_view word, Number& number) {
  const char* end = word.data() + word.size();
  const auto result = std::from_chars(word.data(), end, number);
  return result.ec == std::errc() && result.ptr == end;
}

class TextReader {
 public:
  TextReader(const InputFile& file, std::string_view text) : m_file(file), m_words(text) {}

  std::vector<Tensor> read() {
    std::vector<Tensor> tensors;
    std::set<std::string> names;
    while (m_words.next_line()) {
      Tensor tensor = read_header();
      if (!names.insert(tensor.name).second) fail(format("a second tensor {}", in_quotes(tensor.name)));
      if (tensor.dtype == "F32") {
        read_numbers<float>(tensor);
      } else {
        read_numbers<double>(tensor);
      }
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  Tensor read_header() {
    Tensor tensor;
    tensor.name = m_words.word();
    tensor.dtype = m_words.word();
    if (tensor.dtype != "F32" && tensor.dtype != "F64") {
      fail(format("after the name {}: {}; expected F32 or F64", in_quotes(tensor.name), in_quotes(tensor.dtype)));
    }
    for (auto word = m_words.word(); !word.empty(); word = m_words.word()) {
      std::size_t extent = 0;
      if (!parse(word, extent)) fail(format("{}; expected an extent of {}", in_quotes(word), in_quotes(tensor.name)));
      tensor.shape.push_back(extent);
    }
    return tensor;
  }

  template <class Scalar>
  void read_numbers(Tensor& tensor) {
    const auto count = entry_count(tensor.shape);
    // A number takes a character at least, so no file makes us ask for much more memory than it has bytes.
    if (!count || *count > m_words.left()) {
      fail(format("tensor {} of {} numbers; the file is too short for it", in_quotes(tensor.name),
                  to_string(tensor.shape)));
    }
    tensor.bytes.resize(*count * sizeof(Scalar));
    for (std::size_t i = 0; i < *count; ++i) {
      std::string_view word = m_words.word();
      if (word.empty()) {
        if (!m_words.next_line()) {
          fail(format("the file ends after {} of the {} numbers of {}", i, *count, in_quotes(tensor.name)));
        }
        word = m_words.word();
      }
      Scalar number;
      if (!parse(word, number))
        fail(format("{}; expected number {} of {}", in_quotes(word), i, in_quotes(tensor.name)));
      std::memcpy(tensor.bytes.data() + i * sizeof(Scalar), &number, sizeof(Scalar));
    }
    if (const auto word = m_words.word(); !word.empty()) {
      fail(format("{}; expected the end of the line after {} numbers of {}", in_quotes(word), *count,
                  in_quotes(tensor.name)));
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    m_file.fail(format("line {}: {}", m_words.line(), problem));
  }

  const InputFile& m_file;
  Words m_words;
};

void check_writable(const Tensor& tensor) {
  const bool is_word = std::all_of(tensor.name.begin(), tensor.name.end(),
                                   [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
  if (!is_word || tensor.name.empty() || tensor.name.starts_with('#')) {
    throw InvalidArgument("the name of a tensor", in_quotes(tensor.name),
                          "one word that does not begin with #, as the text format needs it");
  }
  if (tensor.dtype != "F32" && tensor.dtype != "F64") {
    throw InvalidArgument(format("tensor {}", in_quotes(tensor.name)), format("of type {}", tensor.dtype),
                          "F32 or F64, which the text format holds");
  }
}

template <class Scalar>
void write_numbers(OutputFile& file, const Tensor& tensor) {
  const std::size_t count = tensor.bytes.size() / sizeof(Scalar);
  const std::size_t row = tensor.shape.empty() ? 1 : tensor.shape.back();
  std::string line;
  for (std::size_t i = 0; i < count; ++i) {
    Scalar number;
    std::memcpy(&number, tensor.bytes.data() + i * sizeof(Scalar), sizeof(Scalar));
    // Without a precision: the shortest digits that are read back as the same number.
    char digits[32];
    line.append(digits, std::to_chars(digits, digits + sizeof(digits), number).ptr);
    const bool row_ends = (i + 1) % row == 0;
    line += row_ends ? '\n' : ' ';
    if (row_ends) {
      file.write(line);
      line.clear();
    }
  }
}

}  // namespace

std::vector<Tensor> read_text_file(const std::filesystem::path& path) {
  InputFile file(path);
  const std::string text = file.size() == 0 ? std::string() : file.read(0, file.size());
  return TextReader(file, text).read();
}

void write_text_file(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) check_writable(tensor);
  OutputFile file(path);
  file.write("# name type extents, then the numbers, the last index fastest\n");
  for (const Tensor& tensor : tensors) {
    std::string header = tensor.name + " " + tensor.dtype;
    for (const std::size_t extent : tensor.shape) header += format(" {}", extent);
    file.write(header + "\n");
    if (tensor.dtype == "F32") {
      write_numbers<float>(file, tensor);
    } else {
      write_numbers<double>(file, tensor);
    }
  }
  file.finish();
}

}  // namespace elaphos::io::impl
