// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What fails in the middle of a solve leaves everything usable.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/systems.hpp"

#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>

#include <cmath>
#include <cstdint>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using elaphos::Merge;
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

/// Bytes that the library allocated and did not free while this is alive. Kokkos keeps scratch memory of its own.
class Leak {
 public:
  Leak() {
    bytes() = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(on_allocation);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(on_release);
  }
  ~Leak() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(nullptr);
  }
  static std::int64_t& bytes() {
    static std::int64_t left = 0;
    return left;
  }

 private:
  static std::int64_t counted(const char* label, std::uint64_t size) {
    return std::string_view(label).substr(0, 9) == "Elaphos::" ? static_cast<std::int64_t>(size) : 0;
  }
  static void on_allocation(Kokkos::Tools::SpaceHandle, const char* label, const void*, std::uint64_t size) {
    bytes() += counted(label, size);
  }
  static void on_release(Kokkos::Tools::SpaceHandle, const char* label, const void*, std::uint64_t size) {
    bytes() -= counted(label, size);
  }
};

#if defined(__has_feature)
#define ELAPHOS_TEST_HAS_FEATURE(name) __has_feature(name)  // clang's word for it
#else
#define ELAPHOS_TEST_HAS_FEATURE(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || ELAPHOS_TEST_HAS_FEATURE(address_sanitizer)
constexpr bool allocations_may_fail = false;  // the sanitizer ends the program instead
#else
constexpr bool allocations_may_fail = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;
#endif

/// Two coupled states, y' = half of each and a third of the other's, + sqrt(x), whose inputs may be negative.
template <class Number>
struct Fragile {
  using scalar_type = Number;
  static constexpr elaphos::JacobianBlocks jacobian_blocks{2, 1};
  static constexpr int state_size = 2, input_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    const Number drive = Kokkos::sqrt(x[0]);
    for (int i = 0; i < 2; ++i) next[i] = Kokkos::fma(Number(0.5), y[i], Kokkos::fma(Number(0.3), y[1 - i], drive));
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto, auto, auto, auto J) const {
    for (int i = 0; i < 4; ++i) J(i / 2, i % 2) = i % 3 == 0 ? Number(0.5) : Number(0.3);
  }
};

/// y' = sqrt(y + x): NaN from a start that is too low, whatever comes then.
struct Rooted {
  using scalar_type = double;
  static constexpr int state_size = 1, input_size = 1;
  KOKKOS_FUNCTION void step(elaphos::StepContext, auto y, auto x, auto, auto next) const {
    next[0] = Kokkos::sqrt(y[0] + x[0]);
  }
  KOKKOS_FUNCTION void jacobian(elaphos::StepContext, auto y, auto x, auto, auto J) const {
    J(0, 0) = 0.5 / Kokkos::sqrt(y[0] + x[0]);
  }
};

/// A problem of two sequences of coupled states, whose right answer is known.
struct Healthy {
  test::System<Fragile<double>> system{{}, 600, 2, {1, 2, 3, 4}, {}, {}};
  std::vector<double> expected;

  Healthy() {
    for (int i = 0; i < 1200; ++i) system.x.push_back(1.5 + std::sin(0.1 * i));
    expected = system.sequential();
  }
  bool bits_are_right(elaphos::Workspace<Exec>& workspace, SolveOptions options) {
    options.observer = {};
    options.at_limit = elaphos::AtLimit::complete_sequentially;
    return system.solve(options, workspace).converged() && test::different_bits(system.y, expected) == 0;
  }
};

std::vector<SolveOptions> many_options() {
  std::vector<SolveOptions> out;
  for (const Method method : test::methods_with_blocks) {
    for (const std::int64_t window : {0, 250}) {
      SolveOptions options;
      options.method = method;
      options.window_steps = window;
      options.steps_per_segment = 30;
      out.push_back(options);
    }
  }
  return out;
}

}  // namespace

TEST_CASE("faults: an allocation that fails leaves workspace and problem usable") {
  if (!allocations_may_fail) SKIP("allocations cannot be made to fail here");
  auto problem = test::random_problem<double>(test::CellKind::gru, 48, 2, 20'000, 1, 31);
  const std::vector<double> expected = problem.sequential();
  const elaphos::Gru<double, Memory> gru(test::weights_on_device<double>(problem.layer));
  for (const Method method : {Method::newton, Method::levenberg_marquardt}) {
    const Leak leak;
    {
      elaphos::Workspace<Exec> workspace;
      SolveOptions few, all;
      few.segments = 7;
      all.steps_per_segment = 1;  // 20 000 matrices of 48 x 48: 369 MB
      all.method = method;
      const auto bits_are_right = [&] {
        elaphos::solve(Exec(), gru, problem.y0, problem.x, problem.y, few, workspace);
        return test::different_bits(test::to_host(problem.y), expected) == 0;
      };
      CHECK(bits_are_right());
      for (const std::size_t megabytes : {200, 0}) {
        bool failed = false;
        {
          const MemoryLimit limit(megabytes << 20);
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
    CHECK(leak.bytes() == 0);
  }
}

TEST_CASE("faults: an observer that throws, at any pass") {
  Healthy healthy;
  for (const SolveOptions& options : many_options()) {
    CAPTURE(to_string(options.method), options.window_steps);
    const Leak leak;
    {
      elaphos::Workspace<Exec> workspace;
      const int passes = healthy.system.solve(options, workspace).iterations();
      CHECK(passes > 1);
      for (int last = 1; last <= passes; ++last) {
        SolveOptions throwing = options;
        int calls = 0;
        throwing.observer = [&calls, last](const SolveReport&) -> bool {
          if (++calls == last) throw std::runtime_error("enough");
          return true;
        };
        CHECK_THROWS_AS(healthy.system.solve(throwing, workspace), std::runtime_error);
        CHECK(calls == last);
        CHECK(healthy.bits_are_right(workspace, options));
      }
    }
    CHECK(leak.bytes() == 0);
  }
}

TEST_CASE("faults: a limit that throws leaves a workspace that can be used") {
  Healthy healthy;
  elaphos::Workspace<Exec> workspace;
  for (SolveOptions options : many_options()) {
    CAPTURE(to_string(options.method), options.window_steps);
    options.max_iterations = 1;
    options.at_limit = elaphos::AtLimit::throw_exception;
    CHECK_THROWS_AS(healthy.system.solve(options, workspace), elaphos::NotConverged);
    CHECK(healthy.bits_are_right(workspace, options));
  }
}

TEMPLATE_TEST_CASE("faults: a NaN that comes in midway is the loop's, and goes where the loop's goes", "", float,
                   double) {
  constexpr std::int64_t T = 1000, B = 3;
  std::vector<TestType> x(T * B, TestType(0.25));
  x[400 * B + 1] = -1;  // the square root of which is NaN
  test::System<Fragile<TestType>> system{{}, T, B, std::vector<TestType>(2 * B, 0), x, {}};
  const std::vector<TestType> expected = system.sequential();
  REQUIRE(std::isnan(expected.at((T - 1) * B * 2 + 2)));
  REQUIRE(std::isfinite(expected.at((T - 1) * B * 2)));
  elaphos::Workspace<Exec> workspace;
  for (const auto method : test::methods_with_blocks) {
    for (const std::int64_t segments : {2, 10, 1000}) {
      for (const std::int64_t window : {0, 300}) {
        SolveOptions options;
        options.method = method;
        options.segments = segments;
        options.window_steps = window;
        const SolveReport report = system.solve(options, workspace);
        CAPTURE(to_string(method), segments, window, report.iterations());
        CHECK(report.converged());
        CHECK(test::different_bits(system.y, expected) == 0);
        REQUIRE(report.first_non_finite.has_value());
        CHECK(report.first_non_finite->t == 400);
        CHECK(report.first_non_finite->b == 1);
      }
    }
  }
}

TEST_CASE("faults: a NaN of an iterate alone leaves nothing behind") {
  // The loop is at 2 when the low inputs come; segments that start there from y_0 = 0 are not.
  constexpr std::int64_t T = 900;
  std::vector<double> x(T, 2.0);
  for (std::size_t t = 50; t < x.size(); t += 60) x[t] = -1.5;
  test::System<Rooted> system{{}, T, 1, {0}, x, {}};
  const std::vector<double> expected = system.sequential();
  REQUIRE(test::largest_difference(expected, test::host_loop(system.recurrence, T, 1, system.y0, x, {})) < 1e-14);
  elaphos::Workspace<Exec> workspace;
  for (const auto method : test::methods) {
    for (const auto& [steps_per_segment, merge] :
         {std::pair{1, Merge::exact}, {10, Merge::exact}, {25, Merge::exact}, {1, Merge::tolerance}, {10, Merge::tolerance}}) {
      SolveOptions options;
      options.method = method;
      options.merge = merge;
      options.steps_per_segment = steps_per_segment;
      options.max_iterations = 100;
      bool spoilt = false;
      options.observer = [&spoilt](const SolveReport& so_far) {
        spoilt = spoilt || !std::isfinite(so_far.max_residual) || !std::isfinite(so_far.error_estimate);
        return true;
      };
      const SolveReport report = system.solve(options, workspace);
      CAPTURE(to_string(method), to_string(merge), steps_per_segment, report.iterations(), to_string(report.status));
      CHECK(spoilt);
      CHECK(report.converged());
      CHECK(test::largest_difference(system.y, expected) <= (merge == Merge::exact ? 0 : 1e-5));
      CHECK_FALSE(report.first_non_finite.has_value());
    }
  }
}
