// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The devices' kernel for cells of many units, on emulated teams, against the hosts' kernel: bits of states, merges,
// derivatives.
#include "support/emulated_team.hpp"
#include "support/transfer.hpp"

#include <elaphos/cells/elman.hpp>
#include <elaphos/cells/gru.hpp>
#include <elaphos/cells/lstm.hpp>

#include <cells/gated_host_kernel.hpp>
#include <cells/gated_rows_kernel.hpp>
#include <cells/packed_weights.hpp>

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace {

using elaphos::Merge;
using elaphos::Sensitivity;
using elaphos::impl::SegmentArguments;
using elaphos::impl::SegmentRecord;

struct Shape {
  int hidden_size, input_size;
  std::int64_t batch, segments, steps_per_segment, steps;
};

// A cell's weights and inputs, and its segments' nodes, all at random.
template <class Gates, class Scalar>
struct RowsProblem {
  static constexpr int width = 64, states = Gates::states;
  Shape shape;
  std::mt19937_64 generator{7};
  std::vector<Scalar> input_weights, hidden_weights, input_bias, hidden_bias, unit_weights, packed, x;
  elaphos::impl::PackedWeights<Scalar> weights;
  elaphos::impl::GatedUnit<Gates, Scalar> unit{};

  // What a pass reads and leaves.
  struct Segments {
    std::vector<Scalar> y, nodes, sensitivities;
    std::vector<SegmentRecord<Scalar>> records;
    std::vector<std::int64_t> active;
  };

  explicit RowsProblem(const Shape& of) : shape(of) {
    const auto H = static_cast<std::size_t>(shape.hidden_size), I = static_cast<std::size_t>(shape.input_size);
    const double scale = 0.5 / std::sqrt(static_cast<double>(H));
    input_weights = random(Gates::count * H * I, scale);
    hidden_weights = random(Gates::count * H * H, scale);
    input_bias = random(Gates::count * H, scale);
    hidden_bias = random(Gates::count * H, scale);
    unit_weights = random(Gates::unit_weights * H, scale);
    x = random(static_cast<std::size_t>(shape.steps * shape.batch) * I, 1);
    elaphos::impl::PackWeights<Scalar> pack{
        {input_weights.data(), hidden_weights.data(), input_bias.data(), hidden_bias.data(), unit_weights.data(),
         shape.hidden_size, shape.input_size, 1, 0},
        nullptr,
        Gates::count,
        width,
        Gates::unit_weights,
        true};
    packed.resize(static_cast<std::size_t>(pack.entries()));
    pack.to = packed.data();
    for (std::int64_t i = 0; i < pack.entries(); ++i) pack(i);
    weights = pack.packed();
  }

  std::vector<Scalar> random(std::size_t count, double scale) {
    std::uniform_real_distribution<double> uniform(-scale, scale);
    std::vector<Scalar> numbers(count);
    for (Scalar& number : numbers) number = static_cast<Scalar>(uniform(generator));
    return numbers;
  }

  std::size_t state_size() const { return static_cast<std::size_t>(states * shape.hidden_size); }

  Segments start() {
    const auto count = static_cast<std::size_t>(shape.segments * shape.batch);
    Segments out;
    out.y.assign(static_cast<std::size_t>(shape.steps * shape.batch) * state_size(), Scalar(-77));
    out.nodes = random(count * state_size(), 1);
    out.sensitivities.assign(count * state_size() * states, Scalar(-77));
    out.records.assign(count, SegmentRecord<Scalar>{});
    for (std::size_t i = 0; i < count; ++i) out.active.push_back(static_cast<std::int64_t>(i));
    return out;
  }

  SegmentArguments<Scalar> arguments(Segments& of, Sensitivity sensitivity, Merge merge) const {
    SegmentArguments<Scalar> out{};
    out.problem.inputs.data[0] = x.data();
    out.problem.inputs.sizes[0] = out.problem.inputs.size = shape.input_size;
    out.problem.inputs.count = 1;
    out.problem.y = of.y.data();
    out.problem.steps = shape.steps;
    out.problem.batch = shape.batch;
    out.problem.state_size = static_cast<int>(state_size());
    out.segments = shape.segments;
    out.steps_per_segment = shape.steps_per_segment;
    out.active = of.active.data();
    out.active_count = static_cast<std::int64_t>(of.active.size());
    out.nodes = of.nodes.data();
    out.sensitivities = of.sensitivities.data();
    out.records = of.records.data();
    out.sensitivity = sensitivity;
    out.merge = merge;
    out.absolute_tolerance = out.relative_tolerance = Scalar(1e-5);
    out.pass = elaphos::impl::Pass::propagate;
    return out;
  }

  void pass(Segments& by_rows, Segments& by_host, Sensitivity sensitivity, Merge merge) const {
    using Rows = elaphos::impl::GatedRowsKernel<test::EmulatedTeam, Gates, Scalar, width>;
    using Host = elaphos::impl::GatedHostKernel<Gates, Scalar, width>;
    static_assert(Rows::is_compiled);
    const Rows rows{weights, unit, arguments(by_rows, sensitivity, merge)};
    REQUIRE(Rows::takes(weights, rows.arguments));
    test::run_on_emulated_teams(rows);
    const Host host{weights, unit, arguments(by_host, sensitivity, merge)};
    for (std::size_t i = 0; i < by_host.active.size(); ++i) host(static_cast<std::int64_t>(i));

    CHECK(test::different_bits(by_rows.y, by_host.y) == 0);
    // Derivatives are not promised to the bit.
    const double close = sizeof(Scalar) == 4 ? 1e-5 : 1e-13;
    CHECK(test::largest_difference(by_rows.sensitivities, by_host.sensitivities) <= close);
    for (std::size_t i = 0; i < by_host.records.size(); ++i) {
      const SegmentRecord<Scalar>&found = by_rows.records[i], &expected = by_host.records[i];
      CAPTURE(i);
      CHECK(found.steps_run == expected.steps_run);
      CHECK(found.jump == expected.jump);
      CHECK(found.visited == expected.visited);
      CHECK(found.must_run == expected.must_run);
      CHECK(found.reached_end == expected.reached_end);
      CHECK((found.growth == expected.growth || std::abs(found.growth / expected.growth - 1) <= close));
    }
  }

  // A first pass, then one from nodes that have moved far, a little, or not at all; some segments rest.
  void check(Sensitivity sensitivity, Merge merge) {
    CAPTURE(to_string(sensitivity), int(merge), shape.hidden_size);
    Segments rows = start();
    Segments host = rows;
    pass(rows, host, sensitivity, merge);
    rows.active.clear();
    for (std::size_t i = 0; i < host.records.size(); ++i) {
      if (i % 5 != 3) rows.active.push_back(static_cast<std::int64_t>(i));
      const double moved = i % 5 == 0 ? 1 : i % 5 == 1 ? 0 : 1e-4;
      const std::vector<Scalar> by = random(state_size(), moved);
      for (std::size_t d = 0; d < by.size(); ++d) rows.nodes[i * by.size() + d] += by[d];
      if (i % 7 == 6) rows.records[i].must_run = host.records[i].must_run = 1;
      if (i % 4 == 2) rows.records[i].exact_only = host.records[i].exact_only = 1;
    }
    host.active = rows.active;
    host.nodes = rows.nodes;
    pass(rows, host, sensitivity, merge);
    const auto merged = std::count_if(host.records.begin(), host.records.end(),
                                      [](const auto& record) { return record.reached_end == 0; });
    if (shape.segments > 1) CHECK(merged > 0);
  }

  void check() {
    for (const Sensitivity sensitivity : {Sensitivity::none, Sensitivity::diagonal, Sensitivity::block}) {
      if (sensitivity == Sensitivity::block && states == 1) continue;
      for (const Merge merge : {Merge::exact, Merge::tolerance}) check(sensitivity, merge);
    }
  }
};

}  // namespace

// 12 segments, in a team and a part of one; a last segment that is shorter.
TEST_CASE("rows kernel: bits of the hosts' kernel") {
  RowsProblem<elaphos::impl::GruGates, float>({50, 20, 2, 10, 30, 295}).check();
  RowsProblem<elaphos::impl::GruGates, double>({64, 64, 3, 4, 40, 155}).check();
  RowsProblem<elaphos::impl::LstmGates, float>({60, 64, 2, 9, 40, 360}).check();
}

TEST_CASE("rows kernel: one segment, one input, and more inputs than are staged at a time") {
  RowsProblem<elaphos::impl::ElmanGates, float>({64, 1, 1, 1, 9, 9}).check();
  RowsProblem<elaphos::impl::ElmanGates, float>({33, 150, 1, 4, 25, 100}).check();
}
