// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// More than one sequence on a time axis, for cells: packed, masked and reset ones against padded solves and plain host
// loops.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/sequences.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace {

using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using test::Exec;
using test::Flags;
using test::Memory;
using test::Offsets;

/// Sequences of different lengths, padded side by side (NaN behind their ends) and one behind the other.
template <class Scalar>
struct Ragged {
  test::LayerProblem<Scalar> padded;
  std::vector<std::int64_t> lengths, offsets;

  Ragged(const test::Layer& layer, const std::vector<std::int64_t>& of_lengths, std::uint64_t seed)
      : padded(random_data(layer, of_lengths, seed)), lengths(of_lengths), offsets{0} {
    for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  }

  std::int64_t steps() const { return offsets.back(); }

  // The entries of the sequences of a padded array, `size` numbers each, one behind the other.
  template <class Number>
  std::vector<Number> joined(const std::vector<Number>& of_padded, int size) const {
    std::vector<Number> out;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
      for (std::int64_t t = 0; t < lengths[s]; ++t) {
        const auto* entry = of_padded.data() + (t * padded.B + std::int64_t(s)) * size;
        out.insert(out.end(), entry, entry + size);
      }
    }
    return out;
  }

  auto packed_x() const {
    return test::to_device<elaphos::SequenceView<Scalar, Memory>>(joined(padded.x_host, padded.layer.I), steps(), 1,
                                                                  padded.layer.I);
  }
  auto device_offsets() const { return test::to_device<Offsets>(offsets, static_cast<std::int64_t>(offsets.size())); }

  struct Solved {
    SolveReport report;
    std::vector<Scalar> y;
  };
  Solved solve(const SolveOptions& options) const {
    const auto y = test::to_device<elaphos::SequenceView<Scalar, Memory>>(
        std::vector<Scalar>(std::size_t(steps() * padded.layer.state_size())), steps(), 1, padded.layer.state_size());
    const SolveReport report = test::solve_layer<Scalar>(
        padded.layer, padded.y0, elaphos::inputs(packed_x()).packed(device_offsets()), y, options);
    return {report, test::to_host(y)};
  }

 private:
  static test::LayerProblem<Scalar> random_data(const test::Layer& layer, const std::vector<std::int64_t>& lengths,
                                                std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    const std::int64_t B = static_cast<std::int64_t>(lengths.size()), T = std::ranges::max(lengths);
    auto x = test::normal(generator, static_cast<std::size_t>(T * B * layer.I));
    for (std::int64_t entry = 0; entry < T * B; ++entry) {
      const bool padding = entry / B >= lengths[static_cast<std::size_t>(entry % B)];
      for (int i = 0; padding && i < layer.I; ++i) x[static_cast<std::size_t>(entry * layer.I + i)] = NAN;
    }
    return {layer, T, B, test::uniform(generator, static_cast<std::size_t>(B * layer.state_size()), 1), x};
  }
};

const std::vector<std::int64_t> mixed_lengths{0, 1, 2, 255, 300, 17, 0, 0, 700, 1, 64, 0};

}  // namespace

TEMPLATE_TEST_CASE("inputs: packed sequences have the bits of a padded call", "", float, double) {
  for (const auto kind : {test::CellKind::elman, test::CellKind::gru, test::CellKind::lstm}) {
    for (const int D : {1, 3, 17, 33}) {
      const Ragged<TestType> ragged(test::layer_of(kind, D, 5, 7), mixed_lengths, 11);
      test::LayerProblem<TestType> padded = ragged.padded;
      const auto expected = ragged.joined(padded.sequential(), padded.layer.state_size());
      for (const auto method : {Method::automatic, Method::jacobi, Method::quasi_newton, Method::newton}) {
        // On a device no team's scratch holds a wider dense Jacobian of two states a unit.
        if (method == Method::newton && D > (kind == test::CellKind::lstm ? 16 : 17)) continue;
        for (const std::int64_t segments : {std::int64_t(0), std::int64_t(2), std::int64_t(7), ragged.steps()}) {
          if (D > 3 && segments > 7) continue;
          CAPTURE(int(kind), D, to_string(method), segments);
          SolveOptions options;
          options.method = method;
          options.segments = segments;
          options.verify = true;
          const auto [report, y] = ragged.solve(options);
          CHECK(report.converged());
          CHECK(report.max_residual == 0);
          CHECK(report.verified_residual == 0.0);
          CHECK(report.total_steps == ragged.steps());
          CHECK(test::different_bits(y, expected) == 0);
        }
      }
    }
  }
}

TEST_CASE("inputs: packed sequences by a plain loop") {
  const Ragged<double> ragged(test::layer_of(test::CellKind::lstm, 9, 2, 5), {40, 0, 1, 257, 3}, 3);
  std::vector<double> expected;
  for (std::size_t s = 0; s < ragged.lengths.size(); ++s) {
    const test::Layer& layer = ragged.padded.layer;
    const auto size = static_cast<std::size_t>(layer.state_size());
    const std::vector<double> y0(ragged.padded.y0_host.begin() + std::ptrdiff_t(s * size),
                                 ragged.padded.y0_host.begin() + std::ptrdiff_t((s + 1) * size));
    const auto all_x = ragged.joined(ragged.padded.x_host, layer.I);
    const std::vector<double> x(all_x.begin() + ragged.offsets[s] * layer.I,
                                all_x.begin() + ragged.offsets[s + 1] * layer.I);
    const auto y = test::plain_loop(layer, ragged.lengths[s], 1, y0, x);
    expected.insert(expected.end(), y.begin(), y.end());
  }
  for (const std::int64_t segments : {1, 6}) {
    SolveOptions options;
    options.segments = segments;
    CHECK(test::largest_difference(ragged.solve(options).y, expected) < 1e-12);
  }
}

TEST_CASE("inputs: packed sequences within a tolerance") {
  const Ragged<double> ragged(test::layer_of(test::CellKind::gru, 16, 4, 5), {900, 33, 0, 2000, 512, 1}, 3);
  test::LayerProblem<double> padded = ragged.padded;
  const auto expected = ragged.joined(padded.sequential(), 16);
  for (const auto method : {Method::quasi_newton, Method::newton, Method::levenberg_marquardt, Method::automatic}) {
    CAPTURE(to_string(method));
    SolveOptions options;
    options.method = method;
    options.segments = 40;
    options.merge = elaphos::Merge::tolerance;
    options.tolerance = elaphos::Tolerance{1e-9, 1e-9};
    const auto [report, y] = ragged.solve(options);
    CHECK(report.converged());
    CHECK(test::largest_difference(y, expected) < 1e-7);
  }
}

TEST_CASE("inputs: a thousand short sequences, one long one, one step") {
  const test::Layer layer = test::layer_of(test::CellKind::gru, 4, 1, 5);
  std::vector<std::int64_t> short_ones(1000, 1);
  short_ones[500] = 3;
  for (const auto& lengths : {short_ones, {std::int64_t(1000)}, {std::int64_t(1)}, {0, 0, 1, 0}}) {
    const Ragged<float> ragged(layer, lengths, 9);
    test::LayerProblem<float> padded = ragged.padded;
    const auto expected = ragged.joined(padded.sequential(), 4);
    for (const std::int64_t segments : {0, 1, 5, 1000}) {
      SolveOptions options;
      options.segments = segments;
      CHECK(test::different_bits(ragged.solve(options).y, expected) == 0);
    }
  }
}

TEST_CASE("inputs: packed sequences in windows, with states left out, enqueued and from a warm start") {
  const Ragged<double> ragged(test::layer_of(test::CellKind::gru, 3, 2, 5), mixed_lengths, 3);
  const std::int64_t T = ragged.steps();
  const elaphos::Gru cell(test::weights_on_device<double>(ragged.padded.layer));
  const auto x = ragged.packed_x();
  const auto offsets = ragged.device_offsets();
  const auto in = elaphos::inputs(x).packed(offsets);
  SolveOptions whole;
  whole.segments = 1;
  const auto expected = ragged.solve(whole).y;

  SolveOptions windows;
  for (const std::int64_t window : {1, 100, 333}) {
    windows.window_steps = window;
    CHECK(test::different_bits(ragged.solve(windows).y, expected) == 0);
  }

  SolveOptions last;
  last.keep_every = T;
  last.window_steps = 100;
  const elaphos::SequenceView<double, Memory> end("test::end", 1, 1, 3);
  elaphos::solve(Exec(), cell, ragged.padded.y0, in, end, last);
  CHECK(test::different_bits(test::to_host(end), {expected.end() - 3, expected.end()}) == 0);

  const elaphos::SequenceView<double, Memory> y("test::y", static_cast<std::size_t>(T), 1, 3);
  elaphos::Workspace<Exec> workspace;
  const Kokkos::View<elaphos::QueuedReport, Memory> report("test::report");
  SolveOptions queued;
  queued.max_iterations = 4;
  elaphos::enqueue_solve(Exec(), cell, ragged.padded.y0, in, y, report, queued, workspace);
  Exec().fence();
  CHECK(test::different_bits(test::to_host(y), expected) == 0);

  elaphos::WarmStart<Exec, double> warm_start;
  SolveOptions segmented;
  segmented.segments = 20;
  elaphos::solve(Exec(), cell, ragged.padded.y0, in, y, segmented, workspace, warm_start);
  Kokkos::deep_copy(y, NAN);
  const SolveReport again = elaphos::solve(Exec(), cell, ragged.padded.y0, in, y, segmented, workspace, warm_start);
  CHECK(again.iterations() == 1);
  CHECK(test::different_bits(test::to_host(y), expected) == 0);
}

TEST_CASE("inputs: masks and resets by a plain loop") {
  const std::int64_t T = 700, B = 3;
  for (const auto kind : {test::CellKind::gru, test::CellKind::lstm}) {
    for (const int D : {3, 20}) {
      const test::Layer layer = test::layer_of(kind, D, 2, 3);
      std::mt19937_64 generator(17);
      const auto y0_host = test::uniform(generator, std::size_t(B * layer.state_size()), 1);
      auto x_host = test::normal(generator, std::size_t(T * B * layer.I));
      std::vector<bool> mask, resets;
      for (std::int64_t entry = 0; entry < T * B; ++entry) {
        // Column 0: gaps; 1: nothing behind step 400; 2: everything.
        const std::int64_t t = entry / B, b = entry % B;
        mask.push_back(b == 2 || (b == 1 ? t < 400 : generator() % 3 != 0));
        resets.push_back(generator() % 150 == 0 || (b == 1 && t == 450));
        for (int i = 0; !mask.back() && i < layer.I; ++i) x_host[std::size_t(entry * layer.I + i)] = NAN;
      }
      const auto size = static_cast<std::size_t>(layer.state_size());
      std::vector<double> expected(std::size_t(T * B) * size);
      for (std::int64_t b = 0; b < B; ++b) {
        const auto first = y0_host.begin() + std::ptrdiff_t(std::size_t(b) * size);
        std::vector<long double> state(first, first + std::ptrdiff_t(size));
        for (std::int64_t t = 0; t < T; ++t) {
          const auto entry = static_cast<std::size_t>(t * B + b);
          if (resets[entry]) state.assign(first, first + std::ptrdiff_t(size));
          if (mask[entry]) test::plain_step(layer, state, x_host.data() + entry * std::size_t(layer.I));
          for (std::size_t i = 0; i < size; ++i) expected[entry * size + i] = static_cast<double>(state[i]);
        }
      }
      const auto y0 = test::to_device<elaphos::StateView<double, Memory>>(y0_host, B, layer.state_size());
      const auto x = test::to_device<elaphos::SequenceView<double, Memory>>(x_host, T, B, layer.I);
      const elaphos::SequenceView<double, Memory> y("test::y", T, B, size);
      const Flags device_mask = test::flags_on_device(mask, T, B), device_resets = test::flags_on_device(resets, T, B);
      const auto in = elaphos::inputs(x).masked(device_mask).reset(device_resets);
      std::vector<double> sequential;
      for (const auto method : {Method::jacobi, Method::quasi_newton, Method::newton}) {
        if (method == Method::newton && kind == test::CellKind::lstm && D > 16) continue;
        for (const std::int64_t segments : {1, 2, 23}) {
          CAPTURE(int(kind), D, to_string(method), segments);
          SolveOptions options;
          options.segments = segments;
          options.method = method;
          options.verify = true;
          const SolveReport report = test::solve_layer<double>(layer, y0, in, y, options);
          CHECK(report.verified_residual == 0.0);
          if (sequential.empty()) sequential = test::to_host(y);
          CHECK(test::largest_difference(test::to_host(y), expected) < 1e-12);
          CHECK(test::different_bits(test::to_host(y), sequential) == 0);
        }
      }
      SolveOptions windows;
      windows.window_steps = 96;
      test::solve_layer<double>(layer, y0, in, y, windows);
      CHECK(test::different_bits(test::to_host(y), sequential) == 0);
    }
  }
}
