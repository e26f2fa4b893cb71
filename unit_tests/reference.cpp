// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward evaluation against PyTorch's layers, recorded in float64.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/reference_case.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace {

using test::CellKind;

std::filesystem::path reference_folder() {
  const char* folder = std::getenv("ELAPHOS_REFERENCE_DIR");
  return folder != nullptr && *folder != '\0' ? folder : ELAPHOS_DEFAULT_REFERENCE_DIR;
}

std::vector<std::filesystem::path> case_files() {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(reference_folder())) {
    if (entry.path().filename() != "README.md") files.insert(entry.path());
  }
  return {files.begin(), files.end()};
}

bool starts_with(const std::string& text, const std::string& start) { return text.rfind(start, 0) == 0; }

struct Loaded {
  test::Layer layer;
  std::int64_t T, B;
  std::vector<double> x, h0, y;
};

Loaded load(const std::filesystem::path& file, CellKind kind) {
  const test::ReferenceCase reference(file);
  const std::int64_t T = reference.extent("x", 0), B = reference.extent("x", 1), I = reference.extent("x", 2);
  const std::int64_t D = reference.extent("h0", 1), rows = test::gate_count(kind) * D;
  Loaded out{{kind, static_cast<int>(D), static_cast<int>(I), {}, {}, {}, {}}, T, B, {}, {}, {}};
  out.layer.w_ih = reference.array("w_ih", {rows, I});
  out.layer.w_hh = reference.array("w_hh", {rows, D});
  out.layer.b_ih = reference.array("b_ih", {rows});
  out.layer.b_hh = reference.array("b_hh", {rows});
  out.x = reference.array("x", {T, B, I});
  out.h0 = reference.array("h0", {B, D});
  out.y = reference.array("y", {T, B, D});
  // The last state is the last output: a broken file would show here.
  const std::vector<double>& h_T = reference.array("h_T", {B, D});
  const std::vector<double> last(out.y.end() - static_cast<std::ptrdiff_t>(h_T.size()), out.y.end());
  if (test::largest_difference(h_T, last) != 0) throw std::runtime_error("reference case " + file.string() + " has h_T unlike its last y");
  return out;
}

template <class Scalar>
test::LayerProblem<Scalar> problem_of(const Loaded& loaded) {
  return {loaded.layer, loaded.T, loaded.B, loaded.h0, loaded.x};
}

void check_case(const Loaded& loaded) {
  auto in_double = problem_of<double>(loaded);
  const std::vector<double> sequential = in_double.sequential();
  CHECK(test::largest_difference(sequential, loaded.y) <= 1e-12);

  for (const std::int64_t segments : {std::int64_t(1), std::int64_t(2), std::int64_t(7), loaded.T}) {
    for (const auto method : test::methods) {
      CAPTURE(segments, to_string(method));
      elaphos::SolveOptions options;
      options.segments = segments;
      options.method = method;
      const auto exact = in_double.solve(options);
      CHECK(exact.converged());
      CHECK(exact.max_residual == 0);
      CHECK(test::different_bits(test::to_host(in_double.y), sequential) == 0);

      options.merge = elaphos::Merge::tolerance;
      options.tolerance = elaphos::Tolerance{1e-10, 1e-10};
      CHECK(in_double.solve(options).converged());
      CHECK(test::largest_difference(test::to_host(in_double.y), loaded.y) <= 1e-9);
    }
  }

  auto in_float = problem_of<float>(loaded);
  const std::vector<float> float_sequential = in_float.sequential();
  CHECK(test::largest_difference(float_sequential, loaded.y) <= 2e-5);
  for (const std::int64_t segments : {std::int64_t(2), std::int64_t(7), loaded.T}) {
    elaphos::SolveOptions options;
    options.segments = segments;
    CHECK(in_float.solve(options).converged());
    CHECK(test::different_bits(test::to_host(in_float.y), float_sequential) == 0);
  }
}

std::filesystem::path write_broken_file(const std::string& text) {
  const auto path = std::filesystem::temp_directory_path() / "elaphos_broken_reference.txt";
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("reference: every layer of the folder") {
  const auto files = case_files();
  INFO("folder " << reference_folder());
  REQUIRE(!files.empty());
  int checked = 0;
  for (const auto& file : files) {
    const std::string name = file.filename().string();
    CAPTURE(name);
    if (starts_with(name, "lstm_")) continue;  // there is no LSTM cell yet
    if (starts_with(name, "gru_")) {
      check_case(load(file, CellKind::gru));
    } else if (starts_with(name, "rnn_")) {
      check_case(load(file, CellKind::elman));
    } else {
      FAIL("reference case " << file << " is of no known kind: expected gru_*, rnn_* or lstm_*");
    }
    ++checked;
  }
  CHECK(checked > 0);
}

TEST_CASE("reference: a broken file fails and is named") {
  for (const std::string text : {"", "x 2 1 1\n0.5\n", "x 1 1 1\nabc\n", "x two 1\n1\n", "x\n1\n", "x 1 1 1\n1 2\n",
                                 "x 1 1 1\n1\nx 1 1 1\n1\n", "x 1 1 1\nnan\n"}) {
    CAPTURE(text);
    const auto file = write_broken_file(text);
    try {
      load(file, CellKind::gru);
      FAIL_CHECK("accepted");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()).find(file.string()) != std::string::npos);
    }
    std::filesystem::remove(file);
  }
}
