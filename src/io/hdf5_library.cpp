// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hdf5_library.hpp"

#include "tensor_type.hpp"

#include "../format.hpp"

namespace elaphos::io::impl {

namespace {

std::mutex& library_mutex() {
  static std::mutex mutex;
  return mutex;
}

// Called by C code, which no exception may cross.
herr_t keep_first(unsigned, const H5E_error2_t* error, void* text) noexcept {
  try {
    if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  } catch (...) {
    return -1;
  }
  return 1;  // enough
}

}  // namespace

Hdf5Session::Hdf5Session() : m_lock(library_mutex()) {
  H5Eauto_is_v2(H5E_DEFAULT, &m_is_v2);
#ifndef H5_NO_DEPRECATED_SYMBOLS
  if (m_is_v2 == 0) {
    H5Eget_auto1(&m_report_v1, &m_report_data);
    H5Eset_auto1(nullptr, nullptr);
    return;
  }
#endif
  H5Eget_auto2(H5E_DEFAULT, &m_report, &m_report_data);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

Hdf5Session::~Hdf5Session() {
  H5Eclear2(H5E_DEFAULT);
#ifndef H5_NO_DEPRECATED_SYMBOLS
  if (m_is_v2 == 0) {
    H5Eset_auto1(m_report_v1, m_report_data);
    return;
  }
#endif
  H5Eset_auto2(H5E_DEFAULT, m_report, m_report_data);
}

std::string hdf5_reason() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &text);
  return elaphos::impl::format("HDF5 says {}", in_quotes(text));
}

}  // namespace elaphos::io::impl
