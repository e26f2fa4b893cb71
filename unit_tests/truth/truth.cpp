// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What each method does with systems that have names: none may call wrong what it has not solved right.
#include "../support/cost.hpp"
#include "table.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

using elaphos::Merge;
using elaphos::Method;
using elaphos::SolveOptions;

std::vector<std::pair<std::string, SolveOptions>> methods() {
  std::vector<std::pair<std::string, SolveOptions>> out;
  out.emplace_back("automatic", SolveOptions{});
  SolveOptions tolerance;
  tolerance.merge = Merge::tolerance;
  out.emplace_back("automatic, tolerance", tolerance);
  out.emplace_back("DEER", elaphos::deer_defaults());
  SolveOptions newton = tolerance;
  newton.method = Method::newton;
  newton.steps_per_segment = 32;
  out.emplace_back("newton, 32 steps", newton);
  SolveOptions quasi = newton;
  quasi.method = Method::quasi_newton;
  quasi.steps_per_segment = 1;
  out.emplace_back("quasi-newton, 1 step", quasi);
  SolveOptions damped = newton;
  damped.method = Method::levenberg_marquardt;
  damped.steps_per_segment = 1;
  out.emplace_back("levenberg-marquardt, 1 step", damped);
  return out;
}

void check(const truth::Row& row) {
  CAPTURE(row.system->name, row.method, to_string(row.report.status), row.report.iterations(), row.error);
  const auto& report = row.report;
  REQUIRE(report.verified_residual.has_value());
  // A plan that escalated to damping may run out of passes, and is then completed.
  const bool damped_from_the_start = report.plan.damped && report.escalations.empty();
  if (damped_from_the_start && row.system->damped_converges) CHECK(report.status == elaphos::SolveStatus::converged);
  if (row.method.starts_with("automatic")) test::check_cost_without_gain(report);
  // Bits of the loop are right whatever they are, and the residual is then 0 but for numbers that are not finite.
  if (row.error == 0) return;
  REQUIRE_FALSE((report.converged() && report.plan.merge == Merge::exact));
  if (!report.converged()) return;
  const elaphos::Tolerance& tolerance = row.system->tolerance;
  CHECK(*report.verified_residual <= tolerance.absolute + tolerance.relative * row.scale);
  CHECK(row.error <= row.system->largest_error);
}

void run(bool full) {
  const std::vector<truth::Case> systems = truth::systems(full);
  std::vector<truth::Row> rows;
  const char* only = std::getenv("ELAPHOS_TRUTH_SYSTEM");
  for (const truth::Case& system : systems) {
    if (only != nullptr && system.name.find(only) == std::string::npos) continue;
    for (truth::Row& row : truth::measure(system, methods())) {
      check(row);
      rows.push_back(std::move(row));
    }
  }
  if (const char* path = std::getenv("ELAPHOS_TRUTH_TABLE")) {
    std::ofstream file(path);
    file << truth::markdown(rows);
    file.close();
    CHECK(file.good());
  }
}

}  // namespace

TEST_CASE("truth: small sizes") { run(false); }

TEST_CASE("truth: full sizes", "[.long]") { run(true); }
