// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "context.hpp"

#include <elaphos/version.hpp>

#include <Kokkos_Core.hpp>
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace perf {

namespace {

// The first line "name : value" of /proc/cpuinfo; other systems have their own ways.
std::string processor() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string compiler() {
  std::ostringstream out;
#if defined(__NVCC__)
  out << "nvcc " << __CUDACC_VER_MAJOR__ << "." << __CUDACC_VER_MINOR__ << ", host ";
#endif
#if defined(__clang__)
  out << "clang " << __clang_version__;
#elif defined(__GNUC__)
  out << "GNU " << __VERSION__;
#else
  out << "unknown";
#endif
  return out.str();
}

}  // namespace

void add_context() {
  benchmark::AddCustomContext("elaphos_version", std::string(elaphos::version()));
  benchmark::AddCustomContext("elaphos_commit", std::string(elaphos::git_commit()));
  benchmark::AddCustomContext("compiler", compiler());
  benchmark::AddCustomContext("processor", processor());
  benchmark::AddCustomContext("execution_space", Kokkos::DefaultExecutionSpace::name());
  benchmark::AddCustomContext("concurrency", std::to_string(Kokkos::DefaultExecutionSpace().concurrency()));
  std::ostringstream configuration;
  Kokkos::print_configuration(configuration, true);
  benchmark::AddCustomContext("kokkos_configuration", configuration.str());
  for (const char* name : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "KOKKOS_NUM_THREADS"}) {
    const char* value = std::getenv(name);
    benchmark::AddCustomContext(name, value == nullptr ? "" : value);
  }
}

}  // namespace perf
