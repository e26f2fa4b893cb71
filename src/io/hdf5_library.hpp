// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_IO_HDF5_LIBRARY_HPP
#define ELAPHOS_SRC_IO_HDF5_LIBRARY_HPP

#include <hdf5.h>

#include <mutex>
#include <string>
#include <utility>

namespace elaphos::io::impl {

/// An id of the HDF5 library; closed in the end, unless it is negative, as the ids of calls that fail are.
class Hdf5Id {
 public:
  Hdf5Id(hid_t id, herr_t (*close)(hid_t)) : m_id(id), m_close(close) {}
  ~Hdf5Id() {
    if (m_id >= 0) m_close(m_id);
  }
  Hdf5Id(Hdf5Id&& other) noexcept : m_id(std::exchange(other.m_id, H5I_INVALID_HID)), m_close(other.m_close) {}
  Hdf5Id(const Hdf5Id&) = delete;
  Hdf5Id& operator=(const Hdf5Id&) = delete;

  explicit operator bool() const { return m_id >= 0; }
  hid_t get() const { return m_id; }

 private:
  hid_t m_id;
  herr_t (*m_close)(hid_t);
};

/// What must live while the HDF5 library is called, longer than every id.
///
/// The library prints its errors unless it is told not to; afterwards it does again what the program wants. Elaphos'
/// own calls are made one after the other, since not every HDF5 is thread-safe.
class Hdf5Session {
 public:
  Hdf5Session();
  ~Hdf5Session();
  Hdf5Session(const Hdf5Session&) = delete;
  Hdf5Session& operator=(const Hdf5Session&) = delete;

 private:
  std::unique_lock<std::mutex> m_lock;
  unsigned m_is_v2 = 1;
  H5E_auto2_t m_report = nullptr;
#ifndef H5_NO_DEPRECATED_SYMBOLS
  H5E_auto1_t m_report_v1 = nullptr;
#endif
  void* m_report_data = nullptr;
};

/// "HDF5 says '...'": the innermost reason of the call that has just failed.
std::string hdf5_reason();

}  // namespace elaphos::io::impl

#endif
