// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights in HDF5 files. The oracle are files that the tests make, or read, through the library's own interface.
#include "support/hdf5.hpp"
#include "support/tensors.hpp"

#include <elaphos/errors.hpp>
#include <elaphos/io/state_dict.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace io = elaphos::io;
using Catch::Matchers::ContainsSubstring;
using elaphos::InvalidArgument;
using test::same;
using test::tensor_of;

// The names of the links in the root group, in the order of their creation.
std::vector<std::string> links_of(hid_t file) {
  H5G_info_t info{};
  REQUIRE(H5Gget_info(file, &info) >= 0);
  std::vector<std::string> names;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    char name[200];
    REQUIRE(H5Lget_name_by_idx(file, ".", H5_INDEX_CRT_ORDER, H5_ITER_INC, i, name, sizeof(name), H5P_DEFAULT) > 0);
    names.push_back(name);
  }
  return names;
}

template <class Number>
io::StateDict all_kinds_of_tensors() {
  const std::string dtype = sizeof(Number) == 4 ? "F32" : "F64";
  std::mt19937_64 generator(12);
  std::vector<Number> numbers(3000);
  // Any bits: subnormals, infinities, NaN with their payloads.
  for (Number& number : numbers) {
    const std::uint64_t bits = generator();
    std::memcpy(&number, &bits, sizeof(number));
  }
  numbers[0] = NAN;
  numbers[1] = -Number(0);
  io::StateDict dict;
  dict.insert(tensor_of("z.weight_ih_l0", dtype, {3, 10, 100}, numbers));
  dict.insert(tensor_of<float>("one", "F32", {}, {2}));
  dict.insert(tensor_of<double>("a", "F64", {1, 1}, {3}));
  dict.insert(tensor_of<Number>("none", dtype, {4, 0}, {}));
  dict.insert(tensor_of<char>("mask", "BOOL", {3}, {1, 0, 1}));
  dict.insert(tensor_of<std::int64_t>("i64", "I64", {2}, {INT64_MIN, INT64_MAX}));
  dict.insert(tensor_of<std::uint64_t>("u64", "U64", {1}, {UINT64_MAX}));
  dict.insert(tensor_of<std::int32_t>("i32", "I32", {2}, {INT32_MIN, 5}));
  dict.insert(tensor_of<std::uint32_t>("u32", "U32", {1}, {UINT32_MAX}));
  dict.insert(tensor_of<std::int16_t>("\"\\\n\xc3\xa9 ..", "I16", {2}, {-1, 5}));
  dict.insert(tensor_of<std::uint16_t>("u16", "U16", {1}, {UINT16_MAX}));
  dict.insert(tensor_of<signed char>("i8", "I8", {2}, {-128, 127}));
  dict.insert(tensor_of<unsigned char>("u8", "U8", {1}, {255}));
  dict.insert(tensor_of<Number>(std::string(300, 'n'), dtype, std::vector<std::size_t>(32, 1), {7}));
  return dict;
}

}  // namespace

TEMPLATE_TEST_CASE("io hdf5: every tensor comes back, bit by bit and in its order", "", float, double) {
  const io::StateDict dict = all_kinds_of_tensors<TestType>();
  const test::Folder folder;
  io::write_hdf5(folder.path("a.h5"), dict);
  CHECK(same(io::read_hdf5(folder.path("a.h5")), dict));
  io::write_hdf5(folder.path("b.h5"), io::read_hdf5(folder.path("a.h5")));
  // In brackets, so that nobody prints them.
  CHECK((test::contents_of(folder.path("b.h5")) == test::contents_of(folder.path("a.h5"))));
  io::write_hdf5(folder.path("a.h5"), {});
  CHECK(io::read_hdf5(folder.path("a.h5")).empty());
  CHECK(folder.files() == 2);
  CHECK(test::open_objects() == 0);
}

TEST_CASE("io hdf5: files are written as the library reads them") {
  const std::vector<float> w = {1.5f, -2, 0.1f, 4, 5, 1e30f};
  io::StateDict dict;
  dict.insert(tensor_of("rnn.w", "F32", {2, 3}, w));
  dict.insert(tensor_of<double>("b", "F64", {}, {0.1}));
  dict.insert(tensor_of<char>("mask", "BOOL", {2}, {0, 1}));
  dict.insert(tensor_of<std::uint16_t>("half", "F16", {1}, {0x3c00}));
  const test::Folder folder;
  io::write_hdf5(folder.path("a"), dict);
  const test::Id file(H5Fopen(folder.path("a").string().c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  CHECK(links_of(file) == std::vector<std::string>{"rnn.w", "b", "mask", "half"});
  const auto type_of = [&](const char* name) {
    const test::Id dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose);
    return H5Dget_type(dataset);
  };
  const test::Id b(type_of("b"), H5Tclose), mask(type_of("mask"), H5Tclose), half(type_of("half"), H5Tclose);
  const test::Id bools(test::make_enumeration({{"FALSE", 0}, {"TRUE", 1}}), H5Tclose);
  const test::Id float16(test::make_half_type(H5T_ORDER_LE), H5Tclose);
  CHECK(H5Tequal(b, H5T_IEEE_F64LE) > 0);
  CHECK(H5Tequal(mask, bools) > 0);
  CHECK(H5Tequal(half, float16) > 0);

  const test::Id dataset(H5Dopen2(file, "rnn.w", H5P_DEFAULT), H5Dclose), type(H5Dget_type(dataset), H5Tclose);
  const test::Id space(H5Dget_space(dataset), H5Sclose);
  CHECK(H5Tequal(type, H5T_IEEE_F32LE) > 0);
  hsize_t extents[2] = {};
  REQUIRE(H5Sget_simple_extent_ndims(space) == 2);
  H5Sget_simple_extent_dims(space, extents, nullptr);
  CHECK((extents[0] == 2 && extents[1] == 3));
  std::vector<float> found(6);
  REQUIRE(H5Dread(dataset, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, found.data()) >= 0);
  CHECK(found == w);
}

TEST_CASE("io hdf5: files are read as h5py writes them") {
  const std::vector<float> w = {1.5f, -2, 0.1f, 4, 5, 1e30f};
  const std::vector<double> d = {0.1, -1e300};
  std::vector<double> many(5000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = std::sqrt(static_cast<double>(i));
  const std::vector<std::uint16_t> halves = {0x0001, 0x3555, 0xfbff, 0xfc00};
  const test::Folder folder;
  {
    const test::Id creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_userblock(creation, 1024);
    const test::Hdf5File file(folder.path("a"), creation);
    file.group("enc");
    file.group("enc/rnn");
    file.group("enc/empty");
    file.dataset("enc/rnn/w", H5T_IEEE_F32BE, {2, 3}, w, H5T_NATIVE_FLOAT);
    file.dataset("enc/rnn/d.le", H5T_IEEE_F64LE, {2}, d, H5T_NATIVE_DOUBLE);
    file.dataset("d", H5T_IEEE_F64BE, {2}, d, H5T_NATIVE_DOUBLE);
    file.dataset("steps", H5T_STD_I64BE, {}, std::vector<std::int64_t>{-7}, H5T_NATIVE_INT64);
    file.dataset("none", H5T_IEEE_F32LE, {0, 5}, std::vector<float>{}, H5T_NATIVE_FLOAT);
    const test::Id gzip(test::make_gzip({7, 9}), H5Pclose);
    file.dataset("gzip", H5T_IEEE_F64BE, {50, 100}, many, H5T_NATIVE_DOUBLE, gzip);
    const test::Id compact(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_layout(compact, H5D_COMPACT);
    file.dataset("compact", H5T_IEEE_F32LE, {6}, w, H5T_NATIVE_FLOAT, compact);
    const test::Id little(test::make_half_type(H5T_ORDER_LE), H5Tclose),
        big(test::make_half_type(H5T_ORDER_BE), H5Tclose);
    file.dataset("half_le", little, {2, 2}, halves, little);
    file.dataset("half_be", big, {2, 2}, halves, little);
    const test::Id bools(test::make_enumeration({{"FALSE", 0}, {"TRUE", 1}}), H5Tclose);
    file.dataset("mask", bools, {3}, std::vector<signed char>{1, 0, 1}, bools);
    const test::Id filled(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const float fill = 2.5f;
    H5Pset_fill_value(filled, H5T_NATIVE_FLOAT, &fill);
    file.declare("never_written", H5T_IEEE_F32LE, {3}, filled);
    // Two names of one dataset: tied weights.
    REQUIRE(H5Lcreate_hard(file.id(), "d", file.id(), "enc/tied", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    // What holds no numbers is skipped.
    const test::Id scalar(H5Screate(H5S_SCALAR), H5Sclose), text(H5Tcopy(H5T_C_S1), H5Tclose);
    const test::Id note(H5Acreate2(file.id(), "note", text, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
    REQUIRE(H5Awrite(note, text, "x") >= 0);
    REQUIRE(H5Tcommit2(file.id(), "named_type", text, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT) >= 0);
  }
  // By name, since this file does not know when what was made.
  io::StateDict expected;
  expected.insert(tensor_of("compact", "F32", {6}, w));
  expected.insert(tensor_of("d", "F64", {2}, d));
  expected.insert(tensor_of("enc.rnn.d.le", "F64", {2}, d));
  expected.insert(tensor_of("enc.rnn.w", "F32", {2, 3}, w));
  expected.insert(tensor_of("enc.tied", "F64", {2}, d));
  expected.insert(tensor_of("gzip", "F64", {50, 100}, many));
  const std::vector<float> of_halves = {0x1p-24f, 0x1.554p-2f, -65504, -INFINITY};
  expected.insert(tensor_of("half_be", "F32", {2, 2}, of_halves));
  expected.insert(tensor_of("half_le", "F32", {2, 2}, of_halves));
  expected.insert(tensor_of<char>("mask", "BOOL", {3}, {1, 0, 1}));
  expected.insert(tensor_of<float>("never_written", "F32", {3}, {2.5f, 2.5f, 2.5f}));
  expected.insert(tensor_of<float>("none", "F32", {0, 5}, {}));
  expected.insert(tensor_of<std::int64_t>("steps", "I64", {}, {-7}));
  CHECK(same(io::read_hdf5(folder.path("a")), expected));
  CHECK(test::open_objects() == 0);
}

TEST_CASE("io hdf5: several threads may read and write") {
  const io::StateDict dict = all_kinds_of_tensors<float>();
  const test::Folder folder;
  io::write_hdf5(folder.path("a"), dict);
  std::vector<int> right(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < right.size(); ++i) {
    threads.emplace_back([&, i] {
      const auto own = folder.path(std::to_string(i));
      for (int round = 0; round < 10; ++round) {
        io::write_hdf5(own, dict);
        right[i] += same(io::read_hdf5(folder.path("a")), dict) && same(io::read_hdf5(own), dict);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<int>(4, 10));
}

TEST_CASE("io hdf5: a file that cannot be written leaves what was there") {
  const test::Folder folder;
  const auto path = folder.write("a", "old");
  for (const std::string& name :
       {std::string(), std::string("."), std::string("a/b"), std::string("\xff"), std::string("a\0b", 3)}) {
    io::StateDict dict;
    dict.insert(tensor_of<float>("good", "F32", {1}, {1}));
    dict.insert(tensor_of<float>(name, "F32", {1}, {1}));
    CAPTURE(name);
    CHECK_THROWS_AS(io::write_hdf5(path, dict), InvalidArgument);
    CHECK_THROWS_WITH(io::write_hdf5(path, dict), ContainsSubstring("the name of a tensor is '") &&
                                                      ContainsSubstring("expected UTF-8 without / and zero bytes"));
  }
  for (const char* dtype : {"C64", "F8_E4M3"}) {
    io::StateDict dict;
    dict.insert(io::Tensor{"c", dtype, {8}, std::vector<std::byte>(dtype[0] == 'C' ? 64 : 8)});
    CHECK_THROWS_WITH(io::write_hdf5(path, dict),
                      "Elaphos: tensor 'c' is of type " + std::string(dtype) +
                          "; expected F64, F32, F16, BF16, BOOL, or an integer type, which are written to HDF5 files");
  }
  io::StateDict dict;
  dict.insert(tensor_of<float>("r", "F32", std::vector<std::size_t>(33, 1), {1}));
  CHECK_THROWS_WITH(io::write_hdf5(path, dict),
                    "Elaphos: tensor 'r' is of rank 33; expected at most 32, as HDF5 needs it");
  dict.erase("r");
  std::filesystem::create_directory(folder.path("folder"));
  CHECK_THROWS_WITH(io::write_hdf5(folder.path("folder"), dict), ContainsSubstring(folder.path("folder").string()));
  CHECK_THROWS_WITH(io::write_hdf5(folder.path("absent") / "a", dict), ContainsSubstring("no file can be made"));

  // As on a full disk: the system takes a part.
  dict.insert(tensor_of("large", "F32", {100'000}, std::vector<float>(100'000)));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  CHECK_THROWS_AS(io::write_hdf5(path, dict), io::FileError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(test::contents_of(path) == "old");
  CHECK(folder.files() == 2);
  CHECK(test::open_objects() == 0);
}
