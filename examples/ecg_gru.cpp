// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recurrent layer over a real electrocardiogram, evaluated step by step and in parallel over time.
//
// The layer is a GRU with PyTorch's default initialisation, so that the program needs no trained weights; what is shown
// is that the two evaluations give the same bits, and what each costs.
#include <elaphos/elaphos.hpp>

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Exec = Kokkos::DefaultExecutionSpace;
using Memory = Exec::memory_space;

struct Arguments {
  std::string file = ELAPHOS_EXAMPLE_DATA_DIR "/ecg_mitdb208_360hz_mV.csv";
  int hidden_size = 32;
  int seed = 1;
  int repetitions = 5;
  elaphos::SolveOptions options;
};

// One number a line under a header line.
std::vector<float> read_samples(const std::string& file) {
  std::ifstream in(file);
  std::string header;
  if (!in || !std::getline(in, header)) throw std::runtime_error("cannot read " + file);
  std::vector<float> samples;
  for (float sample; in >> sample;) samples.push_back(sample);
  if (!in.eof() || samples.empty()) {
    throw std::runtime_error(file + ": line " + std::to_string(samples.size() + 2) + " is not a number");
  }
  return samples;
}

elaphos::SequenceView<float, Memory> copy_to_device(const std::vector<float>& samples) {
  elaphos::SequenceView<float, Memory> x("ecg", samples.size(), 1, 1);
  const auto host = Kokkos::create_mirror_view(x);
  std::copy(samples.begin(), samples.end(), host.data());
  Kokkos::deep_copy(x, host);
  return x;
}

// Fills a View with numbers that are uniform within the bound.
template <class View>
View fill_uniform(const View& view, std::mt19937& generator, float bound) {
  const auto host = Kokkos::create_mirror_view(view);
  std::uniform_real_distribution<float> uniform(-bound, bound);
  for (std::size_t i = 0; i < host.size(); ++i) host.data()[i] = uniform(generator);
  Kokkos::deep_copy(view, host);
  return view;
}

// nn.GRU(input_size=1, hidden_size=D) as PyTorch initialises it: uniform within 1/sqrt(D).
elaphos::Gru<float, Memory> make_gru(int hidden_size, int seed) {
  std::mt19937 generator(static_cast<std::mt19937::result_type>(seed));
  const float bound = 1 / std::sqrt(static_cast<float>(hidden_size));
  const std::size_t D = static_cast<std::size_t>(hidden_size);
  const auto matrix = [&](const std::string& label, std::size_t columns) {
    return fill_uniform(elaphos::MatrixView<float, Memory>(label, 3 * D, columns), generator, bound);
  };
  const auto vector = [&](const std::string& label) {
    return fill_uniform(elaphos::VectorView<float, Memory>(label, 3 * D), generator, bound);
  };
  return elaphos::Gru<float, Memory>({matrix("w_ih", 1), matrix("w_hh", D), vector("b_ih"), vector("b_hh")});
}

struct Run {
  elaphos::SolveReport report;
  double seconds;  // median
};

template <class Initial, class Sequence>
Run timed_solve(const Arguments& arguments, const elaphos::SolveOptions& options, const elaphos::Gru<float, Memory>& gru,
                const Initial& y0, const Sequence& x, const Sequence& y) {
  const Exec exec;
  elaphos::Workspace<Exec> workspace;
  Run run{elaphos::solve(exec, gru, y0, x, y, options, workspace), 0};  // warm-up
  std::vector<double> seconds;
  for (int repetition = 0; repetition < arguments.repetitions; ++repetition) {
    exec.fence();
    const Kokkos::Timer timer;
    run.report = elaphos::solve(exec, gru, y0, x, y, options, workspace);
    exec.fence();
    seconds.push_back(timer.seconds());
  }
  std::sort(seconds.begin(), seconds.end());
  run.seconds = seconds[seconds.size() / 2];
  return run;
}

template <class Sequence>
double largest_difference(const Sequence& a, const Sequence& b) {
  const auto host_a = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), a);
  const auto host_b = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), b);
  double largest = 0;
  for (std::size_t i = 0; i < host_a.size(); ++i) {
    const double difference = std::abs(double(host_a.data()[i]) - double(host_b.data()[i]));
    largest = difference <= largest ? largest : difference;
  }
  return largest;
}

int demonstrate(const Arguments& arguments) {
  const auto x = copy_to_device(read_samples(arguments.file));
  const std::size_t T = x.extent(0), D = static_cast<std::size_t>(arguments.hidden_size);
  const auto gru = make_gru(arguments.hidden_size, arguments.seed);
  const elaphos::StateView<float, Memory> y0("y0", 1, D);
  const elaphos::SequenceView<float, Memory> y_loop("y_loop", T, 1, D), y("y", T, 1, D);

  elaphos::SolveOptions one_segment;
  one_segment.segments = 1;
  const Run loop = timed_solve(arguments, one_segment, gru, y0, x, y_loop);
  const Run parallel = timed_solve(arguments, arguments.options, gru, y0, x, y);
  const elaphos::SolveReport& report = parallel.report;

  std::printf("GRU, hidden size %zu, float, over an electrocardiogram of %zu samples; %s, %d workers\n", D, T,
              Exec::name(), static_cast<int>(Exec().concurrency()));
  std::printf("  plan                   %lld segments of %lld steps, sensitivity %s, merge %s\n",
              static_cast<long long>(report.plan.segments), static_cast<long long>(report.plan.steps_per_segment),
              to_string(report.plan.sensitivity).c_str(), to_string(report.plan.merge).c_str());
  std::printf("  status                 %s\n", to_string(report.status).c_str());
  std::printf("  iterations             %d\n", report.iterations());
  std::printf("  work factor            %.4f\n", report.work_factor());
  std::printf("  max residual           %g\n", report.max_residual);
  const double difference = largest_difference(y, y_loop);
  std::printf("  largest difference     %g\n", difference);
  std::printf("  sequential             %.3f ms (%.1f ns a step)\n", loop.seconds * 1e3, loop.seconds * 1e9 / double(T));
  std::printf("  parallel over time     %.3f ms (%.1f ns a step)\n", parallel.seconds * 1e3,
              parallel.seconds * 1e9 / double(T));
  std::printf("  ratio                  %.2f\n", loop.seconds / parallel.seconds);
  const bool exact = report.plan.merge == elaphos::Merge::exact;
  return report.converged() && (!exact || difference == 0) ? 0 : 1;
}

}  // namespace

int main(int argc, char* argv[]) {
  Arguments arguments;
  CLI::App app("A GRU over a real electrocardiogram, step by step and in parallel over time");
  app.add_option("--file", arguments.file, "samples, one a line under a header line")->check(CLI::ExistingFile);
  app.add_option("--hidden-size", arguments.hidden_size, "D")->check(CLI::Range(1, 128));
  app.add_option("--seed", arguments.seed, "of the weights");
  app.add_option("--repetitions", arguments.repetitions, "timed runs; the median counts")->check(CLI::Range(1, 1000));
  app.add_option("--segments", arguments.options.segments, "N; 0: the planner chooses")->check(CLI::NonNegativeNumber);
  app.add_option("--method", arguments.options.method, "jacobi, quasi_newton, newton or a damped one; default: the planner chooses")
      ->transform(CLI::CheckedTransformer(std::map<std::string, elaphos::Method>{
          {"jacobi", elaphos::Method::jacobi},
          {"quasi_newton", elaphos::Method::quasi_newton},
          {"newton", elaphos::Method::newton},
          {"quasi_levenberg_marquardt", elaphos::Method::quasi_levenberg_marquardt},
          {"levenberg_marquardt", elaphos::Method::levenberg_marquardt}}));
  app.add_option("--merge", arguments.options.merge, "exact or tolerance")
      ->transform(CLI::CheckedTransformer(std::map<std::string, elaphos::Merge>{
          {"exact", elaphos::Merge::exact}, {"tolerance", elaphos::Merge::tolerance}}));
  CLI11_PARSE(app, argc, argv);

  const Kokkos::ScopeGuard kokkos;
  try {
    return demonstrate(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
