// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library builds the file in memory: so it is written and replaced as the other formats are, and a full disk is met
// by a stream, not by a library that flushes when it closes.
#include "hdf5.hpp"

#include "hdf5_library.hpp"
#include "hdf5_type.hpp"
#include "output_file.hpp"
#include "safetensors_header.hpp"
#include "tensor_type.hpp"

#include "../format.hpp"

#include <elaphos/errors.hpp>
#include <elaphos/io/file_error.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>
#include <vector>

namespace elaphos::io::impl {

namespace {

using elaphos::impl::format;

static_assert(std::endian::native == std::endian::little, "Elaphos: tensors are handed over as little-endian");

void check_writable(const Tensor& tensor) {
  const std::string& name = tensor.name;
  if (name.empty() || name == "." || name.find('/') != std::string::npos || name.find('\0') != std::string::npos ||
      !is_utf8(name)) {
    throw InvalidArgument("the name of a tensor", in_quotes(name),
                          "UTF-8 without / and zero bytes, and not a dot alone, as HDF5 needs it");
  }
  const std::string label = format("tensor {}", in_quotes(name));
  if (!hdf5_type(tensor.dtype)) {
    throw InvalidArgument(label, format("of type {}", tensor.dtype),
                          "F64, F32, F16, BF16, BOOL, or an integer type, which are written to HDF5 files");
  }
  if (tensor.shape.size() > H5S_MAX_RANK) {
    throw InvalidArgument(label, format("of rank {}", tensor.shape.size()),
                          format("at most {}, as HDF5 needs it", H5S_MAX_RANK));
  }
}

class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::filesystem::path& path) : m_path(path) {}

  void write(std::span<const Tensor> tensors, OutputFile& out) const {
    std::size_t total = 0;
    for (const Tensor& tensor : tensors) total += tensor.bytes.size();
    const Hdf5Id file = create(std::max<std::size_t>(total / 8, 65536));
    for (const Tensor& tensor : tensors) add(file.get(), tensor);
    check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL));
    // The library's memory itself: the copy that H5Fget_file_image makes has a wrong checksum in HDF5 1.10.
    const ssize_t size = H5Fget_file_image(file.get(), nullptr, 0);
    check(size);
    void* place = nullptr;
    check(H5Fget_vfd_handle(file.get(), H5P_DEFAULT, &place));
    out.write(*static_cast<void**>(place), static_cast<std::size_t>(size));
  }

 private:
  Hdf5Id create(std::size_t growth) const {
    const Hdf5Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose), creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    check(H5Pset_fapl_core(access.get(), growth, false));
    // What is read since 1.8, with checksums over everything but the numbers.
    check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18));
    check(H5Pset_link_creation_order(creation.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED));
    check(H5Pset_obj_track_times(creation.get(), false));
    // The library looks whether a file of the name exists; ours must not be read, nor waited for if it is a pipe.
    Hdf5Id file(H5Fcreate("Elaphos: in memory", H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose);
    check(file.get());
    return file;
  }

  void add(hid_t file, const Tensor& tensor) const {
    const std::vector<hsize_t> extents(tensor.shape.begin(), tensor.shape.end());
    const Hdf5Id space(extents.empty() ? H5Screate(H5S_SCALAR)
                                       : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                       H5Sclose);
    check(space.get());
    const Hdf5Id link(H5Pcreate(H5P_LINK_CREATE), H5Pclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_char_encoding(link.get(), H5T_CSET_UTF8));
    check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER));
    // The same tensors give the same bytes, whenever they are written.
    check(H5Pset_obj_track_times(creation.get(), false));
    const Hdf5Id type = hdf5_type(tensor.dtype);
    const Hdf5Id dataset(
        H5Dcreate2(file, tensor.name.c_str(), type.get(), space.get(), link.get(), creation.get(), H5P_DEFAULT),
        H5Dclose);
    check(dataset.get());
    if (!tensor.bytes.empty()) {
      check(H5Dwrite(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes.data()));
    }
  }

  void check(hid_t result) const {
    if (result < 0) throw FileError(m_path, format("cannot be written: {}", hdf5_reason()));
  }

  std::filesystem::path m_path;
};

}  // namespace

void write_hdf5_file(const std::filesystem::path& path, std::span<const Tensor> tensors) {
  const Hdf5Session session;
  for (const Tensor& tensor : tensors) check_writable(tensor);
  OutputFile file(path);
  Hdf5Writer(path).write(tensors, file);
  file.finish();
}

}  // namespace elaphos::io::impl
