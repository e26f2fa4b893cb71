// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hdf5_type.hpp"

#include "../format.hpp"

#include <array>
#include <cstddef>

namespace elaphos::io::impl {

namespace {

using elaphos::impl::format;

constexpr std::array dtypes = {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8"};

// In front of a fraction of `fraction` bits come 15 - fraction bits of exponent and the sign. float16 is what h5py
// stores; the library's own names for these types are newer than the versions that we support.
Hdf5Id half_type(std::size_t fraction, std::size_t exponent_bias) {
  Hdf5Id type(H5Tcopy(H5T_IEEE_F32LE), H5Tclose);
  H5Tset_fields(type.get(), 15, fraction, 15 - fraction, 0, fraction);
  H5Tset_size(type.get(), 2);
  H5Tset_ebias(type.get(), exponent_bias);
  return type;
}

// As h5py stores booleans.
constexpr struct {
  const char* name;
  signed char value;
} bool_members[] = {{"FALSE", 0}, {"TRUE", 1}};

Hdf5Id bool_type() {
  Hdf5Id type(H5Tenum_create(H5T_STD_I8LE), H5Tclose);
  for (const auto& member : bool_members) H5Tenum_insert(type.get(), member.name, &member.value);
  return type;
}

bool same_bool(hid_t type) {
  if (H5Tget_class(type) != H5T_ENUM || H5Tget_size(type) != 1 || H5Tget_nmembers(type) != 2) return false;
  for (const auto& member : bool_members) {
    const int index = H5Tget_member_index(type, member.name);
    signed char value = -1;
    if (index < 0 || H5Tget_member_value(type, static_cast<unsigned>(index), &value) < 0) return false;
    if (value != member.value) return false;
  }
  return true;
}

}  // namespace

Hdf5Id hdf5_type(std::string_view dtype) {
  const auto copy = [](hid_t type) { return Hdf5Id(H5Tcopy(type), H5Tclose); };
  if (dtype == "F64") return copy(H5T_IEEE_F64LE);
  if (dtype == "F32") return copy(H5T_IEEE_F32LE);
  if (dtype == "F16") return half_type(10, 15);
  if (dtype == "BF16") return half_type(7, 127);
  if (dtype == "I64") return copy(H5T_STD_I64LE);
  if (dtype == "I32") return copy(H5T_STD_I32LE);
  if (dtype == "I16") return copy(H5T_STD_I16LE);
  if (dtype == "I8") return copy(H5T_STD_I8LE);
  if (dtype == "U64") return copy(H5T_STD_U64LE);
  if (dtype == "U32") return copy(H5T_STD_U32LE);
  if (dtype == "U16") return copy(H5T_STD_U16LE);
  if (dtype == "U8") return copy(H5T_STD_U8LE);
  if (dtype == "BOOL") return bool_type();
  return {H5I_INVALID_HID, H5Tclose};
}

std::string dtype_of(hid_t type) {
  if (same_bool(type)) return "BOOL";
  for (const char* dtype : dtypes) {
    const Hdf5Id candidate = hdf5_type(dtype);
    if (H5Tequal(type, candidate.get()) > 0) return dtype;
    H5Tset_order(candidate.get(), H5T_ORDER_BE);
    if (H5Tequal(type, candidate.get()) > 0) return dtype;
  }
  return {};
}

std::string describe(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return format("integers of {} bits in {} bytes", H5Tget_precision(type), H5Tget_size(type));
    case H5T_FLOAT:
      return format("floats of {} bits in {} bytes", H5Tget_precision(type), H5Tget_size(type));
    case H5T_STRING:
      return "text";
    case H5T_BITFIELD:
      return "bit fields";
    case H5T_OPAQUE:
      return "opaque bytes";
    case H5T_COMPOUND:
      return "a compound type";
    case H5T_REFERENCE:
      return "references";
    case H5T_ENUM:
      return "an enumeration";
    case H5T_VLEN:
      return "sequences of variable length";
    case H5T_ARRAY:
      return "arrays";
    default:
      return "a type of another class";
  }
}

}  // namespace elaphos::io::impl
