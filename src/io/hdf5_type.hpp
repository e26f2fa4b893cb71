// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_HDF5_TYPE_HPP
#define ELAPHOS_SRC_IO_HDF5_TYPE_HPP

#include "hdf5_library.hpp"

#include <string>
#include <string_view>

namespace elaphos::io::impl {

/// The type as which entries of `dtype` are stored, and, since it is little-endian, held in memory. The id is negative
/// for what HDF5 files do not hold here.
Hdf5Id hdf5_type(std::string_view dtype);

/// The dtype of entries that a file stores as `type`, in either byte order; empty where there is none.
std::string dtype_of(hid_t type);

/// "a compound type": what a dtype could not be found for.
std::string describe(hid_t type);

}  // namespace elaphos::io::impl

#endif
