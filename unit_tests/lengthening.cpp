// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Exact mode on many workers: segments that are too short for a memory are joined while the solve is under way.
#include "support/rings.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_test_macros.hpp>

#include <sstream>
#include <vector>

namespace {

using elaphos::SolveOptions;
using elaphos::SolveReport;
using elaphos::SolveStatus;
using test::Exec;
using test::Memory;

// Follows an uneven drive within some 1 / rate steps. No sum of rounded products: host and device round alike.
struct Follower {
  double rate;
  KOKKOS_FUNCTION double operator()(elaphos::StepContext at, double y) const {
    const double drive = static_cast<double>((at.t * at.t + 7 * at.b) % 1013) / 1013;
    const double change = rate * (drive - y);
    return y + change;
  }
};

// The first sequence follows, the others are chaotic.
struct OneFollows {
  Follower follower;
  KOKKOS_FUNCTION double operator()(elaphos::StepContext at, double y) const {
    return at.b == 0 ? follower(at, y) : 4 * y * (1 - y);
  }
};

// As if a thousand rows kept the device busy, so that plans are those of a large one.
template <class Entry>
struct ManyWorkers {
  using scalar_type = double;
  Entry entry;
  int state_size() const { return 1; }
  int input_size() const { return 0; }
  std::int64_t rows_at_a_time() const { return 1000; }
  template <class Space>
  void step(const Space& exec, const elaphos::StepBatch<Space, double>& batch) const {
    const Entry f = entry;
    Kokkos::parallel_for(
        "test::step", test::Indices<Space>(exec, 0, batch.count),
        KOKKOS_LAMBDA(std::int64_t r) { batch.next(r, 0) = f(batch.at(r), batch.y(r, 0)); });
  }
};

struct Solved {
  SolveReport report;
  bool has_bits_of_loop;
};

template <class Entry>
Solved solve(const Entry& entry, std::int64_t T, std::int64_t B, const SolveOptions& options) {
  std::vector<double> expected, state(static_cast<std::size_t>(B), 0.3);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::int64_t b = 0; b < B; ++b) {
      double& y = state[static_cast<std::size_t>(b)];
      y = entry(elaphos::StepContext{t, b}, y);
      expected.push_back(y);
    }
  }
  const auto y0 = test::to_device<elaphos::StateView<double, Memory>>(std::vector<double>(state.size(), 0.3), B, 1);
  const elaphos::SequenceView<double, Memory> nothing, y("test::y", static_cast<std::size_t>(T), state.size(), 1);
  const SolveReport report = elaphos::solve(Exec(), ManyWorkers<Entry>{entry}, y0, nothing, y, options);
  return {report, test::different_bits(test::to_host(y), expected) == 0};
}

}  // namespace

TEST_CASE("lengthening: a memory of many segments takes longer ones, not the loop") {
  for (const std::int64_t B : {1, 3}) {
    const Solved solved = solve(Follower{1.0 / 512}, 120'000, B, {});
    const SolveReport& report = solved.report;
    std::ostringstream text;
    text << report;
    INFO(text.str());
    CHECK(solved.has_bits_of_loop);
    CHECK(report.status == SolveStatus::converged);
    REQUIRE(report.escalations.size() == 1);
    CHECK(report.escalations[0].after == 2);
    CHECK(report.plan.segments == report.escalations[0].segments);
    CHECK(report.plan.segments * report.plan.steps_per_segment >= 120'000);
    CHECK(report.critical_path() < 60'000);
    CHECK(text.str().find("escalated       after 2 to ") != std::string::npos);
  }
}

TEST_CASE("lengthening: not where passes are enough, where segments are asked for, or where nothing is forgotten") {
  const Solved short_memory = solve(Follower{1.0 / 32}, 20'000, 1, {});
  CHECK(short_memory.has_bits_of_loop);
  CHECK(short_memory.report.status == SolveStatus::converged);
  CHECK(short_memory.report.escalations.empty());

  SolveOptions options;
  options.segments = 50;
  const Solved asked = solve(Follower{1.0 / 512}, 10'000, 1, options);
  CHECK(asked.has_bits_of_loop);
  CHECK(asked.report.escalations.empty());

  const Solved chaos = solve(OneFollows{{1.0 / 512}}, 9'000, 2, {});
  CHECK(chaos.has_bits_of_loop);
  CHECK(chaos.report.status == SolveStatus::completed_sequentially);
  CHECK(chaos.report.escalations.empty());
}
