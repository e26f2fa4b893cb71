// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How time is cut: what the planner chooses, and that it keeps what the caller fixes.
#include "support/layers.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

namespace {

using elaphos::explain;
using elaphos::Merge;
using elaphos::Plan;
using elaphos::PlanRequest;
using elaphos::Method;
using elaphos::SolveOptions;
using test::Exec;

Plan plan_for(std::int64_t steps, std::int64_t batch, std::int64_t workers, const SolveOptions& options = {},
              int state_size = 32, bool has_jacobian = true) {
  return elaphos::make_plan(PlanRequest{steps, batch, state_size, workers, has_jacobian, false, false, workers < 256 ? "host" : "cuda 9.0"}, options);
}

}  // namespace

TEST_CASE("plan: the loop where time-parallelism cannot pay") {
  CHECK(plan_for(127, 1, 4000).segments == 1);
  CHECK(plan_for(1'000'000, 1, 1).segments == 1);
  CHECK(plan_for(1'000'000, 5000, 4000).segments == 1);
  CHECK(plan_for(1'000'000, 1, 1).sensitivity == elaphos::Sensitivity::none);
}

TEST_CASE("plan: segments for all workers, none shorter than a merge") {
  CHECK(plan_for(513, 1, 4000).segments > 1);
  const Plan device = plan_for(1'000'000, 1, 4000);
  CHECK(device.segments <= 4000);
  CHECK(device.segments > 3900);
  CHECK(device.steps_per_segment == 250);
  CHECK(plan_for(1'000'000, 40, 4000).segments == 100);
  CHECK(plan_for(10'000, 1, 4000).steps_per_segment >= 192);
  const Plan host = plan_for(1'000'000, 1, 2);
  CHECK(host.segments >= 2);
  CHECK(host.segments <= 16);
}

TEST_CASE("plan: sensitivities by merge and state size") {
  SolveOptions options;
  CHECK(plan_for(10'000, 1, 8, options).sensitivity == elaphos::Sensitivity::none);
  options.merge = Merge::tolerance;
  CHECK(plan_for(10'000, 1, 8, options, 32).sensitivity == elaphos::Sensitivity::diagonal);
  CHECK(plan_for(10'000, 1, 8, options, 4).sensitivity == elaphos::Sensitivity::dense);
  const Plan without = plan_for(10'000, 1, 8, options, 4, false);
  CHECK(without.sensitivity == elaphos::Sensitivity::none);
  CHECK(without.merge == Merge::exact);
  options.method = Method::quasi_newton;
  CHECK_THROWS_AS(plan_for(10'000, 1, 8, options, 4, false), elaphos::InvalidArgument);
}

TEST_CASE("plan: what the caller fixes is kept") {
  SolveOptions options;
  options.segments = 7;
  Plan plan = plan_for(100, 1, 8, options);
  CHECK(plan.segments == 7);
  CHECK(plan.steps_per_segment == 15);
  options.segments = 1000;
  plan = plan_for(100, 1, 8, options);
  CHECK(plan.segments == 100);
  CHECK(plan.steps_per_segment == 1);
  options.segments = 0;
  options.steps_per_segment = 33;
  plan = plan_for(100, 1, 8, options);
  CHECK(plan.segments == 4);
  CHECK(plan.steps_per_segment == 33);
  options.steps_per_segment = 1000;
  CHECK(plan_for(100, 1, 8, options).segments == 1);
}

TEST_CASE("plan: the segments cover the steps, whatever the sizes") {
  for (std::int64_t steps = 1; steps <= 3000; steps += steps < 600 ? 1 : 37) {
    for (const std::int64_t batch : {1, 2, 50, 5000}) {
      for (const std::int64_t workers : {1, 2, 3, 64, 4000}) {
        const Plan plan = plan_for(steps, batch, workers);
        CAPTURE(steps, batch, workers, plan.segments, plan.steps_per_segment);
        CHECK(plan.segments >= 1);
        CHECK(plan.steps_per_segment >= 1);
        CHECK(plan.segments * plan.steps_per_segment >= steps);
        CHECK((plan.segments - 1) * plan.steps_per_segment < steps);
      }
    }
  }
}

TEST_CASE("plan: a device that was not measured has the loop below 128 steps and segments above 512") {
  const auto segments = [](std::int64_t steps) {
    return elaphos::make_plan(PlanRequest{steps, 1, 8, 4000, true, false, false, "cuda 99.0"}, {}).segments;
  };
  CHECK(segments(127) == 1);
  for (const std::int64_t steps : {513, 1000, 100'000}) CHECK(segments(steps) > 1);
}

TEST_CASE("plan: explain says what was chosen and why") {
  using Catch::Matchers::ContainsSubstring;
  const PlanRequest request{10'000, 1, 32, 8, true, false, false, "host"};
  SolveOptions options;
  CHECK_THAT(explain(request, options), ContainsSubstring("32 segments of 313 steps a sequence: 4 for each of 8 workers") &&
                                            ContainsSubstring("method jacobi") && ContainsSubstring("merge exact"));
  options.merge = Merge::tolerance;
  CHECK_THAT(explain(request, options), ContainsSubstring("method quasi_newton: over 4 states"));
  options.segments = 10;
  options.method = Method::newton;
  CHECK_THAT(explain(request, options), ContainsSubstring("10 segments of 1000 steps a sequence: as asked for") &&
                                            ContainsSubstring("method newton: as asked for"));
  CHECK_THAT(explain(PlanRequest{100, 1, 32, 8, true}, {}), ContainsSubstring("100 steps are over before others could help") &&
                                                     ContainsSubstring("the sequential loop"));
  CHECK_THAT(explain(PlanRequest{100'000, 50, 32, 8, true}, {}), ContainsSubstring("50 sequences keep all 8 workers busy"));
  CHECK_THAT(explain(PlanRequest{1000, 1, 32, 8, false}, {}),
             ContainsSubstring("the recurrence has no Jacobian"));
}

TEST_CASE("plan: a request made for a recurrence gives the plan that its solve takes") {
  auto problem = test::random_problem<float>(test::CellKind::gru, 16, 4, 5000, 1, 3);
  const auto request = elaphos::plan_request(Exec(), elaphos::Gru(test::weights_on_device<float>(problem.layer)), 5000, 1);
  const Plan plan = elaphos::make_plan(request, {});
  const auto report = problem.solve({});
  CHECK(report.plan.segments == plan.segments);
  CHECK(report.plan.steps_per_segment == plan.steps_per_segment);
  CHECK(request.has_jacobian);
}
