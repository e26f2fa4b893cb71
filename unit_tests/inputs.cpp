// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// More than one sequence on a time axis: packed, masked and reset ones against padded solves and plain host loops; and
// features in several Views.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/refusal.hpp"
#include "support/rings.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

namespace {

using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using elaphos::SolveStatus;
using test::Exec;
using test::Memory;
using Offsets = Kokkos::View<std::int64_t*, Memory>;
using Flags = Kokkos::View<bool**, Kokkos::LayoutRight, Memory>;

Flags flags_on_device(const std::vector<bool>& flags, std::int64_t T, std::int64_t B) {
  Flags out("test::flags", static_cast<std::size_t>(T), static_cast<std::size_t>(B));
  auto host = Kokkos::create_mirror_view(out);
  for (std::size_t i = 0; i < flags.size(); ++i) host.data()[i] = flags[i];
  Kokkos::deep_copy(out, host);
  return out;
}

template <class Scalar>
SolveReport solve_layer(const test::Layer& layer, const auto& y0, const auto& x, const auto& y,
                        const SolveOptions& options) {
  Kokkos::deep_copy(y, Scalar(NAN));
  const auto weights = test::weights_on_device<Scalar>(layer);
  if (layer.kind == test::CellKind::elman) return elaphos::solve(Exec(), elaphos::Elman(weights), y0, x, y, options);
  if (layer.kind == test::CellKind::gru) return elaphos::solve(Exec(), elaphos::Gru(weights), y0, x, y, options);
  return elaphos::solve(Exec(), elaphos::Lstm(weights), y0, x, y, options);
}

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
    const SolveReport report =
        solve_layer<Scalar>(padded.layer, padded.y0, elaphos::inputs(packed_x()).packed(device_offsets()), y, options);
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

test::Layer layer_of(test::CellKind kind, int D, int I, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  return test::random_layer(kind, D, I, generator);
}

const std::vector<std::int64_t> mixed_lengths{0, 1, 2, 255, 300, 17, 0, 0, 700, 1, 64, 0};

}  // namespace

TEMPLATE_TEST_CASE("inputs: packed sequences have the bits of a padded call", "", float, double) {
  for (const auto kind : {test::CellKind::elman, test::CellKind::gru, test::CellKind::lstm}) {
    for (const int D : {1, 3, 17, 33}) {
      const Ragged<TestType> ragged(layer_of(kind, D, 5, 7), mixed_lengths, 11);
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
  const Ragged<double> ragged(layer_of(test::CellKind::lstm, 9, 2, 5), {40, 0, 1, 257, 3}, 3);
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
  const Ragged<double> ragged(layer_of(test::CellKind::gru, 16, 4, 5), {900, 33, 0, 2000, 512, 1}, 3);
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
  const test::Layer layer = layer_of(test::CellKind::gru, 4, 1, 5);
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
  const Ragged<double> ragged(layer_of(test::CellKind::gru, 3, 2, 5), mixed_lengths, 3);
  const std::int64_t T = ragged.steps();
  const elaphos::Gru cell(test::weights_on_device<double>(ragged.padded.layer));
  const auto x = elaphos::inputs(ragged.packed_x()).packed(ragged.device_offsets());
  const auto x_view = ragged.packed_x();
  const auto offsets = ragged.device_offsets();
  const auto in = elaphos::inputs(x_view).packed(offsets);
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
      const test::Layer layer = layer_of(kind, D, 2, 3);
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
      const Flags device_mask = flags_on_device(mask, T, B), device_resets = flags_on_device(resets, T, B);
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
          const SolveReport report = solve_layer<double>(layer, y0, in, y, options);
          CHECK(report.verified_residual == 0.0);
          if (sequential.empty()) sequential = test::to_host(y);
          CHECK(test::largest_difference(test::to_host(y), expected) < 1e-12);
          CHECK(test::different_bits(test::to_host(y), sequential) == 0);
        }
      }
      SolveOptions windows;
      windows.window_steps = 96;
      solve_layer<double>(layer, y0, in, y, windows);
      CHECK(test::different_bits(test::to_host(y), sequential) == 0);
    }
  }
}

namespace {

// The plain loop over a ring, of sequences that begin and pause anywhere.
struct RingTimes {
  std::vector<std::int64_t> offsets;  // packed, or empty
  std::vector<bool> mask, resets;     // or empty

  template <class Scalar>
  std::vector<Scalar> expected(const test::RingProblem<Scalar>& problem) const {
    std::vector<Scalar> all(std::size_t(problem.T * problem.B * problem.D));
    for (std::int64_t b = 0; b < problem.B; ++b) {
      std::vector<Scalar> state(&problem.y0_here[std::size_t(b * problem.D)],
                                &problem.y0_here[std::size_t(b * problem.D)] + problem.D);
      std::int64_t sequence = -1;
      for (std::int64_t t = 0; t < problem.T; ++t) {
        const std::int64_t entry = t * problem.B + b;
        elaphos::StepContext at{t, b};
        std::int64_t beginning = !resets.empty() && resets[std::size_t(entry)] ? b : -1;
        if (!offsets.empty()) {
          while (offsets[std::size_t(sequence + 1)] <= t) beginning = ++sequence;
          at = {t - offsets[std::size_t(sequence)], sequence};
        }
        if (beginning >= 0) {
          const Scalar* from = &problem.y0_here[std::size_t(beginning * problem.D)];
          state.assign(from, from + problem.D);
        }
        if (mask.empty() || mask[std::size_t(entry)]) {
          std::vector<Scalar> next;
          for (int i = 0; i < problem.D; ++i) {
            next.push_back(test::saturated(test::ring_sum(
                at, state.data(), &problem.x_here[std::size_t(entry * problem.I)], problem.D, problem.I, i)));
          }
          state = next;
        }
        std::ranges::copy(state, all.begin() + entry * problem.D);
      }
    }
    return all;
  }
};

template <class Scalar>
void check_rings(const test::RingProblem<Scalar>& problem, const auto& y0, const auto& in,
                 const std::vector<Scalar>& expected) {
  const auto check = [&](const char* kind, const auto& recurrence, const SolveOptions& options) {
    CAPTURE(kind, options.segments, options.window_steps);
    Kokkos::deep_copy(problem.y, Scalar(NAN));
    SolveOptions verified = options;
    verified.verify = true;
    const SolveReport report = elaphos::solve(Exec(), recurrence, y0, in, problem.y, verified);
    CHECK(report.verified_residual == 0.0);
    CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
  };
  for (const std::int64_t segments : {0, 1, 2, 9, 100}) {
    SolveOptions options;
    options.segments = segments;
    if (segments == 2) options.window_steps = 77;
    check("thread", test::LaneRing<Scalar, 5, 3>{}, options);
    check("team", problem.team(), options);
    check("batched", problem.batched(), options);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("inputs: what users' recurrences are told of packed, masked and reset sequences", "", float,
                   double) {
  const std::vector<std::int64_t> lengths{3, 0, 190, 1, 256, 0, 0, 50, 2};
  std::vector<std::int64_t> offsets{0};
  for (const std::int64_t length : lengths) offsets.push_back(offsets.back() + length);
  // The initial states of as many sequences, of which the last are not used as data of their own.
  const test::RingProblem<TestType> states(1, 9, 5, 3), packed_data(offsets.back(), 1, 5, 3, 8);
  test::RingProblem<TestType> packed = packed_data;
  packed.y0_here = states.y0_here;
  const Offsets device_offsets = test::to_device<Offsets>(offsets, std::int64_t(offsets.size()));
  check_rings(packed, states.y0, elaphos::inputs(packed.x).packed(device_offsets),
              RingTimes{offsets, {}, {}}.expected(packed));

  const test::RingProblem<TestType> problem(400, 3, 5, 3);
  RingTimes times;
  std::mt19937_64 generator(1);
  for (int entry = 0; entry < 1200; ++entry) {
    times.mask.push_back(entry % 3 == 1 || generator() % 4 != 0);
    times.resets.push_back(generator() % 90 == 0);
  }
  const Flags mask = flags_on_device(times.mask, 400, 3), resets = flags_on_device(times.resets, 400, 3);
  check_rings(problem, problem.y0, elaphos::inputs(problem.x).masked(mask).reset(resets), times.expected(problem));
}

TEMPLATE_TEST_CASE("inputs: features in several Views are one input", "", float, double) {
  const std::int64_t T = 300, B = 2;
  for (const auto& sizes : {std::vector<int>{5}, {1, 4}, {2, 1, 2}, {1, 1, 1, 1, 1}}) {
    test::LayerProblem<TestType> whole = test::random_problem<TestType>(test::CellKind::gru, 17, 5, T, B, 3);
    const auto expected = whole.sequential();
    std::vector<elaphos::SequenceView<TestType, Memory>> views;
    int first = 0;
    for (const int size : sizes) {
      std::vector<double> part;
      for (std::int64_t entry = 0; entry < T * B; ++entry) {
        for (int i = 0; i < size; ++i) part.push_back(whole.x_host[std::size_t(entry * 5 + first + i)]);
      }
      views.push_back(test::to_device<elaphos::SequenceView<TestType, Memory>>(part, T, B, size));
      first += size;
    }
    const auto solve_with = [&](const auto& in) {
      for (const std::int64_t segments : {1, 10}) {
        SolveOptions options;
        options.segments = segments;
        options.verify = true;
        options.method = segments == 1 ? Method::jacobi : Method::quasi_newton;
        CHECK(solve_layer<TestType>(whole.layer, whole.y0, in, whole.y, options).verified_residual == 0.0);
        CHECK(test::different_bits(test::to_host(whole.y), expected) == 0);
      }
    };
    if (sizes.size() == 1) solve_with(elaphos::inputs(views[0]));
    if (sizes.size() == 2) solve_with(elaphos::inputs(views[0], views[1]));
    if (sizes.size() == 3) solve_with(elaphos::inputs(views[0], views[1], views[2]));
    if (sizes.size() == 5) solve_with(elaphos::inputs(views[0], views[1], views[2], views[3], views[4]));
  }
}

TEST_CASE("inputs: features in several Views for users' recurrences and wide cells") {
  const test::RingProblem<double> problem(300, 2, 5, 3);
  std::vector<double> one, two;
  for (std::size_t i = 0; i < problem.x_here.size(); ++i) (i % 3 == 0 ? one : two).push_back(problem.x_here[i]);
  const auto x_one = test::to_device<elaphos::SequenceView<double, Memory>>(one, 300, 2, 1);
  const auto x_two = test::to_device<elaphos::SequenceView<double, Memory>>(two, 300, 2, 2);
  check_rings(problem, problem.y0, elaphos::inputs(x_one, x_two), problem.expected());

  auto wide = test::random_problem<double>(test::CellKind::elman, 130, 3, 40, 2, 3);
  const auto expected = wide.sequential();
  std::vector<double> of_one, of_two;
  for (std::size_t i = 0; i < wide.x_host.size(); ++i) (i % 3 == 2 ? of_two : of_one).push_back(wide.x_host[i]);
  const auto wide_one = test::to_device<elaphos::SequenceView<double, Memory>>(of_one, 40, 2, 2);
  const auto wide_two = test::to_device<elaphos::SequenceView<double, Memory>>(of_two, 40, 2, 1);
  SolveOptions options;
  options.segments = 4;
  solve_layer<double>(wide.layer, wide.y0, elaphos::inputs(wide_one, wide_two), wide.y, options);
  CHECK(test::different_bits(test::to_host(wide.y), expected) == 0);
}

TEST_CASE("inputs: what is refused, before anything is written") {
  const auto problem = test::random_problem<double>(test::CellKind::gru, 4, 3, 10, 2, 3);
  const elaphos::Gru cell(test::weights_on_device<double>(problem.layer));
  using Sequence = elaphos::SequenceView<double, Memory>;
  const Sequence long_x("x", 10, 1, 3), long_y("y", 10, 1, 4);
  const elaphos::StateView<double, Memory> three("y0", 3, 4);
  const auto refuse = [&](const auto& y0, const auto& in, const Sequence& y, const std::vector<std::string>& words) {
    Kokkos::deep_copy(y, 7.0);
    test::expect_refusal([&] { elaphos::solve(Exec(), cell, y0, in, y); }, words);
    for (const double number : test::to_host(y)) CHECK(number == 7.0);
  };
  const Offsets offsets("offsets", 4), none("offsets", 1);
  const Flags flags("flags", 10, 2), few("flags", 9, 2), column("flags", 10, 1);
  refuse(problem.y0, elaphos::inputs(problem.x).packed(offsets), problem.y, {"y is (10, 2, 4)", "(T, 1, D)"});
  refuse(problem.y0, elaphos::inputs(long_x).packed(offsets), long_y, {"y0 is (2, 4)", "(3, 4), as offsets is (4)"});
  refuse(three, elaphos::inputs(long_x).packed(none), long_y, {"offsets is (1)", "at least 2 entries"});
  refuse(three, elaphos::inputs(long_x).packed(offsets).masked(column), long_y, {"mask is given with offsets"});
  refuse(three, elaphos::inputs(long_x).packed(offsets).reset(column), long_y, {"resets is given with offsets"});
  refuse(problem.y0, elaphos::inputs(problem.x).masked(few), problem.y, {"mask is (9, 2)", "(10, 2), as y is"});
  refuse(problem.y0, elaphos::inputs(problem.x).reset(column), problem.y, {"resets is (10, 1)", "(10, 2), as y is"});
  refuse(problem.y0, elaphos::inputs(problem.x, Sequence("x", 10, 2, 1)), problem.y,
         {"x is 4 features in 2 Views", "3"});
  refuse(problem.y0, elaphos::inputs(Sequence("x", 10, 2, 2), Sequence("x", 11, 2, 1)), problem.y,
         {"x[1] is (11, 2, 1)", "(10, 2, features)"});
  refuse(problem.y0, elaphos::inputs(Sequence("x", 10, 2, 2), Sequence(problem.y.data(), 10, 2, 1)), problem.y,
         {"y is memory that overlaps x[1]"});
  CHECK(elaphos::solve(Exec(), cell, problem.y0, elaphos::inputs(problem.x).masked(flags), problem.y).converged());
}

TEST_CASE("inputs: none, and no steps") {
  const elaphos::Gru cell(test::weights_on_device<double>(layer_of(test::CellKind::gru, 4, 0, 3)));
  const elaphos::SequenceView<double, Memory> none("x", 0, 0, 0), y("y", 6, 1, 4), nothing("y", 0, 1, 4);
  const elaphos::StateView<double, Memory> y0("y0", 2, 4);
  const Offsets offsets = test::to_device<Offsets>(std::vector<std::int64_t>{0, 2, 6}, 3);
  CHECK(elaphos::solve(Exec(), cell, y0, elaphos::inputs(none).packed(offsets), y).converged());
  const std::vector<double> twice = test::to_host(y);
  // Both sequences begin in the same state and have no input.
  CHECK(test::different_bits<double>({twice.begin(), twice.begin() + 8}, {twice.begin() + 8, twice.begin() + 16}) == 0);
  const Offsets empty = test::to_device<Offsets>(std::vector<std::int64_t>{0, 0, 0}, 3);
  CHECK(elaphos::solve(Exec(), cell, y0, elaphos::inputs(none).packed(empty), nothing).converged());
}
