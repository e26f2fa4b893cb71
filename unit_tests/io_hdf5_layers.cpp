// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that go through an HDF5 file compute the same bits.
#include "support/hdf5.hpp"
#include "support/layers.hpp"
#include "support/tensors.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace {

namespace io = elaphos::io;
using test::CellKind;
using test::Memory;

template <class Scalar, class Cell>
std::vector<Scalar> solved(const Cell& cell, std::int64_t T, std::int64_t B) {
  std::mt19937_64 generator(1);
  const auto y0 = test::to_device<elaphos::StateView<Scalar, Memory>>(
      test::normal(generator, static_cast<std::size_t>(B * cell.state_size())), B, cell.state_size());
  const auto x = test::to_device<elaphos::SequenceView<Scalar, Memory>>(
      test::normal(generator, static_cast<std::size_t>(T * B * cell.input_size())), T, B, cell.input_size());
  const elaphos::SequenceView<Scalar, Memory> y("test::y", static_cast<std::size_t>(T), static_cast<std::size_t>(B),
                                                static_cast<std::size_t>(cell.state_size()));
  elaphos::solve(test::Exec(), cell, y0, x, y);
  return test::to_host(y);
}

template <class Scalar>
std::vector<Scalar> solved(CellKind kind, const elaphos::LayerWeights<Scalar, Memory>& weights) {
  if (kind == CellKind::elman) return solved<Scalar>(elaphos::Elman(weights), 129, 2);
  if (kind == CellKind::gru) return solved<Scalar>(elaphos::Gru(weights), 129, 2);
  return solved<Scalar>(elaphos::Lstm(weights), 129, 2);
}

}  // namespace

TEMPLATE_TEST_CASE("io hdf5: layers saved and loaded have the bits they had", "", float, double) {
  std::mt19937_64 generator(8);
  for (const CellKind kind : {CellKind::elman, CellKind::gru, CellKind::lstm}) {
    const test::Layer layer = test::random_layer(kind, 5, 3, generator);
    CAPTURE(static_cast<int>(kind));
    const auto weights = test::weights_on_device<TestType>(layer);
    const auto expected = solved<TestType>(kind, weights);
    const test::Folder folder;
    io::StateDict dict;
    io::add_layer_weights(dict, "encoder.rnn", 0, weights);
    io::write_hdf5(folder.path("a.h5"), dict);
    const auto loaded = io::layer_weights<TestType>(io::read_hdf5(folder.path("a.h5")), "encoder.rnn", 0);
    CHECK(test::different_bits(solved<TestType>(kind, loaded), expected) == 0);
  }
}

TEMPLATE_TEST_CASE("io hdf5: a layer is read from groups, one for each module", "", float, double) {
  std::mt19937_64 generator(9);
  const test::Layer layer = test::random_layer(CellKind::gru, 4, 2, generator);
  const test::Folder folder;
  {
    const bool single = std::is_same_v<TestType, float>;
    const hid_t type = single ? H5T_IEEE_F32BE : H5T_IEEE_F64BE;
    const test::Hdf5File file(folder.path("a.h5"));
    file.group("encoder");
    file.group("encoder/rnn");
    const auto add = [&](const char* name, const std::vector<hsize_t>& extents, const std::vector<double>& numbers) {
      file.dataset(std::string("encoder/rnn/") + name, type, extents, numbers, H5T_NATIVE_DOUBLE);
    };
    add("weight_ih_l0", {12, 2}, layer.w_ih);
    add("weight_hh_l0", {12, 4}, layer.w_hh);
    add("bias_ih_l0", {12}, layer.b_ih);
    add("bias_hh_l0", {12}, layer.b_hh);
  }
  const auto weights = io::layer_weights<TestType>(io::read_hdf5(folder.path("a.h5")), "encoder.rnn", 0);
  CHECK(test::different_bits(solved<TestType>(CellKind::gru, weights),
                             solved<TestType>(CellKind::gru, test::weights_on_device<TestType>(layer))) == 0);
}
