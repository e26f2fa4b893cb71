// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// State dicts, layers under PyTorch's names, and files that are damaged at random.
#include "support/layers.hpp"
#include "support/tensors.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <sys/resource.h>

#include <csignal>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <string_view>
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
using test::sizes_fit;
using test::tensor_of;

// A layer under PyTorch's names, as a safetensors file.
template <class Scalar>
std::string file_of(const test::Layer& layer, const std::string& before, const std::string& after, bool biases) {
  const std::string rows = std::to_string(test::gate_count(layer.kind) * layer.D);
  const char* dtype = sizeof(Scalar) == 4 ? "F32" : "F64";
  std::string header, data;
  const auto add = [&](const std::string& name, const std::string& shape, const std::vector<double>& numbers) {
    const std::string bytes = test::bytes_of(std::vector<Scalar>(numbers.begin(), numbers.end()));
    header += (header.empty() ? "{" : ",") +
              entry(before + name + after, dtype, shape, data.size(), data.size() + bytes.size());
    data += bytes;
  };
  add("weight_ih", rows + "," + std::to_string(layer.I), layer.w_ih);
  add("weight_hh", rows + "," + std::to_string(layer.D), layer.w_hh);
  if (biases) add("bias_ih", rows, layer.b_ih);
  if (biases) add("bias_hh", rows, layer.b_hh);
  return test::safetensors(header + "}", data);
}

template <class Scalar>
std::vector<Scalar> solved(const elaphos::LayerWeights<Scalar, Memory>& weights, std::int64_t T, std::int64_t B) {
  const elaphos::Gru gru(weights);
  std::mt19937_64 generator(1);
  const auto y0 = test::to_device<elaphos::StateView<Scalar, Memory>>(
      test::normal(generator, static_cast<std::size_t>(B * gru.state_size())), B, gru.state_size());
  const auto x = test::to_device<elaphos::SequenceView<Scalar, Memory>>(
      test::normal(generator, static_cast<std::size_t>(T * B * gru.input_size())), T, B, gru.input_size());
  const elaphos::SequenceView<Scalar, Memory> y("test::y", static_cast<std::size_t>(T), static_cast<std::size_t>(B),
                                                static_cast<std::size_t>(gru.state_size()));
  elaphos::solve(test::Exec(), gru, y0, x, y);
  return test::to_host(y);
}

// A few random edits, half of them of digits and the like, which parsers believe.
std::string mutated(std::string bytes, std::mt19937_64& generator, bool keep_header_length) {
  const auto random = [&](std::size_t below) { return static_cast<std::size_t>(generator() % below); };
  for (std::size_t edits = 1 + random(3); edits > 0 && !bytes.empty(); --edits) {
    const std::size_t at = random(bytes.size());
    constexpr std::string_view plausible = "0123456789[]{},:\"-. \nFI";
    const char any = static_cast<char>(random(2) == 0 ? random(256) : plausible[random(plausible.size())]);
    switch (random(5)) {
      case 0:
        bytes[at] = any;
        break;
      case 1:
        bytes.insert(at, 1, any);
        break;
      case 2:
        bytes.erase(at, 1 + random(3));
        break;
      case 3: {
        const std::string copy = bytes.substr(at, random(40));
        bytes.insert(random(bytes.size()), copy);
        break;
      }
      case 4:
        if (random(8) == 0) bytes.resize(at);
        for (std::size_t i = at; i < bytes.size() && i < at + 80; ++i) {
          if (bytes[i] >= '0' && bytes[i] <= '9') {
            bytes[i] = static_cast<char>('0' + random(10));
            break;
          }
        }
        break;
    }
  }
  // So that a header that has grown or shrunk is read where it ends.
  const std::size_t end = bytes.rfind("]}}");
  if (keep_header_length && bytes.size() > 8 && end != std::string::npos && end >= 8) {
    const std::uint64_t length = end + 3 - 8;
    std::memcpy(bytes.data(), &length, 8);
  }
  return bytes;
}

}  // namespace

TEMPLATE_TEST_CASE("io: a layer from a file has the bits of one made by hand", "", float, double) {
  std::mt19937_64 generator(5);
  for (const int H : {1, 3, 17}) {
    const test::Layer layer = test::random_layer(test::CellKind::gru, H, 3, generator);
    const test::Folder folder;
    const auto path = folder.write("a", file_of<TestType>(layer, "encoder.rnn.", "_l0", true));
    const io::StateDict dict = io::read_safetensors(path);
    for (const std::int64_t T : {1, 257}) {
      CAPTURE(H, T);
      const auto by_hand = solved(test::weights_on_device<TestType>(layer), T, 3);
      CHECK(test::different_bits(solved(io::layer_weights<TestType>(dict, "encoder.rnn", 0), T, 3), by_hand) == 0);
      CHECK(test::different_bits(solved(io::layer_weights<TestType>(test::Exec(), dict, "encoder.rnn", 0), T, 3),
                                 by_hand) == 0);
    }
    // And back, to the byte.
    io::StateDict again;
    io::add_layer_weights(again, "encoder.rnn", 0, io::layer_weights<TestType>(dict, "encoder.rnn", 0));
    CHECK(same(again, dict));
  }
}

TEST_CASE("io: the names of layers, directions and cells") {
  std::mt19937_64 generator(6);
  const struct {
    const char* prefix;
    std::optional<int> layer;
    bool reverse;
    const char* before;
    const char* after;
  } cases[] = {{"", 0, false, "", "_l0"},         {"", 12, true, "", "_l12_reverse"},
               {"a.b", 1, false, "a.b.", "_l1"},  {"a.b", 0, true, "a.b.", "_l0_reverse"},
               {"", std::nullopt, false, "", ""}, {"cell", std::nullopt, false, "cell.", ""}};
  for (const auto& names : cases) {
    for (const bool biases : {true, false}) {
      CAPTURE(names.prefix, names.after, biases);
      const test::Layer layer = test::random_layer(test::CellKind::elman, 4, 2, generator);
      const test::Folder folder;
      const io::StateDict dict =
          io::read_safetensors(folder.write("a", file_of<double>(layer, names.before, names.after, biases)));
      const auto weights = io::layer_weights<double, Kokkos::HostSpace>(dict, names.prefix, names.layer, names.reverse);
      CHECK(test::to_host(weights.input_weights) == layer.w_ih);
      CHECK(test::to_host(weights.hidden_weights) == layer.w_hh);
      CHECK(test::to_host(weights.input_bias) == (biases ? layer.b_ih : std::vector<double>(4)));
      CHECK(test::to_host(weights.hidden_bias) == (biases ? layer.b_hh : std::vector<double>(4)));
      CHECK_THROWS_AS((io::layer_weights<double>(dict, names.prefix, names.layer, !names.reverse)), InvalidArgument);
      if (!biases) continue;
      io::StateDict again;
      io::add_layer_weights(test::Exec(), again, names.prefix, names.layer,
                            io::layer_weights<double>(dict, names.prefix, names.layer, names.reverse), names.reverse);
      CHECK(same(again, dict));
    }
  }
  const io::StateDict none;
  CHECK_THROWS_WITH((io::layer_weights<float>(none, "a", -1)),
                    "Elaphos: layer is -1; expected 0 or more, or std::nullopt for a cell");
  CHECK_THROWS_WITH((io::layer_weights<float>(none, "a", std::nullopt, true)),
                    "Elaphos: reverse is true; expected false for a cell, which has no layer number");
}

TEST_CASE("io: what does not fit a layer is named") {
  std::mt19937_64 generator(7);
  const test::Layer layer = test::random_layer(test::CellKind::lstm, 2, 3, generator);
  const test::Folder folder;
  io::StateDict dict = io::read_safetensors(folder.write("a", file_of<float>(layer, "encoder.rnn.", "_l0", true)));
  CHECK_THROWS_WITH((io::layer_weights<float>(dict, "encoder.rmn", 0)),
                    "Elaphos: tensor 'encoder.rmn.weight_ih_l0' is missing; expected a name in the state dict, such as "
                    "'encoder.rnn.weight_ih_l0', 'encoder.rnn.weight_hh_l0', 'encoder.rnn.bias_ih_l0'");
  // A forgotten prefix counts as one edit, letters in front as several.
  for (const char* name : {"reweight_ih_l0", "weight_ih_l9", "bn.weight_ih_l0"}) {
    dict.insert(tensor_of<float>(name, "F32", {}, {1}));
  }
  CHECK_THROWS_WITH((io::layer_weights<float>(dict, "", 0)),
                    ContainsSubstring("such as 'encoder.rnn.weight_ih_l0', 'weight_ih_l9', 'bn.weight_ih_l0'"));
  CHECK_THROWS_WITH((io::layer_weights<float>({}, "", 0)),
                    ContainsSubstring("a name in the state dict, which is empty"));
  CHECK_THROWS_WITH((io::layer_weights<float>(dict, "bn", 0)),
                    "Elaphos: tensor 'bn.weight_ih_l0' is of rank 0, (); expected rank 2");
  // The cell looks at the shapes.
  CHECK_THROWS_AS(elaphos::Gru(io::layer_weights<float>(dict, "encoder.rnn", 0)), InvalidArgument);
  CHECK_NOTHROW(elaphos::Lstm(io::layer_weights<float>(dict, "encoder.rnn", 0)));
  // One bias without the other is no bias=False.
  dict.erase("encoder.rnn.bias_hh_l0");
  CHECK_THROWS_WITH((io::layer_weights<float>(dict, "encoder.rnn", 0)),
                    ContainsSubstring("'encoder.rnn.bias_hh_l0' is missing"));
  // Nothing is added when one name is taken, also where it is not the first.
  dict.erase("encoder.rnn.weight_ih_l0");
  const std::size_t before = dict.size();
  CHECK_THROWS_WITH(io::add_layer_weights(dict, "encoder.rnn", 0, test::weights_on_device<float>(layer)),
                    ContainsSubstring("tensor 'encoder.rnn.weight_hh_l0' is in the state dict already"));
  auto with_heads = test::weights_on_device<float>(layer);
  with_heads.heads = 2;
  CHECK_THROWS_WITH(io::add_layer_weights(dict, "heads", 0, with_heads),
                    "Elaphos: weights.heads is 2; expected 1, as PyTorch's layers have");
  CHECK((dict.size() == before && !dict.contains("encoder.rnn.weight_ih_l0")));
}

TEST_CASE("io: a state dict keeps its order and its promises") {
  io::StateDict dict;
  for (const char* name : {"c", "a", "b", "d"}) dict.insert(tensor_of<float>(name, "F32", {1}, {1}));
  dict.erase("a");
  dict.insert("a", test::to_device<VectorView<double, Memory>>(std::vector<double>{1, 2}, 2));
  std::string names;
  for (const io::Tensor& tensor : dict) names += tensor.name;
  CHECK(names == "cbda");
  for (const char* name : {"c", "b", "d", "a"}) CHECK(dict.at(name).name == name);
  CHECK(dict.at("a").dtype == "F64");

  CHECK_THROWS_AS(dict.erase("x"), InvalidArgument);
  CHECK_THROWS_WITH(dict.insert(tensor_of<float>("b", "F32", {1}, {1})),
                    "Elaphos: tensor 'b' is in the state dict already; expected a name that is not");
  CHECK_THROWS_WITH(dict.insert(tensor_of<float>("e", "F32", {2}, {1})),
                    "Elaphos: tensor 'e' is of 4 bytes; expected as many as (2) entries of F32 have");
  CHECK_THROWS_WITH(dict.insert(tensor_of<float>("e", "float", {1}, {1})), ContainsSubstring("is of type 'float'"));
  const MatrixView<float, Memory> padded(Kokkos::view_alloc("test::padded", Kokkos::AllowPadding), 5, 33);
  REQUIRE_FALSE(padded.span_is_contiguous());
  CHECK_THROWS_WITH(dict.insert("e", padded), ContainsSubstring("gaps between its rows"));
  CHECK((dict.size() == 4 && !dict.contains("e")));
}

TEST_CASE("io: a file that cannot be written leaves what was there") {
  const test::Folder folder;
  const auto path = folder.write("a", "old");
  io::StateDict dict;
  dict.insert(tensor_of<float>("good", "F32", {1}, {1}));
  dict.insert(tensor_of<std::int64_t>("__metadata__", "I64", {}, {1}));
  CHECK_THROWS_WITH(io::write_safetensors(path, dict), ContainsSubstring("is '__metadata__'; expected another"));
  CHECK_THROWS_WITH(io::write_text(path, dict),
                    ContainsSubstring("'__metadata__' is of type I64; expected F32 or F64"));
  dict.erase("__metadata__");
  for (const char* name : {"", "a b", "#a", "a\x7f"}) {
    io::StateDict other = dict;
    other.insert(tensor_of<float>(name, "F32", {1}, {1}));
    CHECK_THROWS_WITH(io::write_text(path, other), ContainsSubstring("one word that does not begin with #"));
  }
  dict.insert(tensor_of<float>("\xff", "F32", {1}, {1}));
  CHECK_THROWS_WITH(io::write_safetensors(path, dict), ContainsSubstring("expected UTF-8"));
  CHECK(test::contents_of(path) == "old");

  std::filesystem::create_directory(folder.path("folder"));
  CHECK_THROWS_AS(io::write_text(folder.path("folder"), dict), io::FileError);
  CHECK_THROWS_WITH(io::write_text(folder.path("folder"), dict), ContainsSubstring(folder.path("folder").string()));
  CHECK_THROWS_WITH(io::write_text(folder.path("absent") / "a", dict), ContainsSubstring("no file can be made"));
  CHECK(folder.files() == 2);

  // As on a full disk: the system takes a part.
  dict.insert(tensor_of("large", "F32", {100'000}, std::vector<float>(100'000)));
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  CHECK_THROWS_AS(io::write_text(path, dict), io::FileError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(test::contents_of(path) == "old");
  CHECK(folder.files() == 2);
}

TEST_CASE("io: files damaged at random are refused, or have the sizes they say") {
  constexpr std::uint64_t seed = 2026;
  std::mt19937_64 generator(seed);
  const test::Layer layer = test::random_layer(test::CellKind::elman, 2, 3, generator);
  const test::Folder folder;
  const std::string valid = file_of<float>(layer, "", "_l0", true);
  io::write_text(folder.path("text"), io::read_safetensors(folder.write("a", valid)));
  const std::string valid_text = test::contents_of(folder.path("text"));
  int accepted[2] = {}, refused[2] = {};
  for (int round = 0; round < 2000; ++round) {
    for (const bool text : {false, true}) {
      const std::string contents = mutated(text ? valid_text : valid, generator, !text && round % 2 == 0);
      CAPTURE(seed, round, text, contents);
      const auto path = folder.write("a", contents);
      try {
        const io::StateDict dict = text ? io::read_text(path) : io::read_safetensors(path);
        ++accepted[text];
        REQUIRE(sizes_fit(dict));
        if (!text) {
          std::uint64_t header = 0;
          std::size_t bytes = 0;
          std::memcpy(&header, contents.data(), 8);
          for (const io::Tensor& tensor : dict) bytes += tensor.bytes.size();
          REQUIRE(bytes == contents.size() - 8 - header);
        }
      } catch (const io::FileError&) {
        ++refused[text];
      }
    }
  }
  // Otherwise one of the two outcomes was not tried.
  for (const bool text : {false, true}) CHECK((accepted[text] > 50 && refused[text] > 500));
}
