// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two solves at the same time, from two host threads, on two instances with a workspace each.
#include "support/layers.hpp"

#include <catch2/catch_test_macros.hpp>

#include <array>
#include <random>
#include <thread>
#include <vector>

TEST_CASE("concurrent: two solves on two instances do not disturb each other") {
  using test::Exec;
  std::mt19937_64 generator(3);
  std::vector<test::LayerProblem<double>> problems;
  std::vector<std::vector<double>> expected;
  for (const int D : {6, 11}) {
    const auto layer = test::random_layer(test::CellKind::gru, D, 2, generator);
    problems.emplace_back(layer, 4000, 2, std::vector<double>(static_cast<std::size_t>(2 * D)),
                          test::normal(generator, 16'000));
    expected.push_back(problems.back().sequential());
  }
  const auto instances = Kokkos::Experimental::partition_space(Exec(), 1, 1);
  std::array<std::size_t, 2> wrong{};
  const auto work = [&](std::size_t which) {
    elaphos::Workspace<Exec> workspace;
    const elaphos::Gru gru(test::weights_on_device<double>(problems[which].layer));
    elaphos::SolveOptions options;
    options.segments = 20;
    options.method = elaphos::Method::newton;
    for (int repetition = 0; repetition < 20; ++repetition) {
      auto& problem = problems[which];
      Kokkos::deep_copy(instances[which], problem.y, 0.0);
      elaphos::solve(instances[which], gru, problem.y0, problem.x, problem.y, options, workspace);
      wrong[which] += test::different_bits(test::to_host(problem.y), expected[which]);
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  CHECK(wrong[0] == 0);
  CHECK(wrong[1] == 0);
}
