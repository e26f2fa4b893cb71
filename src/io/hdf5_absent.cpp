// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled where Elaphos::io is built without HDF5.
#include "hdf5.hpp"

#include <elaphos/io/file_error.hpp>

namespace elaphos::io::impl {

namespace {

[[noreturn]] void refuse(const std::filesystem::path& path) {
  throw FileError(path, "Elaphos::io was built without HDF5; expected a build with ELAPHOS_ENABLE_HDF5=ON");
}

}  // namespace

std::vector<Tensor> read_hdf5_file(const std::filesystem::path& path) { refuse(path); }

void write_hdf5_file(const std::filesystem::path& path, std::span<const Tensor>) { refuse(path); }

}  // namespace elaphos::io::impl
