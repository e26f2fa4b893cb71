// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What fails in the middle of a solve leaves everything usable.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/systems.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

namespace {

using elaphos::Method;
using elaphos::SolveOptions;
using elaphos::SolveReport;
using test::Exec;
using test::Memory;

/// This process may not grow by more than some bytes while this is alive.
class MemoryLimit {
 public:
  explicit MemoryLimit(std::size_t more) {
    getrlimit(RLIMIT_AS, &m_before);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = m_before;
    limit.rlim_cur = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + more;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~MemoryLimit() { setrlimit(RLIMIT_AS, &m_before); }

 private:
  rlimit m_before{};
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool allocations_may_fail = false;  // the sanitizer ends the program instead
#else
constexpr bool allocations_may_fail = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;
#endif

/// y' = y / 2 + x, whose square root is taken of inputs that may be negative.
struct Fragile {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    next[0] = Kokkos::fma(0.5, y[0], Kokkos::sqrt(x[0]));
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const { J(0, 0) = 0.5; }
};

}  // namespace

TEST_CASE("faults: an allocation that fails leaves workspace and problem usable") {
  if (!allocations_may_fail) SKIP("allocations cannot be made to fail here");
  auto problem = test::random_problem<double>(test::CellKind::gru, 48, 2, 20'000, 1, 31);
  const std::vector<double> expected = problem.sequential();
  const elaphos::Gru<double, Memory> gru(test::weights_on_device<double>(problem.layer));
  elaphos::Workspace<Exec> workspace;
  SolveOptions few, all;
  few.segments = 7;
  all.steps_per_segment = 1;  // 20 000 matrices of 48 x 48: 369 MB
  all.method = Method::newton;
  const auto bits_are_right = [&] {
    elaphos::solve(Exec(), gru, problem.y0, problem.x, problem.y, few, workspace);
    return test::different_bits(test::to_host(problem.y), expected) == 0;
  };
  CHECK(bits_are_right());
  for (int attempt = 0; attempt < 2; ++attempt) {
    bool failed = false;
    {
      const MemoryLimit limit(std::size_t(200) << 20);
      try {
        elaphos::solve(Exec(), gru, problem.y0, problem.x, problem.y, all, workspace);
      } catch (const std::exception&) {
        failed = true;
      }
    }
    CHECK(failed);
    CHECK(bits_are_right());
  }
}

TEST_CASE("faults: an observer that throws, at any pass") {
  auto problem = test::random_problem<double>(test::CellKind::gru, 3, 2, 3000, 3, 32);
  const std::vector<double> expected = problem.sequential();
  const elaphos::Gru<double, Memory> gru(test::weights_on_device<double>(problem.layer));
  elaphos::Workspace<Exec> workspace;
  SolveOptions options;
  options.segments = 30;
  const int passes = elaphos::solve(Exec(), gru, problem.y0, problem.x, problem.y, options, workspace).iterations();
  for (int last = 1; last <= passes; ++last) {
    SolveOptions throwing = options;
    throwing.observer = [last](const SolveReport& so_far) -> bool {
      if (so_far.iterations() == last) throw std::runtime_error("enough");
      return true;
    };
    CHECK_THROWS_AS(elaphos::solve(Exec(), gru, problem.y0, problem.x, problem.y, throwing, workspace),
                    std::runtime_error);
    elaphos::solve(Exec(), gru, problem.y0, problem.x, problem.y, options, workspace);
    CHECK(test::different_bits(test::to_host(problem.y), expected) == 0);
  }
}

TEST_CASE("faults: a NaN that comes in midway is the loop's, and goes where the loop's goes") {
  constexpr std::int64_t T = 1000, B = 3;
  std::vector<double> x(T * B, 0.25);
  x[400 * B + 1] = -1;  // the square root of which is NaN
  test::System<Fragile> system{{}, T, B, {0, 0, 0}, x, {}};
  const std::vector<double> expected = system.sequential();
  for (const auto method : test::methods) {
    for (const std::int64_t segments : {2, 10, 1000}) {
      SolveOptions options;
      options.method = method;
      options.segments = segments;
      const SolveReport report = system.solve(options);
      CAPTURE(to_string(method), segments, report.iterations());
      CHECK(report.converged());
      CHECK(test::different_bits(system.y, expected) == 0);
      REQUIRE(report.first_non_finite.has_value());
      CHECK(report.first_non_finite->t == 400);
      CHECK(report.first_non_finite->b == 1);
    }
  }
}
