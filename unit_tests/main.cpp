// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <Kokkos_Core.hpp>
#include <catch2/catch_session.hpp>
#include <cstdlib>

namespace {

// Two threads unless the user says otherwise: enough to show a race, and the same on every machine.
Kokkos::InitializationSettings settings_for(int threads) {
  Kokkos::InitializationSettings settings;
  if (threads > 0) {
    settings.set_num_threads(threads);
  } else if (std::getenv("OMP_NUM_THREADS") == nullptr && std::getenv("KOKKOS_NUM_THREADS") == nullptr) {
    settings.set_num_threads(2);
  }
  return settings;
}

}  // namespace

int main(int argc, char* argv[]) {
  Catch::Session session;
  int threads = 0;
  session.cli(session.cli() | Catch::Clara::Opt(threads, "count")["--threads"]("threads of a host backend"));
  // Before Kokkos starts: ctest lists the tests, and help is printed, on machines without the device too.
  if (int const error = session.applyCommandLine(argc, argv); error != 0) return error;
  auto const& config = session.configData();
  if (config.showHelp || config.listTests || config.listTags || config.listReporters || config.listListeners) {
    return session.run();
  }

  // What OpenMP does anyway; said explicitly it keeps Kokkos from warning about it in every test's output.
  setenv("OMP_PROC_BIND", "false", 0);
  Kokkos::ScopeGuard const kokkos(settings_for(threads));
  return session.run();
}
