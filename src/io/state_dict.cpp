// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hdf5.hpp"
#include "safetensors.hpp"
#include "tensor_type.hpp"
#include "text.hpp"

#include "../format.hpp"

#include <elaphos/errors.hpp>
#include <elaphos/io/state_dict.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace elaphos::io {

namespace {

using elaphos::impl::format;
using impl::in_quotes;

/// Insertions, deletions and replacements that lead from a to b.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t(0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, diagonal + 1, replaced});
    }
  }
  return row.back();
}

/// Small for similar names; a prefix too many or too few, the usual mistake, counts as one edit.
std::size_t unlikeness(std::string_view a, std::string_view b) {
  const auto& [shorter, longer] = std::minmax(a, b, [](auto x, auto y) { return x.size() < y.size(); });
  if (longer.ends_with(shorter) && longer.size() > shorter.size() &&
      longer[longer.size() - shorter.size() - 1] == '.') {
    return 1;
  }
  return edit_distance(a, b);
}

std::string near_names(const std::vector<Tensor>& tensors, std::string_view name) {
  constexpr std::size_t most = 3, longest = 200;
  if (tensors.empty()) return "a name in the state dict, which is empty";
  std::vector<std::tuple<std::size_t, std::size_t>> ranked;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // The time goes with the square of the length, and a file can have names of megabytes.
    const std::string_view compared = std::string_view(tensors[i].name).substr(0, longest);
    ranked.emplace_back(unlikeness(name.substr(0, longest), compared), i);
  }
  const std::size_t shown = std::min(most, ranked.size());
  std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(shown), ranked.end());
  std::string out = "a name in the state dict, such as";
  for (std::size_t i = 0; i < shown; ++i) {
    out += format("{} {}", i == 0 ? "" : ",", in_quotes(tensors[std::get<1>(ranked[i])].name));
  }
  return out;
}

StateDict to_dict(std::vector<Tensor> tensors) {
  StateDict dict;
  for (Tensor& tensor : tensors) dict.insert(std::move(tensor));
  return dict;
}

}  // namespace

const Tensor& StateDict::at(std::string_view name) const {
  const auto found = m_places.find(name);
  if (found == m_places.end()) {
    throw InvalidArgument(format("tensor {}", in_quotes(name)), "missing", near_names(m_tensors, name));
  }
  return m_tensors[found->second];
}

const Tensor& StateDict::numbers(std::string_view name, std::size_t rank) const {
  const Tensor& tensor = at(name);
  if (tensor.dtype != "F32" && tensor.dtype != "F64") {
    throw InvalidArgument(format("tensor {}", in_quotes(name)), format("of type {}", tensor.dtype), "F32 or F64");
  }
  if (tensor.shape.size() != rank) {
    throw InvalidArgument(format("tensor {}", in_quotes(name)),
                          format("of rank {}, {}", tensor.shape.size(), impl::to_string(tensor.shape)),
                          format("rank {}", rank));
  }
  return tensor;
}

void StateDict::check_free(std::string_view name) const {
  if (contains(name)) {
    throw InvalidArgument(format("tensor {}", in_quotes(name)), "in the state dict already", "a name that is not");
  }
}

void StateDict::insert(Tensor tensor) {
  check_free(tensor.name);
  const std::string label = format("tensor {}", in_quotes(tensor.name));
  if (impl::bits_of(tensor.dtype) == 0) {
    throw InvalidArgument(label, format("of type {}", in_quotes(tensor.dtype)), "a type of the safetensors format");
  }
  const auto bytes = impl::byte_count(tensor.dtype, tensor.shape);
  if (bytes != tensor.bytes.size()) {
    throw InvalidArgument(label, format("of {} bytes", tensor.bytes.size()),
                          format("as many as {} entries of {} have", impl::to_string(tensor.shape), tensor.dtype));
  }
  m_places.emplace(tensor.name, m_tensors.size());
  m_tensors.push_back(std::move(tensor));
}

void StateDict::erase(std::string_view name) {
  const auto place = static_cast<std::size_t>(&at(name) - m_tensors.data());
  m_places.erase(m_places.find(name));
  m_tensors.erase(m_tensors.begin() + static_cast<std::ptrdiff_t>(place));
  for (auto& [other, index] : m_places) {
    if (index > place) --index;
  }
}

StateDict read_safetensors(const std::filesystem::path& file) { return to_dict(impl::read_safetensors_file(file)); }

void write_safetensors(const std::filesystem::path& file, const StateDict& dict) {
  impl::write_safetensors_file(file, {dict.begin(), dict.end()});
}

StateDict read_text(const std::filesystem::path& file) { return to_dict(impl::read_text_file(file)); }

void write_text(const std::filesystem::path& file, const StateDict& dict) {
  impl::write_text_file(file, {dict.begin(), dict.end()});
}

StateDict read_hdf5(const std::filesystem::path& file) { return to_dict(impl::read_hdf5_file(file)); }

void write_hdf5(const std::filesystem::path& file, const StateDict& dict) {
  impl::write_hdf5_file(file, {dict.begin(), dict.end()});
}

void impl::check_single_head(int heads) {
  if (heads != 1) throw InvalidArgument("weights.heads", std::to_string(heads), "1, as PyTorch's layers have");
}

impl::LayerNames impl::layer_names(std::string_view prefix, std::optional<int> layer, bool reverse) {
  if (layer && *layer < 0)
    throw InvalidArgument("layer", std::to_string(*layer), "0 or more, or std::nullopt for a cell");
  if (!layer && reverse) throw InvalidArgument("reverse", "true", "false for a cell, which has no layer number");
  const std::string before = prefix.empty() ? std::string() : format("{}.", prefix);
  const std::string after = format("{}{}", layer ? format("_l{}", *layer) : "", reverse ? "_reverse" : "");
  const auto name = [&](std::string_view what) { return format("{}{}{}", before, what, after); };
  return {name("weight_ih"), name("weight_hh"), name("bias_ih"), name("bias_hh")};
}

}  // namespace elaphos::io
