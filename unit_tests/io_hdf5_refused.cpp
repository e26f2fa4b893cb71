// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// HDF5 files that hold something else than tensors, or are damaged.
#include "support/hdf5.hpp"
#include "support/tensors.hpp"

#include <elaphos/io/state_dict.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace {

namespace io = elaphos::io;
using Catch::Matchers::ContainsSubstring;
using test::tensor_of;

struct Refused {
  std::string message;
  std::function<void(const test::Hdf5File&)> make;
};

Refused of_type(const std::string& what, const std::function<hid_t()>& make_type) {
  return {"tensor 'g.a' holds " + what + "; expected floats of 16, 32 or 64 bits, integers of 8 to 64, or booleans",
          [make_type](const test::Hdf5File& file) {
            file.group("g");
            file.declare("g/a", test::Id(make_type(), H5Tclose), {2});
          }};
}

Refused of_creation(const std::string& message, const std::vector<hsize_t>& extents,
                    const std::function<void(hid_t)>& change) {
  return {message, [=](const test::Hdf5File& file) {
            const test::Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
            change(creation);
            file.declare("a", H5T_IEEE_F32LE, extents, creation);
          }};
}

hid_t sized(hid_t type, std::size_t bytes) {
  const hid_t copy = H5Tcopy(type);
  H5Tset_size(copy, bytes);
  return copy;
}

std::vector<Refused> refused_types() {
  return {
      of_type("a compound type",
              [] {
                const hid_t type = H5Tcreate(H5T_COMPOUND, 8);
                H5Tinsert(type, "r", 0, H5T_IEEE_F32LE);
                H5Tinsert(type, "i", 4, H5T_IEEE_F32LE);
                return type;
              }),
      of_type("text", [] { return sized(H5T_C_S1, 5); }),
      of_type("text", [] { return sized(H5T_C_S1, H5T_VARIABLE); }),
      of_type("sequences of variable length", [] { return H5Tvlen_create(H5T_IEEE_F32LE); }),
      of_type("arrays",
              [] {
                const hsize_t extents[] = {3};
                return H5Tarray_create2(H5T_IEEE_F32LE, 1, extents);
              }),
      of_type("an enumeration",
              [] {
                return test::make_enumeration({{"RED", 0}, {"BLUE", 1}});
              }),
      of_type("an enumeration",
              [] {
                return test::make_enumeration({{"FALSE", 1}, {"TRUE", 0}});
              }),
      of_type("opaque bytes", [] { return H5Tcreate(H5T_OPAQUE, 3); }),
      of_type("bit fields", [] { return H5Tcopy(H5T_STD_B8LE); }),
      of_type("references", [] { return H5Tcopy(H5T_STD_REF_OBJ); }),
      of_type("floats of 24 bits in 4 bytes",
              [] {
                const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
                H5Tset_fields(type, 23, 15, 8, 0, 15);
                H5Tset_precision(type, 24);
                return type;
              }),
      of_type("integers of 24 bits in 4 bytes",
              [] {
                const hid_t type = H5Tcopy(H5T_STD_I32LE);
                H5Tset_precision(type, 24);
                return type;
              }),
  };
}

std::vector<Refused> refused_storage() {
  const auto chunked = [](hid_t creation) {
    const hsize_t chunk[] = {4};
    H5Pset_chunk(creation, 1, chunk);
  };
  return {
      of_creation("tensor 'a' is stored with filter 6; expected gzip, shuffle or fletcher32", {8},
                  [=](hid_t creation) {
                    chunked(creation);
                    H5Pset_scaleoffset(creation, H5Z_SO_FLOAT_DSCALE, 2);
                  }),
      of_creation("tensor 'a' is stored with filter 5", {8},
                  [=](hid_t creation) {
                    chunked(creation);
                    H5Pset_nbit(creation);
                  }),
      of_creation("tensor 'a' lies in other files; expected its numbers in this one", {8},
                  [](hid_t creation) { H5Pset_external(creation, "/etc/hostname", 0, 32); }),
      of_creation("tensor 'a' is a virtual dataset; expected one with numbers of its own", {8},
                  [](hid_t creation) {
                    const hsize_t extents[] = {8};
                    const test::Id space(H5Screate_simple(1, extents, nullptr), H5Sclose);
                    H5Pset_virtual(creation, space, "other.h5", "b", space);
                  }),
      of_creation("tensor 'a' of (1000000, 1000000) entries F32 is too large; expected at most 16777216 bytes",
                  {1'000'000, 1'000'000}, [](hid_t) {}),
      {"tensor 'a' has chunks of (500000000) entries F32, too large; expected at most 16777216 bytes",
       [](const test::Hdf5File& file) {
         const test::Id creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
         const hsize_t chunk[] = {500'000'000}, extents[] = {8}, most[] = {H5S_UNLIMITED};
         H5Pset_chunk(creation, 1, chunk);
         const test::Id space(H5Screate_simple(1, extents, most), H5Sclose);
         const test::Id dataset(H5Dcreate2(file.id(), "a", H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT),
                                H5Dclose);
       }},
  };
}

std::vector<Refused> refused_structures() {
  return {
      {"'s' is a soft link; expected a dataset or a group",
       [](const test::Hdf5File& file) { H5Lcreate_soft("/nowhere", file.id(), "s", H5P_DEFAULT, H5P_DEFAULT); }},
      {"'g.s' is an external link; expected a dataset or a group",
       [](const test::Hdf5File& file) {
         file.group("g");
         H5Lcreate_external("other.h5", "/x", file.id(), "g/s", H5P_DEFAULT, H5P_DEFAULT);
       }},
      {"group 'g.again' is linked twice; expected a tree of groups",
       [](const test::Hdf5File& file) {
         file.group("g");
         H5Lcreate_hard(file.id(), "g", file.id(), "g/again", H5P_DEFAULT, H5P_DEFAULT);
       }},
      {"lies in more than 64 others",
       [](const test::Hdf5File& file) {
         std::string path;
         for (int depth = 0; depth < 70; ++depth) file.group(path += "/g");
       }},
      {"a second tensor 'a.b', if / is read as a dot",
       [](const test::Hdf5File& file) {
         file.group("a");
         file.declare("a/b", H5T_IEEE_F32LE, {1});
         file.declare("a.b", H5T_IEEE_F32LE, {1});
       }},
      {"tensor 'empty' is empty without a shape; expected numbers",
       [](const test::Hdf5File& file) {
         const test::Id space(H5Screate(H5S_NULL), H5Sclose);
         const test::Id dataset(
             H5Dcreate2(file.id(), "empty", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
       }},
  };
}

int reports = 0;
herr_t count_report(hid_t, void*) {
  ++reports;
  return 0;
}
#ifndef H5_NO_DEPRECATED_SYMBOLS
herr_t count_report_v1(void*) {
  ++reports;
  return 0;
}
#endif

// A file that is read whole, or refused; anything else is an error.
bool accepted(const std::filesystem::path& path) {
  io::StateDict dict;
  try {
    dict = io::read_hdf5(path);
  } catch (const io::FileError&) {
    return false;
  }
  REQUIRE(test::sizes_fit(dict));
  return true;
}

}  // namespace

TEST_CASE("io hdf5: what is no tensor is named") {
  const test::Folder folder;
  const auto path = folder.path("a.h5");
  std::vector<Refused> cases = refused_types();
  for (const auto& more : {refused_storage(), refused_structures()})
    cases.insert(cases.end(), more.begin(), more.end());
  for (const Refused& file : cases) {
    CAPTURE(file.message);
    file.make(test::Hdf5File(path));
    CHECK_THROWS_AS(io::read_hdf5(path), io::FileError);
    CHECK_THROWS_WITH(io::read_hdf5(path), ContainsSubstring(path.string() + ": ") && ContainsSubstring(file.message));
    CHECK(test::open_objects() == 0);
  }
}

TEST_CASE("io hdf5: what is no HDF5 file is refused") {
  const test::Folder folder;
  for (const std::string& contents :
       {std::string(), std::string("\x89HDF"), std::string(5000, 'x'), test::safetensors("{}      ", "")}) {
    CHECK_THROWS_WITH(io::read_hdf5(folder.write("a", contents)),
                      ContainsSubstring(folder.path("a").string() + ": is not HDF5: its signature is missing"));
  }
  CHECK_THROWS_WITH(io::read_hdf5(folder.write("a", "\x89HDF\r\n\x1a\n")),
                    ContainsSubstring("cannot be opened as HDF5: HDF5 says '"));
  CHECK_THROWS_WITH(io::read_hdf5(folder.path("absent")), ContainsSubstring("no such file"));
  CHECK_THROWS_WITH(io::read_hdf5(folder.path("")), ContainsSubstring("not a regular file"));
}

TEST_CASE("io hdf5: the library is quiet, and reports afterwards as it did before") {
  const test::Folder folder;
  const auto path = folder.write("a", "\x89HDF\r\n\x1a\n");
  H5E_auto2_t before = nullptr, found = nullptr;
  void *before_data = nullptr, *data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &before, &before_data);
  H5Eset_auto2(H5E_DEFAULT, count_report, &reports);
  reports = 0;
  CHECK_THROWS_AS(io::read_hdf5(path), io::FileError);
  CHECK(reports == 0);
  REQUIRE(H5Eget_auto2(H5E_DEFAULT, &found, &data) >= 0);
  CHECK((found == count_report && data == &reports));
  CHECK(H5Eget_num(H5E_DEFAULT) == 0);
#ifndef H5_NO_DEPRECATED_SYMBOLS
  H5Eset_auto1(count_report_v1, &reports);
  CHECK_THROWS_AS(io::read_hdf5(path), io::FileError);
  CHECK(reports == 0);
  H5E_auto1_t found_v1 = nullptr;
  REQUIRE(H5Eget_auto1(&found_v1, &data) >= 0);
  CHECK(found_v1 == count_report_v1);
#endif
  H5Fopen(folder.path("absent").string().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  CHECK(reports == 1);
  H5Eset_auto2(H5E_DEFAULT, before, before_data);
}

TEST_CASE("io hdf5: damaged files are refused, or have the sizes they say") {
  constexpr std::uint64_t seed = 2027;
  std::mt19937_64 generator(seed);
  const test::Folder folder;
  io::StateDict dict;
  for (int i = 0; i < 12; ++i) {
    dict.insert(tensor_of("layer." + std::to_string(i), "F32", {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  }
  io::write_hdf5(folder.path("new"), dict);
  {
    const test::Hdf5File file(folder.path("old"));
    const test::Id gzip(test::make_gzip({16, 8}), H5Pclose);
    file.group("g");
    file.dataset("g/gzip", H5T_IEEE_F64BE, {40, 20}, std::vector<double>(800, 0.5), H5T_NATIVE_DOUBLE, gzip);
    file.dataset("w", H5T_IEEE_F32LE, {3}, std::vector<float>{1, 2, 3}, H5T_NATIVE_FLOAT);
    file.dataset("n", H5T_STD_I64LE, {2}, std::vector<std::int64_t>{1, 2}, H5T_NATIVE_INT64);
  }
  for (const char* name : {"new", "old"}) {
    const std::string valid = test::contents_of(folder.path(name));
    REQUIRE(accepted(folder.path(name)));
    CAPTURE(name, valid.size());
    const std::size_t stride = valid.size() / 500 + 1;
    for (std::size_t size = 0; size < valid.size(); size += stride) {
      CAPTURE(size);
      CHECK_FALSE(accepted(folder.write("a", valid.substr(0, size))));
    }
    CHECK_FALSE(accepted(folder.write("a", valid.substr(0, valid.size() - 1))));
    int kept = 0, refused = 0;
    for (int round = 0; round < 3000; ++round) {
      std::string contents = valid;
      for (std::size_t edits = 1 + generator() % 3; edits > 0; --edits) {
        const std::size_t at = generator() % contents.size(), length = std::size_t(1) << generator() % 4;
        const int kind = static_cast<int>(generator() % 4);
        for (std::size_t i = at; i < std::min(at + length, contents.size()); ++i) {
          const char any = static_cast<char>(generator() % 256);
          contents[i] = kind == 0 ? any : kind == 1 ? '\xff' : kind == 2 ? '\0' : static_cast<char>(contents[i] ^ 1);
        }
      }
      CAPTURE(seed, round);
      ++(accepted(folder.write("a", contents)) ? kept : refused);
    }
    // Otherwise one of the two outcomes was not tried.
    CHECK((kept > 50 && refused > 300));
  }
  CHECK(test::open_objects() == 0);
}
