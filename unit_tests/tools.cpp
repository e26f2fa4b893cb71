// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What a profiler sees of a solve: labels with our prefix, kernels on the caller's instance alone, no fence but on it,
// and no allocation once a workspace is large enough. Watched through Kokkos Tools callbacks.
#include "support/layers.hpp"
#include "support/methods.hpp"
#include "support/systems.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

using test::Exec;
using test::Memory;
namespace tools = Kokkos::Tools::Experimental;

// What the callbacks saw; they are plain functions, so it is one record for the whole process.
struct Seen {
  std::vector<std::string> kernels, regions, allocations, fences;
  std::vector<std::uint32_t> kernel_devices, fence_devices;
};

Seen& seen() {
  static Seen record;
  return record;
}

void on_kernel(const char* name, std::uint32_t device, std::uint64_t*) {
  seen().kernels.emplace_back(name);
  seen().kernel_devices.push_back(device);
}
void on_region(const char* name) { seen().regions.emplace_back(name); }
void on_allocation(Kokkos::Tools::SpaceHandle, const char* name, const void*, std::uint64_t bytes) {
  // Kokkos reports an allocation of no bytes for every team kernel on CUDA.
  if (bytes > 0) seen().allocations.emplace_back(name);
}
void on_fence(const char* name, std::uint32_t device, std::uint64_t*) {
  seen().fences.emplace_back(name);
  seen().fence_devices.push_back(device);
}

template <class Work>
Seen watch(const Work& work) {
  seen() = {};
  tools::set_begin_parallel_for_callback(on_kernel);
  tools::set_begin_parallel_reduce_callback(on_kernel);
  tools::set_begin_parallel_scan_callback(on_kernel);
  tools::set_push_region_callback(on_region);
  tools::set_allocate_data_callback(on_allocation);
  tools::set_begin_fence_callback(on_fence);
  work();
  tools::set_begin_parallel_for_callback(nullptr);
  tools::set_begin_parallel_reduce_callback(nullptr);
  tools::set_begin_parallel_scan_callback(nullptr);
  tools::set_push_region_callback(nullptr);
  tools::set_allocate_data_callback(nullptr);
  tools::set_begin_fence_callback(nullptr);
  return seen();
}

void check_prefix(const char* what, const std::vector<std::string>& labels) {
  for (const std::string& label : labels) {
    CAPTURE(what, label);
    // What Kokkos does of its own accord inside a call of ours bears its own name.
    CHECK((label.rfind("Elaphos::", 0) == 0 || label.rfind("Kokkos::", 0) == 0));
  }
}

// Every path of the solver in one go: all sensitivities, both merges, completion, verification, user recurrences,
// layers.
struct Everything {
  test::LayerProblem<double> layer = make();
  elaphos::Gru<double, Memory> gru{test::weights_on_device<double>(layer.layer)};
  elaphos::StateView<double, Memory> y0{"test::y0", 1, 1};
  elaphos::SequenceView<double, Memory> nothing, y{"test::y", 500, 1, 1};
  elaphos::VectorView<double, Memory> parameter{"test::p", 1};
  elaphos::MixedStack<elaphos::Bidirectional<elaphos::Gru<double, Memory>>, elaphos::Lstm<double, Memory>> stack{
      {gru, gru}, elaphos::Lstm<double, Memory>(random_weights(test::CellKind::lstm, 5, 10))};
  std::vector<elaphos::StateView<double, Memory>> states = elaphos::zero_states(Exec(), stack, 2);
  elaphos::Readout<double, Memory> readout{elaphos::MatrixView<double, Memory>("test::w", 3, 5),
                                           elaphos::VectorView<double, Memory>("test::b", 3)};
  elaphos::SequenceView<double, Memory> read{"test::z", 500, 2, 3};

  static elaphos::LayerWeights<double, Memory> random_weights(test::CellKind kind, int H, int I) {
    std::mt19937_64 generator(2);
    return test::weights_on_device<double>(test::random_layer(kind, H, I, generator));
  }

  static test::LayerProblem<double> make() {
    std::mt19937_64 generator(1);
    const auto gru = test::random_layer(test::CellKind::gru, 5, 2, generator);
    return {gru, 500, 2, std::vector<double>(10), test::normal(generator, 2000)};
  }

  void solve_all(const Exec& exec, elaphos::Workspace<Exec>& workspace) const {
    elaphos::SolveOptions options;
    options.segments = 100;
    options.verify = true;
    for (const auto merge : {elaphos::Merge::exact, elaphos::Merge::tolerance}) {
      for (const auto method : test::methods) {
        for (const int limit : {1, 100}) {
          options.merge = merge;
          options.method = method;
          options.max_iterations = limit;
          elaphos::solve(exec, gru, layer.y0, layer.x, layer.y, options, workspace);
          elaphos::solve(exec, elaphos::bind_parameters(test::LogisticMap{}, parameter), y0, nothing, y, options,
                         workspace);
        }
      }
    }
    elaphos::LayerOptions layer_options;
    layer_options.dropout.probability = 0.5;
    elaphos::solve(exec, stack, states, layer.x, layer.y, states, layer_options, workspace);
    elaphos::read_out(exec, readout, layer.y, read);
  }
};

}  // namespace

TEST_CASE("tools: every label starts with Elaphos::") {
  const Everything everything;
  const Seen record = watch([&] {
    elaphos::Workspace<Exec> workspace;
    everything.solve_all(Exec(), workspace);
  });
  CHECK(record.kernels.size() > 100);
  CHECK(record.regions.size() > 10);
  CHECK(record.allocations.size() > 3);
  check_prefix("kernel", record.kernels);
  check_prefix("region", record.regions);
  check_prefix("allocation", record.allocations);
}

TEST_CASE("tools: all work is on the caller's instance, and nothing else is waited for") {
  const Everything everything;
  // Kokkos gives all instances of a host space one number, so for kernels only a device can tell.
  const Exec exec = Kokkos::Experimental::partition_space(Exec(), 1, 1)[1];
  elaphos::Workspace<Exec> workspace;
  const Seen record = watch([&] { everything.solve_all(exec, workspace); });
  const std::uint32_t own = tools::device_id(exec);
  for (std::size_t i = 0; i < record.kernels.size(); ++i) {
    CAPTURE(record.kernels[i]);
    CHECK(record.kernel_devices[i] == own);
  }
  // Allocating device memory waits for the device, which is Kokkos' doing and ends with the first solve.
  const Seen warm = watch([&] { everything.solve_all(exec, workspace); });
  CHECK(warm.fences.size() > 10);
  for (std::size_t i = 0; i < warm.fences.size(); ++i) {
    CAPTURE(warm.fences[i]);
    // Watching makes Kokkos wait for everything before it calls back.
    if (warm.fences[i].rfind("Kokkos::Tools::", 0) != 0) CHECK(warm.fence_devices[i] == own);
  }
}

TEST_CASE("tools: only measure_time waits between the phases") {
  const Everything everything;
  const auto waits = [&](bool measure_time) {
    elaphos::Workspace<Exec> workspace;
    elaphos::SolveOptions options;
    options.segments = 10;
    options.measure_time = measure_time;
    const Seen record = watch([&] {
      elaphos::solve(Exec(), everything.gru, everything.layer.y0, everything.layer.x, everything.layer.y, options,
                     workspace);
    });
    return std::count(record.fences.begin(), record.fences.end(), "Elaphos::measure_time");
  };
  CHECK(waits(false) == 0);
  CHECK(waits(true) >= 3);
}

TEST_CASE("tools: a second solve with the same workspace allocates nothing") {
  const Everything everything;
  elaphos::Workspace<Exec> workspace;
  everything.solve_all(Exec(), workspace);
  const std::size_t bytes = workspace.bytes();
  const Seen record = watch([&] { everything.solve_all(Exec(), workspace); });
  for (const std::string& label : record.allocations) FAIL_CHECK("allocated " << label);
  CHECK(workspace.bytes() == bytes);
}

TEST_CASE("tools: an enqueued solve waits for nothing once its workspace is large enough") {
  const Everything everything;
  const Exec exec;
  elaphos::Workspace<Exec> workspace;
  const Kokkos::View<elaphos::QueuedReport, Memory> report("test::report");
  elaphos::SolveOptions options;
  options.segments = 80;
  options.method = elaphos::Method::newton;
  options.verify = true;
  options.max_iterations = 4;
  const auto enqueue = [&] {
    elaphos::enqueue_solve(exec, everything.gru, everything.layer.y0, everything.layer.x, everything.layer.y, report,
                           options, workspace);
  };
  enqueue();
  exec.fence();
  const Seen record = watch(enqueue);
  exec.fence();
  CHECK(record.kernels.size() > 20);
  check_prefix("kernel", record.kernels);
  for (const std::string& fence : record.fences) {
    // Watching makes Kokkos wait for everything before it calls back.
    if (fence.rfind("Kokkos::Tools::", 0) != 0) FAIL_CHECK("waited in " << fence);
  }
  CHECK(record.allocations.empty());
}
