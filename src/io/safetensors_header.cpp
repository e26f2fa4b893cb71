// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "safetensors_header.hpp"

#include "tensor_type.hpp"

#include "../format.hpp"

#include <elaphos/errors.hpp>

#include <nlohmann/json.hpp>

#include <set>
#include <stdexcept>
#include <utility>

namespace elaphos::io::impl {

namespace {

using elaphos::impl::format;
using nlohmann::json;

// More than any library's tensors have; a hostile header cannot make shapes of megabytes.
constexpr std::size_t largest_rank = 64;

static_assert(sizeof(std::size_t) >= sizeof(json::number_unsigned_t));

/// Takes the events of the parser. Nothing is kept but what the format allows, and repeated keys are seen, which a JSON
/// document in memory would hide. A handler that returns false ends the parse.
class HeaderHandler final : public nlohmann::json_sax<json> {
 public:
  std::vector<HeaderEntry> entries;
  std::string problem;

  bool null() override { return misplaced("null"); }
  bool boolean(bool) override { return misplaced("a boolean"); }
  bool number_integer(number_integer_t) override { return misplaced("a negative number"); }
  bool number_float(number_float_t, const string_t&) override {
    return misplaced("a number that is no 64-bit integer");
  }
  bool binary(binary_t&) override { return misplaced("binary data"); }

  bool number_unsigned(number_unsigned_t number) override {
    if (m_place == Place::shape) {
      if (m_entry.shape.size() == largest_rank) return fail(format("{} has too many extents", tensor()));
      m_entry.shape.push_back(number);
      return true;
    }
    if (m_place == Place::offsets) {
      if (m_offset_count == 2) return fail(format("{} has more than two data_offsets", tensor()));
      (m_offset_count == 0 ? m_entry.begin : m_entry.end) = number;
      ++m_offset_count;
      return true;
    }
    return misplaced("a number");
  }

  bool string(string_t& text) override {
    if (m_place == Place::metadata_value) {
      m_place = Place::metadata;
      return true;
    }
    if (m_place != Place::dtype) return misplaced("a string");
    m_entry.dtype = std::move(text);
    m_place = Place::tensor;
    return true;
  }

  bool start_object(std::size_t) override {
    if (m_place == Place::outside) {
      m_place = Place::header;
    } else if (m_place == Place::entry) {
      m_place = Place::tensor;
    } else if (m_place == Place::metadata_object) {
      m_place = Place::metadata;
    } else {
      return misplaced("an object");
    }
    return true;
  }

  bool key(string_t& name) override {
    if (m_place == Place::tensor) return tensor_key(name);
    auto& names = m_place == Place::metadata ? m_metadata_names : m_names;
    if (!names.insert(name).second) return fail(format("the name {} occurs twice", in_quotes(name)));
    if (m_place == Place::metadata) {
      m_place = Place::metadata_value;
    } else if (name == metadata_name) {
      m_place = Place::metadata_object;
    } else {
      m_place = Place::entry;
      m_entry = {std::move(name), {}, {}, 0, 0};
      m_keys.clear();
      m_offset_count = 0;
    }
    return true;
  }

  bool end_object() override {
    if (m_place == Place::header) {
      m_place = Place::outside;
      return true;
    }
    if (m_place == Place::tensor) {
      if (m_keys.size() != 3) return fail(format("{} has not all of dtype, shape and data_offsets", tensor()));
      entries.push_back(std::move(m_entry));
    }
    m_place = Place::header;
    return true;
  }

  bool start_array(std::size_t) override {
    if (m_place == Place::shape_array) {
      m_place = Place::shape;
    } else if (m_place == Place::offsets_array) {
      m_place = Place::offsets;
    } else {
      return misplaced("an array");
    }
    return true;
  }

  bool end_array() override {
    if (m_place == Place::offsets && m_offset_count != 2) return fail(format("{} has not two data_offsets", tensor()));
    m_place = Place::tensor;
    return true;
  }

  // The parser's own text quotes the file, at any length.
  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    return fail(format("the header is not JSON, at its byte {}", position));
  }

 private:
  /// Where the parser is: inside what, or before which value.
  enum class Place {
    outside,
    header,
    entry,
    tensor,
    dtype,
    shape_array,
    shape,
    offsets_array,
    offsets,
    metadata_object,
    metadata,
    metadata_value
  };

  bool tensor_key(const std::string& name) {
    if (!m_keys.insert(name).second) return fail(format("{} has {} twice", tensor(), in_quotes(name)));
    if (name == "dtype") {
      m_place = Place::dtype;
    } else if (name == "shape") {
      m_place = Place::shape_array;
    } else if (name == "data_offsets") {
      m_place = Place::offsets_array;
    } else {
      return fail(format("{} has an unknown {}", tensor(), in_quotes(name)));
    }
    return true;
  }

  std::string tensor() const { return format("tensor {}", in_quotes(m_entry.name)); }

  bool misplaced(const char* what) {
    const bool in_metadata = m_place == Place::metadata_value || m_place == Place::metadata_object;
    const std::string where = in_metadata ? std::string(metadata_name) : m_names.empty() ? "the header" : tensor();
    return fail(format("{} has {} where it must not be", where, what));
  }

  bool fail(const std::string& what) {
    problem = what;
    return false;
  }

  Place m_place = Place::outside;
  HeaderEntry m_entry{};
  std::set<std::string> m_keys;
  std::size_t m_offset_count = 0;
  // Sets by order, since a file can be made whose names all have the same hash.
  std::set<std::string> m_names;
  std::set<std::string> m_metadata_names;
};

}  // namespace

std::vector<HeaderEntry> parse_header(std::string_view header) {
  // The parser would skip a byte order mark or white space before it, and takes a zero byte for the end.
  if (!header.starts_with('{')) throw std::runtime_error("the header does not begin with {");
  if (header.find('\0') != std::string_view::npos) throw std::runtime_error("the header holds a zero byte");
  HeaderHandler handler;
  if (!json::sax_parse(header.begin(), header.end(), &handler)) throw std::runtime_error(handler.problem);
  return std::move(handler.entries);
}

std::string print_header(std::span<const HeaderEntry> entries) {
  std::string out = "{";
  for (const HeaderEntry& entry : entries) {
    std::string name;
    try {
      name = json(entry.name).dump();
    } catch (const json::type_error&) {
      throw InvalidArgument("the name of a tensor", in_quotes(entry.name), "UTF-8, as the safetensors format needs it");
    }
    std::string shape;
    for (const std::size_t extent : entry.shape) shape += format("{}{}", shape.empty() ? "" : ",", extent);
    out += format(R"({}{}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", out.size() == 1 ? "" : ",", name,
                  entry.dtype, shape, entry.begin, entry.end);
  }
  return out + "}";
}

bool is_utf8(const std::string& text) {
  try {
    json(text).dump();
  } catch (const json::type_error&) {
    return false;
  }
  return true;
}

}  // namespace elaphos::io::impl
