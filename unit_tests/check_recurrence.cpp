// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Steps whose bits depend on more than their state, input, t and b are found out.
#include "support/rings.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <string>

namespace {

using elaphos::StepBatch;
using test::Exec;
using test::Indices;
using test::Memory;
using test::RingProblem;

// Breaks of the contract, over a ring's step.
enum class Break { place, count, memory };

struct BrokenRing : test::BatchedRing<double> {
  Break how;
  Kokkos::View<double, Memory> calls{"test::calls"};

  BrokenRing(const test::BatchedRing<double>& ring, Break which) : test::BatchedRing<double>(ring), how(which) {}

  template <class Space>
  void step(const Space& exec, const StepBatch<Space, double>& batch) const {
    test::BatchedRing<double>::step(exec, batch);
    const Break broken = how;
    const double count = static_cast<double>(batch.count);
    const Kokkos::View<double, Memory> kept = calls;
    const std::int64_t last = D - 1;
    Kokkos::parallel_for(
        "test::break", Indices<Space>(exec, 0, batch.count), KOKKOS_LAMBDA(std::int64_t r) {
          double& next = batch.next(r, last);
          if (broken == Break::place) next += 1e-16 * static_cast<double>(r);
          if (broken == Break::count) next += 1e-16 * (count - 1);
          if (broken == Break::memory) {
            Kokkos::atomic_add(&kept(), 1e-12);
            next += kept();
          }
        });
  }
};

// Leaves the last state as it finds it.
struct Forgetful {
  using scalar_type = double;
  static constexpr int state_size = 2, input_size = 2;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const { next[0] = y[0] / 2 + x[0]; }
};

}  // namespace

TEST_CASE("check_recurrence: passes what keeps the contract, and finds what breaks it") {
  const RingProblem<double> problem(100, 3, 3, 2);
  problem.solve(problem.batched());
  const auto check = [&](const auto& recurrence) {
    return elaphos::check_recurrence(Exec(), recurrence, problem.y0, problem.x, problem.y, 100);
  };
  const auto good = check(problem.batched());
  CHECK(good.passed);
  CHECK(good.evaluations == 1000);
  CHECK(good.first.t == -1);
  CHECK(good.message.empty());
  CHECK(check(test::LaneRing<double, 3, 2>{}).passed);

  for (const Break how : {Break::place, Break::count, Break::memory}) {
    const auto found = check(BrokenRing(problem.batched(), how));
    CAPTURE(static_cast<int>(how), found.message);
    CHECK_FALSE(found.passed);
    CHECK((found.first.t >= 0 && found.first.t < 100 && found.first.b >= 0 && found.first.b < 3));
    CHECK(found.message.find("step " + std::to_string(found.first.t) + " of sequence " + std::to_string(found.first.b) +
                             ": state 2 is ") == 0);
    CHECK((found.message.find("a second time") != std::string::npos) == (how == Break::memory));
  }
}

TEST_CASE("check_recurrence: finds states that are not written") {
  const RingProblem<double> problem(20, 1, 2, 2);
  Kokkos::deep_copy(problem.y, 0.5);
  const auto found = elaphos::check_recurrence(Exec(), Forgetful{}, problem.y0, problem.x, problem.y);
  CHECK_FALSE(found.passed);
  CHECK_THAT(found.message, Catch::Matchers::ContainsSubstring("does not write all of next"));
}

TEST_CASE("check_recurrence: nothing to check, and what is refused") {
  const RingProblem<double> empty(0, 1, 2, 2);
  CHECK(elaphos::check_recurrence(Exec(), empty.batched(), empty.y0, empty.x, empty.y).evaluations == 0);
  const RingProblem<double> problem(5, 1, 2, 2);
  CHECK_THROWS_WITH(elaphos::check_recurrence(Exec(), problem.batched(), problem.y0, problem.x, problem.y, 0),
                    Catch::Matchers::ContainsSubstring("samples is 0"));
}
