// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/context.hpp"
#include "support/reporter.hpp"
#include "support/session.hpp"

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace {

// Removes `flag` from the arguments; whether it was there.
bool take_flag(int& argc, char** argv, std::string_view flag) {
  char** const end = std::remove_if(argv, argv + argc, [flag](const char* word) { return word == flag; });
  const bool found = end != argv + argc;
  argc = static_cast<int>(end - argv);
  return found;
}

bool has_flag(int argc, char** argv, std::string_view flag) {
  return std::any_of(argv, argv + argc, [flag](const char* word) { return word == flag; });
}

}  // namespace

int main(int argc, char* argv[]) {
  const bool measurements = take_flag(argc, argv, "--ctest_measurements");
  // Listing starts no device, so that it works on a machine without one.
  const bool lists = has_flag(argc, argv, "--benchmark_list_tests") || has_flag(argc, argv, "--help") ||
                     has_flag(argc, argv, "--benchmark_list_tests=true");
  perf::Session session;
  session.dry_run = has_flag(argc, argv, "--benchmark_dry_run") || has_flag(argc, argv, "--benchmark_dry_run=true");
  std::unique_ptr<Kokkos::ScopeGuard> kokkos;
  if (!lists) kokkos = std::make_unique<Kokkos::ScopeGuard>(argc, argv);

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  if (!lists) perf::add_context();
  perf::register_rows(session);
  perf::Reporter reporter(measurements);
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return reporter.failures() == 0 ? 0 : 1;
}
