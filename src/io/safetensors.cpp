// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The format: the header's length in 8 bytes, the header, a JSON object, and the tensors' bytes. All numbers are
// little-endian. Source: https://github.com/huggingface/safetensors
#include "safetensors.hpp"

#include "half_precision.hpp"
#include "input_file.hpp"
#include "output_file.hpp"
#include "safetensors_header.hpp"
#include "tensor_type.hpp"

#include "../format.hpp"

#include <elaphos/errors.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace elaphos::io::impl {

namespace {

using elaphos::impl::format;

static_assert(std::endian::native == std::endian::little,
              "Elaphos: files are little-endian, and are copied as they are");

// The format's own limit.
constexpr std::uint64_t longest_header = 100'000'000;
constexpr std::uint64_t length_bytes = 8;

// Where the header's numbers are right, each byte of the data belongs to one tensor, and each tensor has its size.
void check_entries(const InputFile& file, const std::vector<HeaderEntry>& entries, std::uint64_t data_bytes) {
  for (const HeaderEntry& entry : entries) {
    const std::string tensor = format("tensor {}", in_quotes(entry.name));
    if (bits_of(entry.dtype) == 0) file.fail(format("{} has the unknown dtype {}", tensor, in_quotes(entry.dtype)));
    if (entry.begin > entry.end || entry.end > data_bytes) {
      file.fail(format("{} has data_offsets [{}, {}]; expected a range within the {} bytes of data", tensor,
                       entry.begin, entry.end, data_bytes));
    }
    const auto bytes = byte_count(entry.dtype, entry.shape);
    if (bytes != entry.end - entry.begin) {
      file.fail(format("{} of {} entries {} has {} bytes; expected {}", tensor, to_string(entry.shape), entry.dtype,
                       entry.end - entry.begin, bytes ? std::to_string(*bytes) : "a shape whose bytes can be counted"));
    }
  }
  std::vector<const HeaderEntry*> by_place;
  for (const HeaderEntry& entry : entries) by_place.push_back(&entry);
  std::sort(by_place.begin(), by_place.end(), [](const HeaderEntry* a, const HeaderEntry* b) {
    return std::tie(a->begin, a->end) < std::tie(b->begin, b->end);
  });
  std::uint64_t covered = 0;
  for (const HeaderEntry* entry : by_place) {
    if (entry->begin != covered) {
      file.fail(format("tensor {} begins at byte {} of the data; expected {}: there is {}", in_quotes(entry->name),
                       entry->begin, covered, entry->begin < covered ? "an overlap" : "a hole"));
    }
    covered = entry->end;
  }
  if (covered != data_bytes) {
    file.fail(format("{} bytes of data follow the last tensor; expected none", data_bytes - covered));
  }
}

Tensor read_tensor(InputFile& file, std::uint64_t data_begin, HeaderEntry& entry) {
  Tensor tensor{std::move(entry.name), std::move(entry.dtype), std::move(entry.shape), {}};
  tensor.bytes.resize(entry.end - entry.begin);
  if (!tensor.bytes.empty()) file.read(data_begin + entry.begin, tensor.bytes.data(), tensor.bytes.size());
  widen_half_precision(tensor);
  return tensor;
}

// Entries in the order of the tensors. Larger types come first in the data, so that all are aligned.
std::vector<HeaderEntry> lay_out(std::span<const Tensor> tensors, std::vector<std::size_t>& by_place) {
  by_place.resize(tensors.size());
  std::iota(by_place.begin(), by_place.end(), std::size_t(0));
  std::stable_sort(by_place.begin(), by_place.end(),
                   [&](std::size_t a, std::size_t b) { return bits_of(tensors[a].dtype) > bits_of(tensors[b].dtype); });
  std::vector<HeaderEntry> entries;
  for (const Tensor& tensor : tensors) entries.push_back({tensor.name, tensor.dtype, tensor.shape, 0, 0});
  std::size_t end = 0;
  for (const std::size_t index : by_place) {
    entries[index].begin = end;
    end += tensors[index].bytes.size();
    entries[index].end = end;
  }
  return entries;
}

}  // namespace

std::vector<Tensor> read_safetensors_file(const std::filesystem::path& path) {
  InputFile file(path);
  if (file.size() < length_bytes) file.fail("is shorter than the 8 bytes of a header's length");
  std::uint64_t header_bytes = 0;
  file.read(0, &header_bytes, length_bytes);
  if (header_bytes > longest_header) {
    file.fail(format("the header's length is {}; expected at most {}", header_bytes, longest_header));
  }
  if (header_bytes > file.size() - length_bytes) {
    file.fail(format("the header's length is {}, but {} bytes follow", header_bytes, file.size() - length_bytes));
  }
  std::vector<HeaderEntry> entries;
  try {
    entries = parse_header(file.read(length_bytes, header_bytes));
  } catch (const std::runtime_error& error) {
    file.fail(error.what());
  }
  const std::uint64_t data_begin = length_bytes + header_bytes;
  check_entries(file, entries, file.size() - data_begin);
  std::vector<Tensor> tensors;
  for (HeaderEntry& entry : entries) tensors.push_back(read_tensor(file, data_begin, entry));
  return tensors;
}

void write_safetensors_file(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors) {
    if (tensor.name == metadata_name) {
      throw InvalidArgument("the name of a tensor", in_quotes(tensor.name), "another: the format uses this one itself");
    }
  }
  std::vector<std::size_t> by_place;
  std::string header = print_header(lay_out(tensors, by_place));
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::uint64_t header_bytes = header.size();
  if (header_bytes > longest_header) {
    throw InvalidArgument("the header of all tensors' names and shapes", format("{} bytes long", header_bytes),
                          format("at most {}", longest_header));
  }
  OutputFile file(path);
  file.write(&header_bytes, length_bytes);
  file.write(header);
  for (const std::size_t index : by_place) file.write(tensors[index].bytes.data(), tensors[index].bytes.size());
  file.finish();
}

}  // namespace elaphos::io::impl
