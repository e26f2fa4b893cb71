// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrences whose step is a set of kernels: the bits of a host loop and the passes of the same recurrence in threads.
#include "support/rings.hpp"

#include <elaphos/elaphos.hpp>

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace {

using elaphos::SolveOptions;
using elaphos::SolveStatus;
using elaphos::StepBatch;
using test::Exec;
using test::Indices;
using test::Memory;
using test::RingProblem;
using Sequence = elaphos::SequenceView<double, Memory>;
using State = elaphos::StateView<double, Memory>;

// One state, no input, `Entry` makes the next.
template <class Entry>
struct Scalars {
  using scalar_type = double;
  Entry entry;
  int state_size() const { return 1; }
  int input_size() const { return 0; }
  template <class Space>
  void step(const Space& exec, const StepBatch<Space, double>& batch) const {
    const Entry f = entry;
    Kokkos::parallel_for(
        "test::scalars", Indices<Space>(exec, 0, batch.count),
        KOKKOS_LAMBDA(std::int64_t r) { batch.next(r, 0) = f(batch.at(r), batch.y(r, 0)); });
  }
};

struct Chaos {
  KOKKOS_FUNCTION double operator()(elaphos::StepContext, double y) const { return 4 * y * (1 - y); }
};

// From above 1 to infinity, and to NaN at step 300.
struct Explosion {
  KOKKOS_FUNCTION double operator()(elaphos::StepContext at, double y) const { return at.t == 300 ? y - y : y * y; }
};

std::vector<double> loop(const auto& entry, std::int64_t T, const std::vector<double>& y0) {
  std::vector<double> all, state = y0;
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::size_t b = 0; b < y0.size(); ++b) {
      state[b] = entry(elaphos::StepContext{t, static_cast<std::int64_t>(b)}, state[b]);
      all.push_back(state[b]);
    }
  }
  return all;
}

template <class Scalar, int D>
void check_ring() {
  for (const std::int64_t T : {1, 2, 255, 257, 1000}) {
    for (const std::int64_t B : {1, 3}) {
      const RingProblem<Scalar> problem(T, B, D, 2);
      const std::vector<Scalar> expected = problem.expected();
      for (const std::int64_t N : {std::int64_t(1), std::int64_t(2), std::int64_t(7), T}) {
        SolveOptions options;
        options.segments = N;
        const auto lanes = problem.solve(test::LaneRing<Scalar, D, 2>{}, options);
        const std::vector<Scalar> of_lanes = test::to_host(problem.y);
        Kokkos::deep_copy(problem.y, Scalar(-77));
        const auto report = problem.solve(problem.batched(), options);
        CAPTURE(T, B, D, N, report.iterations());
        CHECK(report.converged());
        CHECK(report.max_residual == 0);
        CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
        CHECK(test::different_bits(of_lanes, expected) == 0);
        // The same segments have run the same steps.
        CHECK(report.status == lanes.status);
        CHECK(report.completion_steps == lanes.completion_steps);
        CHECK(report.longest_completion == lanes.longest_completion);
        REQUIRE(report.passes.size() == lanes.passes.size());
        for (std::size_t i = 0; i < lanes.passes.size(); ++i) {
          CHECK(report.passes[i].steps == lanes.passes[i].steps);
          CHECK(report.passes[i].longest_run == lanes.passes[i].longest_run);
          CHECK(report.passes[i].active_segments == lanes.passes[i].active_segments);
        }
      }
    }
  }
}

// As in docs/user-recurrences.md.
struct Rod {
  using scalar_type = double;
  int cells;
  double conductivity;
  int state_size() const { return cells; }
  int input_size() const { return 1; }  // the temperature at the left end

  template <class ExecutionSpace>
  void step(const ExecutionSpace& exec, const elaphos::StepBatch<ExecutionSpace, double>& batch) const {
    const int D = cells;
    const double k = conductivity;
    const Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>> all(exec, 0, batch.count * D);
    Kokkos::parallel_for(
        "Rod::step", all, KOKKOS_LAMBDA(std::int64_t index) {
          const std::int64_t row = index / D, i = index % D;
          const double here = batch.y(row, i);
          const double left = i == 0 ? batch.x(row, 0) : batch.y(row, i - 1);
          const double right = i == D - 1 ? here : batch.y(row, i + 1);
          batch.next(row, i) = here + k * (left - 2 * here + right);
        });
  }

  template <class ExecutionSpace>
  void step_with_diagonal(const ExecutionSpace& exec, const elaphos::StepBatch<ExecutionSpace, double>& batch,
                          const typename elaphos::StepBatch<ExecutionSpace, double>::Diagonal& diagonal) const {
    step(exec, batch);
    const double k = conductivity;
    const Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>> all(exec, 0, batch.count * cells);
    Kokkos::parallel_for(
        "Rod::diagonal", all, KOKKOS_LAMBDA(std::int64_t index) { diagonal.data()[index] = 1 - 2 * k; });
  }
};
static_assert(elaphos::BatchedRecurrenceWithDiagonal<Rod>);
static_assert(!elaphos::Recurrence<Rod>);
static_assert(!elaphos::BatchedRecurrence<test::LaneRing<double, 1, 1>>);

// Counts rows whose input is not that of their step and sequence, x(t, b, 0) = t B + b: rows that are done count too.
struct Witness {
  using scalar_type = double;
  std::int64_t T, B;
  Kokkos::View<std::int64_t, Memory> wrong{"test::wrong"};
  int state_size() const { return 1; }
  int input_size() const { return 1; }
  template <class Space>
  void step(const Space& exec, const StepBatch<Space, double>& batch) const {
    const std::int64_t steps = T, sequences = B;
    const Kokkos::View<std::int64_t, Memory> count = wrong;
    Kokkos::parallel_for(
        "test::witness", Indices<Space>(exec, 0, batch.count), KOKKOS_LAMBDA(std::int64_t r) {
          const elaphos::StepContext at = batch.at(r);
          const bool inside = at.t >= 0 && at.t < steps && at.b >= 0 && at.b < sequences;
          if (!inside || batch.x(r, 0) != static_cast<double>(at.t * sequences + at.b)) Kokkos::atomic_inc(&count());
          batch.next(r, 0) = batch.y(r, 0) / 4 + batch.x(r, 0);
        });
  }
};

// Has another step at time t once `changed`.
struct Fickle : test::BatchedRing<double> {
  std::int64_t t;
  const bool* changed;
  template <class Space>
  void step(const Space& exec, const StepBatch<Space, double>& batch) const {
    test::BatchedRing<double>::step(exec, batch);
    if (!*changed) return;
    const std::int64_t when = t;
    Kokkos::parallel_for(
        "test::fickle", Indices<Space>(exec, 0, batch.count), KOKKOS_LAMBDA(std::int64_t r) {
          if (batch.at(r).t == when) batch.next(r, 0) += 1;
        });
  }
};

std::size_t allocated;
void on_allocation(Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t bytes) {
  // Kokkos reports an allocation of no bytes for every team kernel on CUDA.
  if (bytes > 0) ++allocated;
}
std::vector<std::string> kernels;
void on_kernel(const char* name, std::uint32_t, std::uint64_t*) { kernels.emplace_back(name); }

}  // namespace

TEMPLATE_TEST_CASE("batched: bits of the host loop, and the passes of threads", "", float, double) {
  check_ring<TestType, 1>();
  check_ring<TestType, 3>();
  check_ring<TestType, 17>();
}

TEST_CASE("batched: rows hold what belongs to their step and sequence") {
  const std::int64_t T = 1000, B = 3;
  std::vector<double> numbers(static_cast<std::size_t>(T * B));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  const Sequence x = test::to_device<Sequence>(numbers, T, B, 1);
  const Sequence y("y", T, B, 1);
  for (const std::int64_t segments : {1, 7, 70, 1000}) {
    const Witness witness{T, B};
    SolveOptions options;
    options.segments = segments;
    options.verify = true;
    CHECK(elaphos::solve(Exec(), witness, State("y0", B, 1), x, y, options).verified_residual == 0.0);
    CHECK(elaphos::check_recurrence(Exec(), witness, State("y0", B, 1), x, y).passed);
    std::int64_t wrong = -1;
    Kokkos::deep_copy(wrong, witness.wrong);
    CHECK(wrong == 0);
  }
}

TEST_CASE("batched: wide states") {
  const RingProblem<double> problem(600, 2, 700, 5);
  SolveOptions options;
  options.segments = 4;
  const auto report = problem.solve(problem.batched(), options);
  CHECK(report.converged());
  CHECK(test::different_bits(test::to_host(problem.y), problem.expected()) == 0);
}

TEST_CASE("batched: no steps and no sequences") {
  for (const auto& [T, B] : {std::pair{0, 3}, {5, 0}}) {
    const RingProblem<double> problem(T, B, 3, 2);
    const auto report = problem.solve(problem.batched());
    CHECK(report.status == SolveStatus::converged);
    CHECK(report.iterations() == 0);
  }
}

TEST_CASE("batched: segments that meet their trajectories stop") {
  const RingProblem<double> problem(10'000, 2, 5, 2);
  SolveOptions options;
  options.segments = 10;
  options.stop_when_stalled = false;
  const auto report = problem.solve(problem.batched(), options);
  CHECK(report.status == SolveStatus::converged);
  CHECK(report.iterations() <= 3);
  CHECK(report.critical_path() < 1500);
  CHECK(report.work_factor() < 1.2);
  CHECK(test::different_bits(test::to_host(problem.y), problem.expected()) == 0);
}

TEST_CASE("batched: chaos is completed sequentially") {
  const std::vector<double> start = {0.3, 0.4, 0.5001};
  const State y0 = test::to_device<State>(start, 3, 1);
  for (const std::int64_t T : {100, 257, 1000}) {
    const Sequence y("y", T, 3, 1);
    SolveOptions options;
    options.segments = 30;
    options.max_iterations = 5;
    options.stop_when_stalled = false;
    options.verify = true;
    const auto report = elaphos::solve(Exec(), Scalars<Chaos>{}, y0, Sequence(), y, options);
    CHECK(report.status == SolveStatus::completed_sequentially);
    CHECK(report.longest_completion > T / 2);
    CHECK(report.verified_residual == 0.0);
    CHECK(test::different_bits(test::to_host(y), loop(Chaos{}, T, start)) == 0);
    options.max_iterations = 40;
    CHECK(elaphos::solve(Exec(), Scalars<Chaos>{}, y0, Sequence(), y, options).status == SolveStatus::converged);
    CHECK(test::different_bits(test::to_host(y), loop(Chaos{}, T, start)) == 0);
  }
}

TEST_CASE("batched: infinities and NaN are where the loop has them") {
  const std::int64_t T = 500;
  const std::vector<double> start = {0.5, 1.5};
  const State y0 = test::to_device<State>(start, 2, 1);
  const Sequence y("y", T, 2, 1);
  const auto expected = loop(Explosion{}, T, start);
  for (const std::int64_t segments : {1, 3, 500}) {
    SolveOptions options;
    options.segments = segments;
    const auto report = elaphos::solve(Exec(), Scalars<Explosion>{}, y0, Sequence(), y, options);
    CHECK(report.converged());
    REQUIRE(report.first_non_finite);
    CHECK(report.first_non_finite->b == 1);
    CHECK(std::isinf(expected[static_cast<std::size_t>(report.first_non_finite->t * 2 + 1)]));
    const auto found = test::to_host(y);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK((found[i] == expected[i] || (std::isnan(found[i]) && std::isnan(expected[i]))));
    }
  }
}

TEST_CASE("batched: the verified residual is the largest |y - f(y)|") {
  for (const std::int64_t T : {1, 2, 255, 1000}) {
    for (const std::int64_t N : {1, 2, 7, 200}) {
      const RingProblem<double> problem(T, 3, 3, 2);
      SolveOptions options;
      options.segments = N;
      options.verify = true;
      options.max_iterations = 1;
      options.at_limit = elaphos::AtLimit::return_iterate;
      const auto report = problem.solve(problem.batched(), options);
      const double expected = problem.residual(test::to_host(problem.y));
      CAPTURE(T, N, expected);
      REQUIRE(report.verified_residual);
      CHECK(*report.verified_residual == expected);
      CHECK((expected > 0) == (report.plan.segments > 1));
    }
  }
}

TEST_CASE("batched: a verifying sweep of many rows goes in pieces") {
  // 300 rows of 2 * 17000 + 1 doubles are more than one piece holds; the step that changes under way is in the second.
  const RingProblem<double> problem(300, 1, 17'000, 1);
  bool changed = false;
  SolveOptions options;
  options.segments = 1;
  options.verify = true;
  const auto solve = [&] { return problem.solve(Fickle{problem.batched(), 290, &changed}, options); };
  CHECK(solve().verified_residual == 0.0);
  options.observer = [&](const elaphos::SolveReport&) { return changed = true; };
  CHECK(std::abs(*solve().verified_residual - 1) < 1e-12);
}

TEST_CASE("batched: a second solve allocates nothing, and kernels bear the library's name") {
  const RingProblem<double> problem(1000, 2, 17, 3);
  elaphos::Workspace<Exec> workspace;
  SolveOptions options;
  options.segments = 9;
  options.verify = true;
  const auto solve = [&] {
    elaphos::solve(Exec(), problem.batched(), problem.y0, problem.x, problem.y, options, workspace);
  };
  solve();
  const std::size_t bytes = workspace.bytes();
  namespace tools = Kokkos::Tools::Experimental;
  allocated = 0;
  kernels.clear();
  tools::set_allocate_data_callback(on_allocation);
  tools::set_begin_parallel_for_callback(on_kernel);
  tools::set_begin_parallel_scan_callback(on_kernel);
  solve();
  tools::set_allocate_data_callback(nullptr);
  tools::set_begin_parallel_for_callback(nullptr);
  tools::set_begin_parallel_scan_callback(nullptr);
  CHECK(allocated == 0);
  CHECK(workspace.bytes() == bytes);
  for (const std::string& name : kernels) {
    CAPTURE(name);
    CHECK((name.starts_with("Elaphos::") || name.starts_with("test::") || name.starts_with("Kokkos::")));
  }
}

TEST_CASE("batched: what is not possible is refused") {
  const RingProblem<double> problem(10, 1, 3, 2);
  SolveOptions options;
  options.method = elaphos::Method::quasi_newton;
  CHECK_THROWS_WITH(problem.solve(problem.batched(), options), Catch::Matchers::ContainsSubstring("no jacobian()"));
  CHECK_THROWS_WITH(problem.solve(test::BatchedRing<double>{4, 2}),
                    Catch::Matchers::ContainsSubstring("expected (T, B, 4)"));
  const State no_states("y0", 1, 0);
  const Sequence y("y", 10, 1, 0);
  CHECK_THROWS_AS(elaphos::solve(Exec(), test::BatchedRing<double>{0, 2}, no_states, problem.x, y),
                  elaphos::InvalidArgument);
}

namespace {

struct Narrow : test::BatchedRing<double> {
  std::int64_t rows;
  std::int64_t rows_at_a_time() const { return rows; }
};

}  // namespace

TEST_CASE("batched: the planner makes about as many segments as the recurrence says it can run at a time") {
  const auto segments = [](int rows) {
    return elaphos::make_plan(elaphos::plan_request(Exec(), Narrow{{3, 2}, rows}, 100'000, 1), {}).segments;
  };
  CHECK(segments(1) == 1);
  CHECK(segments(2) >= 2);
  CHECK(segments(2) <= 8);
  CHECK(segments(300) >= 300);
  CHECK(segments(300) <= 1200);
  const RingProblem<double> problem(2000, 1, 3, 2);
  CHECK(problem.solve(Narrow{{3, 2}, 300}).plan.segments > 2);
  CHECK_THROWS_WITH(problem.solve(Narrow{{3, 2}, 0}), Catch::Matchers::ContainsSubstring("rows_at_a_time() is 0"));
}

TEST_CASE("batched: the rod of the documentation") {
  const std::int64_t T = 600;
  const State y0("y0", 1, 8);
  const Sequence y("y", T, 1, 8);
  std::vector<double> left(T);
  for (std::size_t t = 0; t < left.size(); ++t) left[t] = std::sin(0.01 * static_cast<double>(t));
  const Sequence x = test::to_device<Sequence>(left, T, 1, 1);
  const Rod rod{8, 0.25};
  elaphos::solve_sequentially(Exec(), rod, y0, x, y);
  const auto expected = test::to_host(y);
  CHECK(elaphos::check_recurrence(Exec(), rod, y0, x, y).passed);
  SolveOptions options;
  options.segments = 3;
  CHECK(elaphos::solve(Exec(), rod, y0, x, y, options).converged());
  CHECK(test::different_bits(test::to_host(y), expected) == 0);
  options.method = elaphos::Method::quasi_newton;
  options.merge = elaphos::Merge::tolerance;
  CHECK(elaphos::solve(Exec(), rod, y0, x, y, options).converged());
  CHECK(test::largest_difference(test::to_host(y), expected) <= 1e-6);
}
