// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_HDF5_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_HDF5_HPP

#include <catch2/catch_test_macros.hpp>

#include <hdf5.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace test {

/// An id of the HDF5 library, which must be one.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t)) : m_id(id), m_close(close) { REQUIRE(id >= 0); }
  ~Id() { m_close(m_id); }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  operator hid_t() const { return m_id; }

 private:
  hid_t m_id;
  herr_t (*m_close)(hid_t);
};

/// An HDF5 file that a test puts together through the library itself.
class Hdf5File {
 public:
  explicit Hdf5File(const std::filesystem::path& path, hid_t creation = H5P_DEFAULT)
      : m_file(H5Fcreate(path.string().c_str(), H5F_ACC_TRUNC, creation, H5P_DEFAULT), H5Fclose) {}

  hid_t id() const { return m_file; }

  void group(const std::string& name) const {
    const Id group(H5Gcreate2(m_file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  }

  /// A dataset that is not written; without extents a single number.
  void declare(const std::string& name, hid_t type, const std::vector<hsize_t>& extents,
               hid_t creation = H5P_DEFAULT) const {
    const Id space(extents.empty() ? H5Screate(H5S_SCALAR)
                                   : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                   H5Sclose);
    const Id dataset(H5Dcreate2(m_file, name.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose);
  }

  /// A dataset of `type` with these numbers, each of `memory_type`.
  template <class Number>
  void dataset(const std::string& name, hid_t type, const std::vector<hsize_t>& extents,
               const std::vector<Number>& numbers, hid_t memory_type, hid_t creation = H5P_DEFAULT) const {
    declare(name, type, extents, creation);
    const Id dataset(H5Dopen2(m_file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (numbers.empty()) return;
    REQUIRE(H5Dwrite(dataset, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers.data()) >= 0);
  }

 private:
  Id m_file;
};

/// float16 as h5py makes it.
inline hid_t make_half_type(H5T_order_t order) {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  H5Tset_order(type, order);
  return type;
}

/// An enumeration of one byte.
inline hid_t make_enumeration(const std::vector<std::pair<const char*, signed char>>& members) {
  const hid_t type = H5Tenum_create(H5T_STD_I8LE);
  for (const auto& [name, value] : members) H5Tenum_insert(type, name, &value);
  return type;
}

/// Chunks of these extents, shuffled, deflated and with checksums.
inline hid_t make_gzip(const std::vector<hsize_t>& chunk) {
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
  H5Pset_shuffle(creation);
  H5Pset_deflate(creation, 6);
  H5Pset_fletcher32(creation);
  return creation;
}

/// Objects of the library that nobody has closed.
inline ssize_t open_objects() { return H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL); }

}  // namespace test

#endif
