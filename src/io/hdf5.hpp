// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_HDF5_HPP
#define ELAPHOS_SRC_IO_HDF5_HPP

#include <elaphos/io/tensor.hpp>

#include <filesystem>
#include <span>
#include <vector>

namespace elaphos::io::impl {

/// See `elaphos::io::read_hdf5`. The order is that of creation where the file knows it, else by name.
std::vector<Tensor> read_hdf5_file(const std::filesystem::path& path);

/// See `elaphos::io::write_hdf5`.
void write_hdf5_file(const std::filesystem::path& path, std::span<const Tensor> tensors);

}  // namespace elaphos::io::impl

#endif
