// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hdf5.hpp"

#include "half_precision.hpp"
#include "hdf5_library.hpp"
#include "hdf5_type.hpp"
#include "input_file.hpp"
#include "tensor_type.hpp"

#include "../format.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elaphos::io::impl {

namespace {

using elaphos::impl::format;

static_assert(std::endian::native == std::endian::little, "Elaphos: tensors are taken over as little-endian");

// No deflated data become more, and what was never written takes no place in the file at all.
constexpr std::uint64_t largest_expansion = 1032, unwritten_bytes = std::uint64_t(16) << 20;

// Deeper than any model's modules; recursion must end.
constexpr int largest_depth = 64;

struct Link {
  std::string name;
  H5L_type_t type;
};

// Called by C code, which no exception may cross.
herr_t keep_link(hid_t, const char* name, const H5L_info_t* info, void* links) noexcept {
  try {
    static_cast<std::vector<Link>*>(links)->push_back({name, info->type});
  } catch (...) {
    return -1;
  }
  return 0;
}

#if H5_VERSION_GE(1, 14, 0)
// Where the library would find a chunk of a damaged file that is not there, it ends the program by an assertion.
struct ChunkPlaces {
  std::uint64_t file_size;
  bool possible = true;
};

int check_place(const hsize_t*, unsigned, haddr_t begin, hsize_t bytes, void* places) noexcept {
  auto& [file_size, possible] = *static_cast<ChunkPlaces*>(places);
  possible = bytes > 0 && begin < file_size && bytes <= file_size - begin;
  return possible ? 0 : 1;
}
#endif

// Tells objects of one file apart; empty where the library cannot.
std::string identity(hid_t object) {
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info;
  if (H5Oget_info3(object, &info, H5O_INFO_BASIC) < 0) return {};
  std::string key(sizeof(info.token), '\0');
  std::memcpy(key.data(), &info.token, sizeof(info.token));
#else
  H5O_info_t info;
  if (H5Oget_info2(object, &info, H5O_INFO_BASIC) < 0) return {};
  std::string key(sizeof(info.addr), '\0');
  std::memcpy(key.data(), &info.addr, sizeof(info.addr));
#endif
  return key;
}

// The format allows a block of the user's own in front, of 512 bytes times a power of two.
bool has_signature(InputFile& file) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  for (std::uint64_t offset = 0; offset + signature.size() <= file.size(); offset = offset == 0 ? 512 : offset * 2) {
    if (file.read(offset, signature.size()) == signature) return true;
  }
  return false;
}

class Hdf5Reader {
 public:
  explicit Hdf5Reader(const std::filesystem::path& path)
      : m_file(path), m_budget(std::max(m_file.size() * largest_expansion, unwritten_bytes)) {
    if (!has_signature(m_file)) m_file.fail("is not HDF5: its signature is missing");
    // Not the driver, or the driver's settings, that the environment may name.
    const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_fapl_sec2(access.get());
    const Hdf5Id file(H5Fopen(path.string().c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!file) m_file.fail(format("cannot be opened as HDF5: {}", hdf5_reason()));
    const Hdf5Id root(H5Gopen2(file.get(), "/", H5P_DEFAULT), H5Gclose);
    if (!root) m_file.fail(format("the root group cannot be read: {}", hdf5_reason()));
    read_group(root.get(), "", 0);
  }

  std::vector<Tensor> take() { return std::move(m_tensors); }

 private:
  void read_group(hid_t group, const std::string& name, int depth) {
    const std::string label = name.empty() ? "the root group" : format("group {}", in_quotes(name));
    // A group within itself would have no end, and one that is reached twice may be reached 2^n times.
    const std::string key = identity(group);
    if (key.empty()) m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    if (!m_groups.insert(key).second) m_file.fail(format("{} is linked twice; expected a tree of groups", label));
    if (depth > largest_depth) m_file.fail(format("{} lies in more than {} others", label, largest_depth));
    for (const Link& link : links_of(group, label)) {
      const std::string path = name.empty() ? link.name : format("{}.{}", name, link.name);
      if (link.type != H5L_TYPE_HARD) {
        m_file.fail(format("{} is {}; expected a dataset or a group", in_quotes(path),
                           link.type == H5L_TYPE_SOFT ? "a soft link" : "an external link"));
      }
      const Hdf5Id object(H5Oopen(group, link.name.c_str(), H5P_DEFAULT), H5Oclose);
      if (!object) m_file.fail(format("{} cannot be read: {}", in_quotes(path), hdf5_reason()));
      const H5I_type_t kind = H5Iget_type(object.get());
      if (kind == H5I_GROUP) read_group(object.get(), path, depth + 1);
      if (kind == H5I_DATASET) read_dataset(object.get(), path);
      // What is left is a named type, which holds no numbers.
    }
  }

  std::vector<Link> links_of(hid_t group, const std::string& label) const {
    const Hdf5Id creation(H5Gget_create_plist(group), H5Pclose);
    unsigned order = 0;
    if (!creation || H5Pget_link_creation_order(creation.get(), &order) < 0) {
      m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    }
    const H5_index_t index = (order & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
    std::vector<Link> links;
    if (H5Literate(group, index, H5_ITER_INC, nullptr, keep_link, &links) < 0) {
      m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    }
    return links;
  }

  void read_dataset(hid_t dataset, const std::string& name) {
    const std::string label = format("tensor {}", in_quotes(name));
    if (!m_names.insert(name).second) m_file.fail(format("a second {}, if / is read as a dot", label));
    const Hdf5Id creation(H5Dget_create_plist(dataset), H5Pclose);
    if (!creation) m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    check_storage(creation.get(), label);
    Tensor tensor{name, {}, shape_of(dataset, label), {}};
    const Hdf5Id type(H5Dget_type(dataset), H5Tclose);
    if (!type) m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    tensor.dtype = dtype_of(type.get());
    if (tensor.dtype.empty()) {
      m_file.fail(format("{} holds {}; expected floats of 16, 32 or 64 bits, integers of 8 to 64, or booleans", label,
                         describe(type.get())));
    }
    const auto bytes = byte_count(tensor.dtype, tensor.shape);
    if (!bytes || *bytes > m_budget) {
      m_file.fail(format("{} of {} entries {} is too large; expected at most {} bytes in a file of {}", label,
                         to_string(tensor.shape), tensor.dtype, m_budget, m_file.size()));
    }
    check_chunks(dataset, creation.get(), tensor, label);
    m_budget -= *bytes;
    tensor.bytes.resize(*bytes);
    // An enumeration is read as itself: its values may have any order in the file.
    const Hdf5Id memory = tensor.dtype == "BOOL" ? Hdf5Id(H5Tcopy(type.get()), H5Tclose) : hdf5_type(tensor.dtype);
    if (*bytes > 0 && H5Dread(dataset, memory.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes.data()) < 0) {
      m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    }
    widen_half_precision(tensor);
    m_tensors.push_back(std::move(tensor));
  }

  // Before anything else is asked: a part of the dataset may be another file, or need code that is loaded for it.
  void check_storage(hid_t creation, const std::string& label) const {
    const H5D_layout_t layout = H5Pget_layout(creation);
    if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED) {
      m_file.fail(format("{} is a virtual dataset; expected one with numbers of its own", label));
    }
    if (H5Pget_external_count(creation) != 0) {
      m_file.fail(format("{} lies in other files; expected its numbers in this one", label));
    }
    const int count = H5Pget_nfilters(creation);
    for (int i = 0; i < count; ++i) {
      unsigned flags = 0;
      std::size_t values = 0;
      const H5Z_filter_t filter =
          H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
      if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32) {
        m_file.fail(format("{} is stored with filter {}; expected gzip, shuffle or fletcher32", label, filter));
      }
    }
  }

  std::vector<std::size_t> shape_of(hid_t dataset, const std::string& label) const {
    const Hdf5Id space(H5Dget_space(dataset), H5Sclose);
    const H5S_class_t kind = space ? H5Sget_simple_extent_type(space.get()) : H5S_NO_CLASS;
    if (kind == H5S_NULL) m_file.fail(format("{} is empty without a shape; expected numbers", label));
    const int rank = kind == H5S_NO_CLASS ? -1 : H5Sget_simple_extent_ndims(space.get());
    hsize_t extents[H5S_MAX_RANK];
    if (rank < 0 || rank > H5S_MAX_RANK || H5Sget_simple_extent_dims(space.get(), extents, nullptr) != rank) {
      m_file.fail(format("{} has no shape that can be read: {}", label, hdf5_reason()));
    }
    return {extents, extents + rank};
  }

  // Chunks are read whole, and may be larger than what they hold.
  void check_chunks(hid_t dataset, hid_t creation, const Tensor& tensor, const std::string& label) const {
    if (H5Pget_layout(creation) != H5D_CHUNKED) return;
    hsize_t extents[H5S_MAX_RANK];
    const int rank = H5Pget_chunk(creation, H5S_MAX_RANK, extents);
    if (rank < 0 || rank > H5S_MAX_RANK) m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    const std::vector<std::size_t> shape(extents, extents + rank);
    const auto bytes = byte_count(tensor.dtype, shape);
    if (!bytes || *bytes > m_budget) {
      m_file.fail(format("{} has chunks of {} entries {}, too large; expected at most {} bytes in a file of {}", label,
                         to_string(shape), tensor.dtype, m_budget, m_file.size()));
    }
#if H5_VERSION_GE(1, 14, 0)
    ChunkPlaces places{m_file.size()};
    if (H5Dchunk_iter(dataset, H5P_DEFAULT, check_place, &places) < 0) {
      m_file.fail(format("{} cannot be read: {}", label, hdf5_reason()));
    }
    if (!places.possible) m_file.fail(format("{} has a chunk that does not lie in the file", label));
#else
    static_cast<void>(dataset);
#endif
  }

  InputFile m_file;
  std::uint64_t m_budget;
  std::set<std::string> m_groups;
  std::set<std::string> m_names;
  std::vector<Tensor> m_tensors;
};

}  // namespace

std::vector<Tensor> read_hdf5_file(const std::filesystem::path& path) {
  const Hdf5Session session;
  return Hdf5Reader(path).take();
}

}  // namespace elaphos::io::impl
