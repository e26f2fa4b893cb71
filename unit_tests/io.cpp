// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Weights in files. The oracle of the formats are bytes that the tests put together themselves.
#include "support/tensors.hpp"
#include "support/transfer.hpp"

#include <elaphos/io/state_dict.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

namespace io = elaphos::io;
using Catch::Matchers::ContainsSubstring;
using elaphos::InvalidArgument;
using elaphos::MatrixView;
using elaphos::VectorView;
using test::entry;
using test::Memory;
using test::same;
using test::tensor_of;

struct Malformed {
  std::string contents;
  std::string message;
};

}  // namespace

TEST_CASE("io: safetensors are read as the format says") {
  const std::string header = R"({"__metadata__":{"format":"pt","w":"weights"},)" + entry("b", "F64", "2", 24, 40) +
                             "," + entry("w", "F32", "2,3", 0, 24) + "," + entry("count", "I64", "", 40, 48) + "," +
                             entry("none", "F32", "0,5", 24, 24) + R"(,"q\u00e9":{"shape":[1,1,4], "data_offsets" :
                             [48,52], "dtype":"BOOL"}}   )";
  const std::vector<float> w = {1.5f, -2, 0.1f, 4, 5, 1e30f};
  const std::vector<double> b = {0.1, 1e300};
  const test::Folder folder;
  const auto path = folder.write("a.safetensors", test::safetensors(header, test::bytes_of(w) + test::bytes_of(b) +
                                                                                test::bytes_of<std::int64_t>({7}) +
                                                                                test::bytes_of<char>({1, 0, 0, 1})));
  const io::StateDict dict = io::read_safetensors(path);

  io::StateDict expected;
  expected.insert(tensor_of("b", "F64", {2}, b));
  expected.insert(tensor_of("w", "F32", {2, 3}, w));
  expected.insert(tensor_of<std::int64_t>("count", "I64", {}, {7}));
  expected.insert(tensor_of<float>("none", "F32", {0, 5}, {}));
  expected.insert(tensor_of<char>("q\xc3\xa9", "BOOL", {1, 1, 4}, {1, 0, 0, 1}));
  CHECK(same(dict, expected));

  const auto as_float = dict.view<MatrixView<const float, Memory>>("w");
  CHECK((as_float.extent(0) == 2 && as_float.extent(1) == 3));
  CHECK(test::to_host(as_float) == w);
  CHECK(test::to_host(dict.view<MatrixView<double, Memory>>(test::Exec(), "w")) ==
        std::vector<double>(w.begin(), w.end()));
  CHECK(test::to_host(dict.view<VectorView<float, Kokkos::HostSpace>>("b")) == std::vector<float>{0.1f, INFINITY});
  CHECK(dict.view<MatrixView<float, Memory>>("none").extent(1) == 5);

  CHECK_THROWS_WITH((dict.view<VectorView<float, Memory>>("w")),
                    "Elaphos: tensor 'w' is of rank 2, (2, 3); expected rank 1");
  CHECK_THROWS_WITH((dict.view<Kokkos::View<float, Memory>>("count")),
                    "Elaphos: tensor 'count' is of type I64; expected F32 or F64");
  CHECK_THROWS_AS((dict.view<VectorView<float, Memory>>("x")), InvalidArgument);
}

TEST_CASE("io: safetensors are written as the format says") {
  io::StateDict dict;
  dict.insert("attn.0", test::to_device<Kokkos::View<const float***, Kokkos::LayoutRight, Memory>>(
                            std::vector<float>{0, 1, 2, 3, 4, 5}, 1, 2, 3));
  dict.insert(tensor_of<double>("d", "F64", {1}, {2.5}));
  const test::Folder folder;
  io::write_safetensors(folder.path("a"), dict);
  // Larger types first in the data, and the data at a multiple of 8.
  std::string header = "{" + entry("attn.0", "F32", "1,2,3", 8, 32) + "," + entry("d", "F64", "1", 0, 8) + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  CHECK(test::contents_of(folder.path("a")) ==
        test::safetensors(header, test::bytes_of<double>({2.5}) + test::bytes_of<float>({0, 1, 2, 3, 4, 5})));
  io::write_safetensors(folder.path("a"), {});
  CHECK(test::contents_of(folder.path("a")) == test::safetensors("{}      ", ""));
  CHECK(io::read_safetensors(folder.path("a")).empty());
  CHECK(folder.files() == 1);
}

TEST_CASE("io: float16 and bfloat16 become the floats of the same value") {
  const float inf = INFINITY;
  const std::vector<std::uint16_t> half = {0x0000, 0x8000, 0x0001, 0x8001, 0x0200, 0x03ff, 0x0400, 0x3555,
                                           0x3c00, 0xc000, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfc01};
  const std::vector<float> of_half = {0, -0.0f, 0x1p-24f, -0x1p-24f, 0x1p-15f, 0x1.ff8p-15f, 0x1p-14f, 0x1.554p-2f,
                                      1, -2,    65504,    -65504,    inf,      -inf,         NAN,      NAN};
  const std::vector<std::uint16_t> brain = {0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x3f80,
                                            0xc049, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0xff81};
  const std::vector<float> of_brain = {0,          -0.0f,       0x1p-133f, -0x1.fcp-127f, 0x1p-126f, 1,
                                       -3.140625f, 0x1.fep127f, inf,       -inf,          NAN,       NAN};
  const test::Folder folder;
  const auto path = folder.write(
      "a", test::safetensors("{" + entry("h", "F16", "4,4", 0, 32) + "," + entry("b", "BF16", "12", 32, 56) + "}",
                             test::bytes_of(half) + test::bytes_of(brain)));
  const io::StateDict dict = io::read_safetensors(path);
  CHECK(dict.at("h").shape == std::vector<std::size_t>{4, 4});
  const auto check = [](const auto& found, const std::vector<float>& expected) {
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CAPTURE(i, found[i], expected[i]);
      if (std::isnan(expected[i])) {
        CHECK(std::isnan(found[i]));
      } else {
        CHECK(std::bit_cast<std::uint32_t>(found[i]) == std::bit_cast<std::uint32_t>(expected[i]));
      }
    }
  };
  check(test::to_host(dict.view<MatrixView<float, Kokkos::HostSpace>>("h")), of_half);
  check(test::to_host(dict.view<VectorView<float, Kokkos::HostSpace>>("b")), of_brain);
}

TEST_CASE("io: malformed safetensors are refused") {
  const auto one = [](const std::string& shape, std::size_t begin, std::size_t end, const std::string& dtype = "F32") {
    return test::safetensors("{" + entry("a", dtype, shape, begin, end) + "}", std::string(16, '\0'));
  };
  const auto two = [](const std::string& second, const std::string& name = "b") {
    return test::safetensors("{" + entry("a", "F32", "2", 0, 8) + ",\"" + name + "\":" + second + "}",
                             std::string(16, '\0'));
  };
  const auto header = [](const std::string& text) { return test::safetensors(text, ""); };
  const auto length = [](std::uint64_t bytes) { return test::bytes_of(std::vector<std::uint64_t>{bytes}) + "{}"; };
  std::string many_extents = "1";
  for (int i = 1; i < 65; ++i) many_extents += ",1";
  const std::vector<Malformed> cases = {
      {"", "shorter than the 8 bytes"},
      {"\2\0\0\0\0\0\0", "shorter than the 8 bytes"},
      {length(3), "the header's length is 3, but 2 bytes follow"},
      {length(100'000'001), "at most 100000000"},
      {length(~std::uint64_t(0)), "at most 100000000"},
      {length(0), "does not begin with {"},
      {header(" {}"), "does not begin with {"},
      {header("\xef\xbb\xbf{}"), "does not begin with {"},
      {header("[]"), "does not begin with {"},
      {header(std::string("{}\0 ", 4)), "a zero byte"},
      {header("{"), "not JSON, at its byte 2"},
      {header("{} {"), "not JSON"},
      {header("{\"a\xff\":{}}"), "not JSON"},
      {header(R"({"a":1})"), "tensor 'a' has a number where"},
      {header(R"({"a":null})"), "tensor 'a' has null where"},
      {header("{\"a\":" + std::string(100'000, '[')), "tensor 'a' has an array where"},
      {header(R"({"a":{"dtype":"F32","shape":[0]}})"), "not all of dtype, shape and data_offsets"},
      {header(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0]}})"), "not two data_offsets"},
      {header(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0,0]}})"), "more than two data_offsets"},
      {header(R"({"a":{"dtype":7,"shape":[0],"data_offsets":[0,0]}})"), "tensor 'a' has a number where"},
      {header(R"({"a":{"dtype":"F32","shape":[[0]],"data_offsets":[0,0]}})"), "tensor 'a' has an array where"},
      {header(R"({"a":{"dtype":"F32","dtype":"F32","shape":[0],"data_offsets":[0,0]}})"), "has 'dtype' twice"},
      {header(R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0],"x":1}})"), "an unknown 'x'"},
      {header(R"({"__metadata__":{"a":1}})"), "__metadata__ has a number where"},
      {header(R"({"__metadata__":"a"})"), "__metadata__ has a string where"},
      {header(R"({"__metadata__":{},"__metadata__":{}})"), "the name '__metadata__' occurs twice"},
      {two(R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]})", "a"), "the name 'a' occurs twice"},
      {one("4", 0, 16, "F31"), "the unknown dtype 'F31'"},
      {one("4", 0, 16, ""), "the unknown dtype ''"},
      {one("-4", 0, 16), "a negative number"},
      {one("4.0", 0, 16), "a number that is no 64-bit integer"},
      {one("18446744073709551616", 0, 16), "a number that is no 64-bit integer"},
      {one("1e999", 0, 16), "not JSON"},
      {one("4294967296,4294967296", 0, 0), "a shape whose bytes can be counted"},
      {one("9223372036854775808,2", 0, 0), "a shape whose bytes can be counted"},
      {one("4611686018427387904", 0, 0), "a shape whose bytes can be counted"},
      {one("3", 0, 1, "F4"), "a shape whose bytes can be counted"},
      {one(many_extents, 0, 16), "too many extents"},
      {one("3", 0, 16), "(3) entries F32 has 16 bytes; expected 12"},
      {one("", 0, 16), "expected 4"},
      {one("4", 16, 0), "expected a range within the 16 bytes"},
      {one("4", 4, 20), "expected a range within the 16 bytes"},
      {one("3", 0, 12), "4 bytes of data follow the last tensor"},
      {one("3", 4, 16), "begins at byte 4 of the data; expected 0: there is a hole"},
      {two(R"({"dtype":"F32","shape":[3],"data_offsets":[4,16]})"),
       "begins at byte 4 of the data; expected 8: there is an overlap"},
      {two(R"({"dtype":"F32","shape":[1],"data_offsets":[12,16]})"),
       "begins at byte 12 of the data; expected 8: there is a hole"},
      {two(R"({"dtype":"F32","shape":[0],"data_offsets":[4,4]})"), "there is"},
  };
  const test::Folder folder;
  for (const Malformed& file : cases) {
    CAPTURE(file.contents.substr(0, 200), file.message);
    const auto path = folder.write("a", file.contents);
    CHECK_THROWS_AS(io::read_safetensors(path), io::FileError);
    CHECK_THROWS_WITH(io::read_safetensors(path), ContainsSubstring(path.string()) && ContainsSubstring(file.message));
  }
  CHECK_THROWS_WITH(io::read_safetensors(folder.path("absent")), ContainsSubstring("no such file"));
  CHECK_THROWS_WITH(io::read_safetensors(folder.path("")), ContainsSubstring("not a regular file"));
}

TEST_CASE("io: text is read and written as documented") {
  const test::Folder folder;
  const auto path = folder.write("a",
                                 "# weights\n\nrnn.w F32 2 3\n1 -2.5 0.1\n# the second row\n1e-45 inf\r\n nan \n"
                                 "bias F64 2\n  0.1\t3\nscale F64\n-0\nnone F32 0 4");
  const io::StateDict dict = io::read_text(path);
  const auto w = test::to_host(dict.view<MatrixView<float, Memory>>("rnn.w"));
  CHECK(std::isnan(w.at(5)));
  CHECK(std::vector<float>(w.begin(), w.begin() + 5) == std::vector<float>{1, -2.5f, 0.1f, 0x1p-149f, INFINITY});
  CHECK(test::to_host(dict.view<VectorView<double, Memory>>("bias")) == std::vector<double>{0.1, 3});
  CHECK(std::signbit(test::to_host(dict.view<Kokkos::View<double, Memory>>("scale")).at(0)));
  CHECK(dict.at("none").shape == std::vector<std::size_t>{0, 4});
  CHECK(dict.size() == 4);

  io::write_text(folder.path("b"), dict);
  CHECK_THAT(test::contents_of(folder.path("b")),
             ContainsSubstring(
                 "\nrnn.w F32 2 3\n1 -2.5 0.1\n1e-45 inf nan\nbias F64 2\n0.1 3\nscale F64\n-0\nnone F32 0 4\n"));

  const std::vector<Malformed> cases = {
      {"a\n1\n", "line 1: after the name 'a': ''; expected F32 or F64"},
      {"\na I64 1\n1\n", "line 2: after the name 'a': 'I64'"},
      {"a F32 x\n", "line 1: 'x'; expected an extent of 'a'"},
      {"a F32 -1\n", "line 1: '-1'; expected an extent"},
      {"a F32 99999999999999999999\n", "line 1: '99999999999999999999'; expected an extent"},
      {"a F32 4294967296 4294967296\n",
       "line 1: tensor 'a' of (4294967296, 4294967296) numbers; the file is too short"},
      {"a F32 1000000000\n1 2\n", "line 1: tensor 'a' of (1000000000) numbers; the file is too short"},
      {"a F32 3\n1\n2\n", "line 3: the file ends after 2 of the 3 numbers of 'a'"},
      {"a F32 2\n1\n# no\n2x\n", "line 4: '2x'; expected number 1 of 'a'"},
      {"a F32 1\n1e39\n", "line 2: '1e39'; expected number 0"},
      {"a F32 1\n\n1 2\n", "line 3: '2'; expected the end of the line after 1 numbers of 'a'"},
      {"a F32 1\n1\na F32 1\n1\n", "line 3: a second tensor 'a'"},
  };
  for (const Malformed& file : cases) {
    CAPTURE(file.contents);
    CHECK_THROWS_AS(io::read_text(folder.write("c", file.contents)), io::FileError);
    CHECK_THROWS_WITH(io::read_text(folder.path("c")), ContainsSubstring(file.message));
  }
}

#ifdef ELAPHOS_WITHOUT_HDF5
TEST_CASE("io: without HDF5, its files are refused and nothing is written") {
  const test::Folder folder;
  const auto path = folder.write("a.h5", "old");
  for (const bool write : {false, true}) {
    const auto call = [&] { write ? io::write_hdf5(path, {}) : static_cast<void>(io::read_hdf5(path)); };
    CHECK_THROWS_AS(call(), io::FileError);
    CHECK_THROWS_WITH(call(), ContainsSubstring(path.string() + ": Elaphos::io was built without HDF5"));
  }
  CHECK(test::contents_of(path) == "old");
  CHECK(folder.files() == 1);
}
#endif

TEMPLATE_TEST_CASE("io: both formats give every number back", "", float, double) {
  using Limits = std::numeric_limits<TestType>;
  const std::string dtype = sizeof(TestType) == 4 ? "F32" : "F64";
  std::mt19937_64 generator(11);
  std::vector<TestType> numbers = {0,
                                   -TestType(0),
                                   Limits::max(),
                                   Limits::lowest(),
                                   Limits::min(),
                                   Limits::denorm_min(),
                                   Limits::infinity(),
                                   -Limits::infinity(),
                                   TestType(0.1)};
  while (numbers.size() < 3000) {
    const std::uint64_t bits = generator();
    TestType number;
    std::memcpy(&number, &bits, sizeof(number));  // any exponent, subnormals too
    if (!std::isnan(number)) numbers.push_back(number);
  }
  io::StateDict dict;
  dict.insert(tensor_of("z", dtype, {3, 10, 100}, numbers));
  dict.insert(tensor_of<float>("one", "F32", {}, {2}));
  dict.insert(tensor_of<double>("a", "F64", {1, 1}, {3}));
  dict.insert(tensor_of<TestType>("none", dtype, {4, 0}, {}));
  const test::Folder folder;
  io::write_text(folder.path("text"), dict);
  CHECK(same(io::read_text(folder.path("text")), dict));
  dict.insert(tensor_of<TestType>("nan", dtype, {1}, {NAN}));
  dict.insert(tensor_of<std::int16_t>("\"\\\n\xc3\xa9", "I16", {2}, {-1, 5}));
  io::write_safetensors(folder.path("safetensors"), dict);
  CHECK(same(io::read_safetensors(folder.path("safetensors")), dict));
  CHECK_THROWS_WITH(io::write_text(folder.path("text"), dict), ContainsSubstring("the name of a tensor is '\"\\?"));
  CHECK(io::read_text(folder.path("text")).size() == 4);
}
