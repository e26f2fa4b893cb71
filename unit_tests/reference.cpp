// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Forward evaluation against PyTorch's layers, recorded in float64.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/reference_case.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
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
  std::vector<double> x, y0;
  std::vector<double> y, c_T;  // h of all steps, and of an LSTM the last c
};

// Numbers first to end of every `size`.
template <class Scalar>
std::vector<Scalar> numbers(const std::vector<Scalar>& states, std::size_t size, std::size_t first, std::size_t end) {
  std::vector<Scalar> out;
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (i % size >= first && i % size < end) out.push_back(states[i]);
  }
  return out;
}

// Rows of `size` numbers of one, then of the other.
std::vector<double> side_by_side(const std::vector<double>& left, const std::vector<double>& right, std::size_t size) {
  std::vector<double> out;
  for (std::size_t row = 0; row < left.size(); row += size) {
    for (const auto* part : {&left, &right}) {
      out.insert(out.end(), part->begin() + static_cast<std::ptrdiff_t>(row),
                 part->begin() + static_cast<std::ptrdiff_t>(row + size));
    }
  }
  return out;
}

Loaded load(const std::filesystem::path& file, CellKind kind) {
  const test::ReferenceCase reference(file);
  const std::int64_t T = reference.extent("x", 0), B = reference.extent("x", 1), I = reference.extent("x", 2);
  const std::int64_t D = reference.extent("h0", 1), rows = test::gate_count(kind) * D;
  Loaded out{{kind, static_cast<int>(D), static_cast<int>(I), {}, {}, {}, {}}, T, B, {}, {}, {}, {}};
  out.layer.w_ih = reference.array("w_ih", {rows, I});
  out.layer.w_hh = reference.array("w_hh", {rows, D});
  out.layer.b_ih = reference.array("b_ih", {rows});
  out.layer.b_hh = reference.array("b_hh", {rows});
  out.x = reference.array("x", {T, B, I});
  out.y0 = reference.array("h0", {B, D});
  out.y = reference.array("y", {T, B, D});
  // The last state is the last output: a broken file would show here.
  const std::vector<double>& h_T = reference.array("h_T", {B, D});
  const std::vector<double> last(out.y.end() - static_cast<std::ptrdiff_t>(h_T.size()), out.y.end());
  if (test::largest_difference(h_T, last) != 0) throw std::runtime_error("reference case " + file.string() + " has h_T unlike its last y");
  if (kind == CellKind::lstm) {
    out.y0 = side_by_side(out.y0, reference.array("c0", {B, D}), static_cast<std::size_t>(D));
    out.c_T = reference.array("c_T", {B, D});
  }
  return out;
}

template <class Scalar>
test::LayerProblem<Scalar> problem_of(const Loaded& loaded) {
  return {loaded.layer, loaded.T, loaded.B, loaded.y0, loaded.x};
}

// How far y is from PyTorch's: its h, and the c that PyTorch keeps of an LSTM.
template <class Scalar>
double distance(const Loaded& loaded, const std::vector<Scalar>& y) {
  const std::size_t D = static_cast<std::size_t>(loaded.layer.D), batch = static_cast<std::size_t>(loaded.B);
  const std::size_t size = static_cast<std::size_t>(loaded.layer.state_size());
  double out = test::largest_difference(numbers(y, size, 0, D), loaded.y);
  if (!loaded.c_T.empty()) {
    const std::vector<Scalar> last(y.end() - static_cast<std::ptrdiff_t>(batch * size), y.end());
    out = std::max(out, test::largest_difference(numbers(last, size, D, size), loaded.c_T));
  }
  return out;
}

void check_case(const Loaded& loaded) {
  auto in_double = problem_of<double>(loaded);
  const std::vector<double> sequential = in_double.sequential();
  CHECK(distance(loaded, sequential) <= 1e-12);

  for (const std::int64_t segments : {std::int64_t(1), std::int64_t(2), std::int64_t(7), loaded.T}) {
    for (const auto method : test::methods_with_blocks) {
      if (method == elaphos::Method::block_quasi_newton && loaded.layer.kind != CellKind::lstm) continue;
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
      CHECK(distance(loaded, test::to_host(in_double.y)) <= 1e-9);
    }
  }

  auto in_float = problem_of<float>(loaded);
  const std::vector<float> float_sequential = in_float.sequential();
  CHECK(distance(loaded, float_sequential) <= 2e-5);
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
    if (starts_with(name, "gru_")) {
      check_case(load(file, CellKind::gru));
    } else if (starts_with(name, "rnn_")) {
      check_case(load(file, CellKind::elman));
    } else if (starts_with(name, "lstm_")) {
      check_case(load(file, CellKind::lstm));
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
