// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "systems.hpp"

#include "table.hpp"

#include <cstdlib>
#include <fstream>
#include <random>
#include <sstream>

namespace truth {

namespace {

using test::CellKind;
using test::normal;
using test::uniform;

test::LayerProblem<double> gru(int D, std::int64_t T, double gain, double update_bias, std::uint64_t seed) {
  test::LayerProblem<double> problem = test::random_problem<double>(CellKind::gru, D, D, T, 1, seed, gain);
  for (int i = 0; i < D; ++i) problem.layer.b_ih[static_cast<std::size_t>(D + i)] += update_bias;
  return problem;
}

// All weights times 100, all inputs over 100: states saturate at once.
test::LayerProblem<float> saturated_gru() {
  const test::LayerProblem<float> mild = test::random_problem<float>(CellKind::gru, 2, 2, 100, 1, 11);
  test::Layer layer = mild.layer;
  for (auto* numbers : {&layer.w_ih, &layer.w_hh, &layer.b_ih, &layer.b_hh}) {
    for (double& number : *numbers) number *= 100;
  }
  std::vector<double> x = mild.x_host;
  for (double& number : x) number /= 100;
  return {layer, mild.T, mild.B, mild.y0_host, x};
}

// A recurrent matrix of orthonormal rows (Gram and Schmidt), which neither forgets nor grows but by the tanh.
test::LayerProblem<double> orthogonal_elman(int D, std::int64_t T) {
  std::mt19937_64 generator(12);
  test::Layer layer = test::random_layer(CellKind::elman, D, D, generator);
  const auto entry = [&](int r, int c) -> double& { return layer.w_hh[static_cast<std::size_t>(r * D + c)]; };
  const std::vector<double> drawn = normal(generator, layer.w_hh.size());
  layer.w_hh = drawn;
  for (int r = 0; r < D; ++r) {
    for (int before = 0; before < r; ++before) {
      double along = 0;
      for (int c = 0; c < D; ++c) along += entry(r, c) * entry(before, c);
      for (int c = 0; c < D; ++c) entry(r, c) -= along * entry(before, c);
    }
    double square = 0;
    for (int c = 0; c < D; ++c) square += entry(r, c) * entry(r, c);
    for (int c = 0; c < D; ++c) entry(r, c) /= std::sqrt(square);
  }
  const auto y0 = uniform(generator, static_cast<std::size_t>(D), 1);
  return {layer, T, 1, y0, normal(generator, static_cast<std::size_t>(T * D))};
}

Case lorenz_observer(std::int64_t T) {
  std::vector<double> seen, state = {-9.7869288, -15.03852, 20.533978};
  for (std::int64_t t = 0; t < T; ++t) {
    double next[3];
    EulerFlow<LorenzFlow>().step({t, 0}, state.data(), state.data(), state.data(), next);
    state.assign(next, next + 3);
    seen.insert(seen.end(), state.begin(), state.end());
  }
  return case_of("Lorenz with an observer", Differentiated<LorenzObserver>(), T, {1, 1, 1}, seen, {});
}

Case long_memory(double dt, std::int64_t T) {
  std::mt19937_64 generator(13);
  const auto p = uniform(generator, LongMemory::parameter_size, 1 / std::sqrt(8.0));
  return case_of("LEM, dt = " + std::to_string(dt).substr(0, 6), Differentiated<LongMemory>{{dt}}, T,
                 std::vector<double>(16, 0.0), normal(generator, static_cast<std::size_t>(T)), p);
}

template <class Network>
Case mean_field(double gain, std::int64_t T) {
  constexpr int D = Network::state_size;
  std::mt19937_64 generator(14);
  std::vector<double> W = normal(generator, D * D), x;
  for (std::size_t i = 0; i < W.size(); ++i) W[i] = i % (D + 1) == 0 ? 0 : W[i] * gain / std::sqrt(double(D));
  const auto height = uniform(generator, D, 0.1), pace = uniform(generator, D, 1.25), phase = uniform(generator, D, 3.1);
  for (std::int64_t t = 0; t < T; ++t) {
    for (std::size_t i = 0; i < D; ++i) {
      x.push_back((height[i] + 0.1) * std::sin((pace[i] + 1.75) * static_cast<double>(t) + phase[i]));
    }
  }
  return case_of("mean-field network, g = " + std::to_string(gain).substr(0, 3), Network(), T,
                 uniform(generator, D, 1), x, W, gain > 1);
}

// The trained weights of the ELK paper's experiment are measured with, and are not ours to keep: a file of lines of
// numbers, each behind a line that names them.
std::vector<Case> autoregressive_gru(std::int64_t T) {
  const char* path = std::getenv("ELAPHOS_ARGRU_WEIGHTS");
  if (path == nullptr) return {};
  std::ifstream file(path);
  std::vector<double> p;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    if (line.empty() || std::isalpha(static_cast<unsigned char>(line[0])) || line[0] == '#') continue;
    for (double number; words >> number;) p.push_back(number);
  }
  if (p.size() != AutoregressiveGru::parameter_size) throw std::runtime_error(std::string(path) + ": wrong size");
  std::mt19937_64 generator(1);
  std::normal_distribution<double> distribution;
  std::vector<double> noise(static_cast<std::size_t>(T));
  const std::vector<double> zeros(4, 0.0);
  const double first = distribution(generator);
  double start[4];
  AutoregressiveGru().step({0, 0}, zeros.data(), &first, p.data(), start);
  for (double& e : noise) e = distribution(generator);
  Case system = case_of("autoregressive GRU", Differentiated<AutoregressiveGru>(), T,
                        {start[0], start[1], start[2], start[3]}, noise, p);
  system.damped_passes = 216;  // ELK's, with its damping set by hand (Gonzalez et al., NeurIPS 2024)
  system.damped_converges = true;
  return {system};
}

}  // namespace

std::vector<Case> systems(bool full) {
  const auto size = [&](std::int64_t large, std::int64_t small) { return full ? large : small; };
  std::mt19937_64 generator(15);
  std::vector<Case> all;
  all.push_back(case_of("doubling, y = 1", test::Doubling<double>(), size(1024, 256), {1}, {}, {}));
  all.push_back(case_of("logistic map, r = 4", test::LogisticMap(), 1024, {0.3}, {}, {4}, true));
  all.push_back(case_of("logistic map, r = 2.5", test::LogisticMap(), 1024, {0.3}, {}, {2.5}));
  all.push_back(case_of("GRU, weights x 100", saturated_gru()));
  all.push_back(case_of("stiff relaxation", Differentiated<StiffRelaxation>(), size(100'000, 5000), {2}, {}, {}));
  for (Case& system : autoregressive_gru(size(10'000, 1000))) all.push_back(std::move(system));
  all.push_back(case_of("Lorenz-96, D = 5", Differentiated<Lorenz96<5>>(), 1000, {8.01, 8, 8, 8, 8}, {}, {}, true));
  for (const double gain : {0.5, 1.5}) {
    all.push_back(mean_field<MeanFieldWithJacobian<20>>(gain, size(10'000, 1000)));
    all.push_back(mean_field<MeanField<100>>(gain, size(10'000, 1000)));  // products of its Jacobians take too long
  }
  const std::int64_t flow = size(30'000, 3000);
  all.push_back(case_of("Lorenz", Differentiated<EulerFlow<LorenzFlow>>(), flow, {-9.7869288, -15.03852, 20.533978}, {},
                        {}, true));
  all.push_back(case_of("Roessler", Differentiated<EulerFlow<RoesslerFlow>>(), flow, {6.5134412, 0.4772013, 0.34164294},
                        {}, {}, true));
  all.push_back(case_of("Thomas", Differentiated<EulerFlow<ThomasFlow>>(), flow, {0.1, 0.2, -0.3}, {}, {}, true));
  all.push_back(lorenz_observer(flow));
  all.push_back(case_of("y' = y^2 + x/2, bounded", test::Riccati(), 2000, {0}, uniform(generator, 2000, 0.4), {}));
  all.push_back(case_of("y' = y^2 + x/2, blows up", test::Riccati(), 2000, {0}, std::vector<double>(2000, 0.6), {}));
  all.push_back(case_of("coordinated turn", Differentiated<CoordinatedTurn>(), 500, {0, 0, 10, 0},
                        uniform(generator, 1000, 1), {}));
  const std::int64_t wells = size(100'000, 5000);
  all.push_back(case_of("two wells", Differentiated<TwoWells>(), wells, {-1.4, 0},
                        normal(generator, static_cast<std::size_t>(2 * wells)), {}));
  all.push_back(long_memory(0.0016, size(17'984, 2048)));
  all.push_back(long_memory(0.05, size(17'984, 2048)));
  const std::int64_t layer = size(65'536, 2048);
  all.push_back(case_of("GRU D = 32", gru(32, layer, 1, 0, 16)));
  all.push_back(case_of("GRU D = 32, weights x 3", gru(32, layer, 3, 0, 17)));
  all.push_back(case_of("GRU D = 16, weights x 5", gru(16, layer, 5, 0, 18), true));
  all.push_back(case_of("GRU D = 16, update bias + 4", gru(16, layer, 1, 4, 20)));
  all.push_back(case_of("GRU D = 16, update bias + 6", gru(16, layer, 1, 6, 19)));
  all.push_back(case_of("tanh RNN, orthogonal, D = 16", orthogonal_elman(16, layer)));
  all.push_back(case_of("pendulum", Differentiated<Pendulum>(), size(20'000, 2048), {1, 0}, {}, {}));
  all.push_back(case_of("van der Pol, stiff", Differentiated<StiffVanDerPol>(), size(100'000, 5000), {2, 0}, {}, {}));
  all.push_back(case_of("Lorenz-96, D = 8", Differentiated<Lorenz96<8>>(), size(10'000, 2048),
                        {8.01, 8, 8, 8, 8, 8, 8, 8}, {}, {}, true));
  const std::int64_t leaky = 100'000;
  all.push_back(case_of("leaky integrator, tau = 1e7", test::LeakyIntegrator{1e-7}, leaky, {0},
                        std::vector<double>(leaky, 1.0), {}, false, 1e-6));
  std::vector<double> drive = uniform(generator, static_cast<std::size_t>(size(100'000, 5000)), 1);
  for (double& x : drive) x += 0.7;  // enough for a spike every 40 steps or so
  all.push_back(case_of("integrate and fire", IntegrateAndFire(), static_cast<std::int64_t>(drive.size()), {0}, drive, {}));
  return all;
}

}  // namespace truth
