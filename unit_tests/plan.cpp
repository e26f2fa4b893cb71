// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How time is cut: what the planner chooses, and that it keeps what the caller fixes.
#include "support/layers.hpp"

#include <elaphos/elaphos.hpp>
#include <elaphos/impl/quotient.hpp>

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
  CHECK(plan_for(10'000, 1, 4000).steps_per_segment >= 128);
  const Plan host = plan_for(1'000'000, 1, 2);
  CHECK(host.segments >= 2);
  CHECK(host.segments <= 16);
}

TEST_CASE("plan: of one segment a worker none waits for a second round") {
  for (const std::int64_t batch : {1, 3, 16, 100, 791}) {
    const Plan plan = plan_for(1'000'000, batch, 792);
    CAPTURE(batch, plan.segments);
    CHECK(plan.segments * batch <= 792);
    CHECK((plan.segments + 1) * batch > 792);
  }
}

TEST_CASE("plan: sensitivities by merge and state size") {
  SolveOptions options;
  CHECK(plan_for(10'000, 1, 8, options).sensitivity == elaphos::Sensitivity::none);
  options.merge = Merge::tolerance;
  CHECK(plan_for(10'000, 1, 8, options, 32).sensitivity == elaphos::Sensitivity::diagonal);
  CHECK(plan_for(10'000, 1, 64, options, 4).sensitivity == elaphos::Sensitivity::dense);
  const Plan without = plan_for(10'000, 1, 8, options, 4, false);
  CHECK(without.sensitivity == elaphos::Sensitivity::none);
  CHECK(without.merge == Merge::exact);
  options.method = Method::quasi_newton;
  CHECK_THROWS_AS(plan_for(10'000, 1, 8, options, 4, false), elaphos::InvalidArgument);
}

TEST_CASE("plan: a tolerance by derivatives only where two passes of them cost no more than the loop") {
  SolveOptions options;
  options.merge = Merge::tolerance;
  PlanRequest request{10'000, 1, 16, 34, true};
  request.jacobian_cost = 16;  // two passes of 17 steps for each one of the loop's
  CHECK(elaphos::make_plan(request, options).sensitivity == elaphos::Sensitivity::diagonal);
  request.parallel_workers = 33;
  Plan plan = elaphos::make_plan(request, options);
  CHECK(plan.sensitivity == elaphos::Sensitivity::none);
  CHECK(plan.merge == Merge::exact);
  CHECK(plan.segments > 1);
  // The loop keeps more workers busy when there are more sequences.
  request.parallel_workers = 67;
  request.batch = 2;
  CHECK(elaphos::make_plan(request, options).merge == Merge::exact);
  // What is asked for is done.
  options.segments = 20;
  CHECK(elaphos::make_plan(request, options).merge == Merge::tolerance);
  options.segments = 0;
  options.method = Method::newton;
  CHECK(elaphos::make_plan(request, options).sensitivity == elaphos::Sensitivity::dense);
}

TEST_CASE("plan: escalations go to more of the derivative where that is affordable, then to damping") {
  SolveOptions options;
  options.merge = Merge::tolerance;
  const auto further = [&](PlanRequest request) {
    return elaphos::escalations(request, options, elaphos::make_plan(request, options));
  };
  const auto check = [](const std::vector<Plan>& steps, std::vector<elaphos::Sensitivity> sensitivities) {
    REQUIRE(steps.size() == sensitivities.size());
    for (std::size_t i = 0; i < steps.size(); ++i) {
      CHECK(steps[i].sensitivity == sensitivities[i]);
      CHECK(steps[i].damped == (i + 1 == steps.size()));
      CHECK(steps[i].segments > 1);
    }
  };
  using enum elaphos::Sensitivity;
  check(further({10'000, 1, 32, 4000, true}), {dense, dense});
  check(further({10'000, 1, 32, 8, true}), {diagonal});     // too dear for eight workers
  check(further({10'000, 1, 64, 4000, true}), {diagonal});  // too wide for a device's scratch memory
  check(further({10'000, 1, 2, 4000, true}), {dense});
  check(further({10'000, 1, 2, 4000, false}), {});
  options.steps_per_segment = 10;
  check(further({10'000, 1, 16, 4000, true}), {diagonal});  // the products would be larger than y
  options.method = Method::quasi_newton;
  check(further({10'000, 1, 16, 4000, true}), {});
  options = {};
  check(further({10'000, 1, 16, 4000, true}), {});
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

TEST_CASE("plan: a segment for each lane of a host's threads, where lanes gain enough") {
  using Catch::Matchers::ContainsSubstring;
  PlanRequest request{1'000'000, 1, 1, 2, true};
  request.lanes = 32;
  request.lane_gain = 8;
  const auto segments = [&] { return elaphos::make_plan(request, {}).segments; };
  CHECK(segments() == 64);
  CHECK_THAT(explain(request, {}), ContainsSubstring("64 segments of 15632 steps a sequence: for 2 workers of 32 lanes"));
  request.batch = 3;
  CHECK(segments() == 21);
  request.batch = 64;
  CHECK(segments() == 1);
  CHECK_THAT(explain(request, {}), ContainsSubstring("more would gain little"));
  request.batch = 1;
  request.steps = 511;
  CHECK(segments() == 1);
  request.steps = 4096;  // no segment shorter than a merge
  CHECK(segments() == 16);
  // One thread has lanes as well.
  request.parallel_workers = 1;
  request.steps = 1'000'000;
  CHECK(segments() == 32);
  // Little gain: in wide cells merges take as long, so that only long segments pay.
  request.parallel_workers = 2;
  request.lane_gain = 1.2;
  CHECK(segments() == 64);
  request.steps = 20'000;
  CHECK(segments() == 8);
  request.steps = 1'000'000;
  request.lane_gain = 1.1;
  CHECK(segments() == 8);
  request.lane_gain = 1;
  request.batch = 2;
  CHECK(segments() == 1);
  // Lanes carry no derivatives.
  request = {1'000'000, 1, 8, 2, true};
  request.lanes = 32;
  request.lane_gain = 8;
  SolveOptions options;
  options.merge = Merge::tolerance;
  CHECK(elaphos::make_plan(request, options).merge == Merge::exact);
}

TEST_CASE("plan: explain says what was chosen and why") {
  using Catch::Matchers::ContainsSubstring;
  const PlanRequest request{10'000, 1, 32, 8, true, false, false, "host"};
  SolveOptions options;
  CHECK_THAT(explain(request, options), ContainsSubstring("32 segments of 313 steps a sequence: 4 for each of 8 workers") &&
                                            ContainsSubstring("method jacobi") && ContainsSubstring("merge exact"));
  options.merge = Merge::tolerance;
  CHECK_THAT(explain(request, options), ContainsSubstring("method quasi_newton: a dense product costs too much"));
  PlanRequest few = request;
  few.parallel_workers = 2;
  CHECK_THAT(explain(few, options), ContainsSubstring("merge exact: passes with derivatives would cost") &&
                                        ContainsSubstring("method jacobi"));
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

TEST_CASE("plan: quotients of indices, of 32 bits and of 64") {
  const std::int64_t large = std::int64_t(1) << 32;
  for (const std::int64_t a : {std::int64_t(0), std::int64_t(1), large - 1, large, large + 1, large * (large / 4)}) {
    for (const std::int64_t b : {std::int64_t(1), std::int64_t(3), large - 1, large, large + 1}) {
      CAPTURE(a, b);
      CHECK(elaphos::impl::quotient(a, b) == a / b);
    }
  }
}
