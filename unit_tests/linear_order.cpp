// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maps are composed in order: integer matrices modulo a prime do not commute and do not round, so a single pair in the
// wrong order shows, at any length. (Kokkos::parallel_scan fails this on devices: it regroups.)
#include "support/transfer.hpp"

#include <elaphos/impl/linear/linear_solver.hpp>

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace {

using test::Exec;
using test::Memory;

/// Integers modulo a prime below 2^16, so that products fit in 32 bits.
struct Modular {
  static constexpr std::uint32_t prime = 65521;
  std::uint32_t value = 0;

  Modular() = default;
  KOKKOS_FUNCTION explicit Modular(int of) : value(static_cast<std::uint32_t>(of) % prime) {}
  KOKKOS_FUNCTION friend Modular operator*(Modular a, Modular b) {
    Modular out;
    out.value = opaque(a.value * b.value % prime);
    return out;
  }
  KOKKOS_FUNCTION friend Modular operator+(Modular a, Modular b) {
    Modular out;
    out.value = opaque((a.value + b.value) % prime);
    return out;
  }

 private:
  // Keeps compilers from looking through chains of remainders, at which nvcc's take exponential time.
  KOKKOS_FUNCTION static std::uint32_t opaque(std::uint32_t of) {
    asm("" : "+r"(of));
    return of;
  }
};

struct Problem {
  std::int64_t T, B, blocks;
  int K;
  std::vector<std::uint32_t> a, b, y0;

  Problem(std::int64_t steps, std::int64_t batch, std::int64_t of_blocks, int block_size, std::uint64_t seed)
      : T(steps), B(batch), blocks(of_blocks), K(block_size) {
    std::mt19937_64 generator(seed);
    const auto draw = [&](std::vector<std::uint32_t>& to, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) to.push_back(std::uint32_t(generator() % Modular::prime));
    };
    draw(a, T * B * blocks * K * K);
    draw(b, T * B * blocks * K);
    draw(y0, B * blocks * K);
  }

  std::vector<std::uint32_t> loop() const {
    const std::int64_t width = B * blocks * K;
    std::vector<std::uint32_t> y, state = y0;
    for (std::int64_t t = 0; t < T; ++t) {
      std::vector<std::uint32_t> next(state.size());
      for (std::int64_t c = 0; c < B * blocks; ++c) {
        for (int r = 0; r < K; ++r) {
          std::uint64_t sum = b[std::size_t(t * width + c * K + r)];
          for (int k = 0; k < K; ++k) {
            sum += std::uint64_t(a[std::size_t(((t * B * blocks + c) * K + r) * K + k)]) *
                   state[std::size_t(c * K + k)];
          }
          next[std::size_t(c * K + r)] = static_cast<std::uint32_t>(sum % Modular::prime);
        }
      }
      state = next;
      y.insert(y.end(), state.begin(), state.end());
    }
    return y;
  }

  using Numbers = Kokkos::View<Modular*, Memory>;
  static Numbers on_device(const std::vector<std::uint32_t>& numbers) {
    const Numbers out("test::numbers", numbers.size());
    const auto host = Kokkos::create_mirror_view(out);
    for (std::size_t i = 0; i < numbers.size(); ++i) host(i).value = numbers[i];
    Kokkos::deep_copy(out, host);
    return out;
  }

  std::vector<std::uint32_t> solve(const elaphos::LinearOptions& options) const {
    const auto a_view = on_device(a), b_view = on_device(b), y0_view = on_device(y0);
    const Numbers y("test::y", b.size());
    elaphos::impl::LinearProblem<Modular> problem;
    problem.a = {a_view.data(), B * blocks * K * K, blocks * K * K, std::int64_t(K) * K, K, 1};
    problem.b = b_view.data();
    problem.y0 = y0_view.data();
    problem.y = y.data();
    problem.steps = T;
    problem.batch = B;
    problem.blocks = blocks;
    problem.block_size = K;
    elaphos::Workspace<Exec> workspace;
    elaphos::impl::solve_linear<Exec, Modular>(Exec(), problem, options, workspace);
    Exec().fence();
    std::vector<std::uint32_t> out;
    for (const Modular number : test::to_host(y)) out.push_back(number.value);
    return out;
  }
};

std::vector<elaphos::LinearPlan> plans(const Problem& problem) {
  using elaphos::LinearPlan;
  std::vector<LinearPlan> out = {LinearPlan::automatic, LinearPlan::by_channel, LinearPlan::tiled,
                                 LinearPlan::team_per_tile};
#if defined(KOKKOS_ENABLE_CUDA)
  const bool one_channel = problem.B == 1 && problem.blocks == 1;
  if (problem.K == 1 || (problem.K <= 4 && one_channel)) out.push_back(LinearPlan::single_pass);
#else
  (void)problem;
#endif
  return out;
}

void check(const Problem& problem) {
  const auto expected = problem.loop();
  for (const auto plan : plans(problem)) {
    elaphos::LinearOptions options;
    options.plan = plan;
    options.scan_tile = test::fitting_tile(sizeof(Modular), 256, static_cast<int>(problem.blocks), problem.K);
    if (options.scan_tile == 0) continue;  // not even a step fits
    CAPTURE(problem.T, problem.B, problem.blocks, problem.K, to_string(plan));
    CHECK(test::different_bits(problem.solve(options), expected) == 0);
  }
}

}  // namespace

TEST_CASE("order: 2 x 2 matrices modulo a prime, at any length") {
  for (const std::int64_t T : {1, 2, 3, 31, 32, 33, 255, 256, 257, 1000, 10'000, 65'537, 1'000'000}) {
    check({T, 1, 1, 2, static_cast<std::uint64_t>(T)});
  }
}

TEST_CASE("order: three million steps and more") {
  check({3'000'000, 1, 1, 2, 1});
  check({4'000'037, 1, 1, 1, 2});
}

TEST_CASE("order: every block size, batches, channels") {
  for (const int K : {1, 2, 3, 4, 5, 8}) {
    for (const std::int64_t T : {3, 257, 5000}) {
      check({T, 1, 1, K, 3});
      check({T, 3, 1, K, 4});
      check({T, 2, 17, K, 5});
    }
  }
}

TEST_CASE("order: wide blocks") {
  for (const int K : {9, 16, 17, 31, 32, 33, 64, 65, 100, 128}) {
    for (const std::int64_t T : {1, 2, 257}) check({T, 1, 1, K, 7});
    check({40, 3, 2, K, 8});
  }
  // Long enough for several levels of tiles.
  check({20'000, 1, 1, 8, 9});
  check({20'000, 1, 1, 13, 9});
  check({9000, 1, 1, 16, 9});
  check({4000, 1, 1, 32, 9});
}

TEST_CASE("order: composed maps") {
  using elaphos::impl::LinearProblem;
  for (const auto& [T, K] : {std::pair<std::int64_t, int>{1, 2}, {3, 2}, {256, 2}, {257, 2}, {10'000, 2}, {300'000, 2},
                             {1, 5}, {3000, 7}, {1, 32}, {1500, 32}, {700, 50}, {300, 128}}) {
    const std::int64_t k = K;
    const Problem problem(T, 2, 1, K, 6);
    const auto a = Problem::on_device(problem.a), b = Problem::on_device(problem.b);
    const Problem::Numbers A_all("test::A_all", std::size_t(2 * k * k)), b_all("test::b_all", std::size_t(2 * k));
    LinearProblem<Modular> linear;
    linear.a = {a.data(), 2 * k * k, k * k, k * k, k, 1};
    linear.b = b.data();
    linear.steps = T;
    linear.batch = 2;
    linear.blocks = 1;
    linear.block_size = K;
    CAPTURE(T, K);
    elaphos::Workspace<Exec> workspace;
    elaphos::impl::compose_linear<Exec, Modular>(Exec(), linear, A_all.data(), b_all.data(), workspace);
    Exec().fence();
    // Applied to the start, the composed map gives the loop's end.
    const auto maps = test::to_host(A_all), offsets = test::to_host(b_all);
    const auto states = problem.loop();
    const std::size_t width = std::size_t(K);
    for (std::size_t c = 0; c < 2 * width; ++c) {
      const std::size_t first = c / width * width;
      std::uint64_t sum = offsets[c].value;
      for (std::size_t i = 0; i < width; ++i) sum += std::uint64_t(maps[width * c + i].value) * problem.y0[first + i];
      CHECK(sum % Modular::prime == states[states.size() - 2 * width + c]);
    }
  }
}
