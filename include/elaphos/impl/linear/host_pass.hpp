// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_PASS_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_PASS_HPP

#include <elaphos/impl/linear/host_bundle.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <thread>

namespace elaphos::impl {

// One channel of one number on a host, in one pass over memory. A thread draws a bundle of tiles that its own cache
// holds, folds it, waits for the state in front of it, hands on the state behind it, and walks it from the cache, while
// its next bundle is read. Bundles are drawn in order and waited for by later ones alone, and a thread that has drawn one
// runs on; so nobody waits in vain, however many threads run at a time. Bits repeat on any number of threads that cuts
// time alike: states are handed on from bundle to bundle, whoever folded it.

/// What the threads of a pass share: which bundle is next, and the state in front of the first that has not had it.
template <class Scalar>
struct HostChain {
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<std::int64_t> known{0};
  Scalar front;

  explicit HostChain(const Scalar& first) : front(first) {}

  void wait_for(std::int64_t bundle) const {
    // A little while at once: then others may want this thread's processor, perhaps even the one that is waited for.
    for (int round = 0; known.load(std::memory_order_acquire) != bundle; ++round) {
      if (round > 1000) std::this_thread::yield();
    }
  }
};

template <class Scalar>
struct StartHostChain {
  LinearProblem<Scalar> problem;
  HostChain<Scalar>* chain;
  void operator()(std::int64_t) const { new (chain) HostChain<Scalar>(problem.y0 == nullptr ? Scalar(0) : problem.y0[0]); }
};

/// Reads 2 words a step and writes 1.
template <class Scalar>
struct HostPass {
  using Map = AffineMap<Scalar, 1>;
  using Bundle = HostBundle<Scalar>;
  static constexpr int tiles = Bundle::tiles;
  LinearProblem<Scalar> problem;
  std::int64_t tile_steps;
  HostChain<Scalar>* chain;

  void operator()(std::int64_t) const {
    const std::int64_t bundle_steps = tiles * tile_steps, whole = problem.steps / bundle_steps;
    const std::int64_t bundles = whole + (whole * bundle_steps < problem.steps ? 1 : 0);
    for (std::int64_t bundle = draw(), next = 0; bundle < bundles; bundle = next) {
      const std::int64_t first = bundle * bundle_steps;
      if (bundle == whole) {
        chain->wait_for(bundle);
        return walk_rest(first);
      }
      next = draw();
      walk_bundle(bundle, first, next < whole ? next * bundle_steps : -1);
    }
  }

 private:
  std::int64_t draw() const { return chain->next.fetch_add(1, std::memory_order_relaxed); }

  void walk_bundle(std::int64_t bundle, std::int64_t first, std::int64_t next_first) const {
    const Bundle some(problem, first, tile_steps);
    Scalar product[tiles], offset[tiles], state[tiles];
    some.fold(tile_steps, product, offset);
    Map maps[tiles], all;
    all.set_identity();
    for (int j = 0; j < tiles; ++j) {
      maps[j] = {{{product[j]}}, {offset[j]}};
      if (maps[j].has_nan()) maps[j] = fold_again(first + j * tile_steps);
      all = compose(all, maps[j], problem.packed);
    }
    chain->wait_for(bundle);
    Scalar front[1] = {chain->front}, behind[1] = {front[0]};
    all.leap(behind, problem.packed);
    chain->front = behind[0];
    chain->known.store(bundle + 1, std::memory_order_release);
    for (int j = 0; j < tiles; ++j) {
      state[j] = front[0];
      maps[j].leap(front, problem.packed);
    }
    some.walk(tile_steps, state, next_first);
    if (first + tiles * tile_steps == problem.steps && problem.end != nullptr) problem.end[0] = state[tiles - 1];
  }

  // Rare: products in which a zero wins over an infinity.
  Map fold_again(std::int64_t first) const {
    const ChannelReader<Scalar, 1> reader(problem, 0);
    Map total;
    total.set_identity();
    for (std::int64_t p = first; p < first + tile_steps; ++p) total = compose(total, reader.map(p), problem.packed);
    return total;
  }

  void walk_rest(std::int64_t first) const {
    const ChannelReader<Scalar, 1> reader(problem, 0);
    Scalar state[1] = {chain->front};
    for (std::int64_t p = first; p < problem.steps; ++p) {
      reader.advance(reader.map(p), state);
      reader.write(p, state);
    }
    reader.write_end(state);
  }
};

/// Runs `HostPass`.
template <class ExecutionSpace, class Scalar>
class HostPassSolver {
 public:
  using Problem = LinearProblem<Scalar>;

  static bool possible(const Problem& problem) {
    return HostBundle<Scalar>::possible(problem) && problem.y != nullptr && problem.steps > 0;
  }

  static void solve(const ExecutionSpace& exec, const Problem& problem, Workspace<ExecutionSpace>& workspace) {
    const std::int64_t threads = exec.concurrency();
    // A few bundles for each thread where there are so many steps.
    const std::int64_t steps = problem.steps / (4 * threads * HostBundle<Scalar>::tiles);
    const std::int64_t tile_steps =
        HostBundle<Scalar>::tile_steps_apart(std::clamp<std::int64_t>(steps, 32, most_tile_steps));
    auto* const chain = reserve_linear<HostChain<Scalar>>(exec, workspace, 1);
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("Elaphos::linear_start_chain", Policy(exec, 0, 1), StartHostChain<Scalar>{problem, chain});
    Kokkos::parallel_for("Elaphos::linear_host_pass", Policy(exec, 0, threads),
                         HostPass<Scalar>{problem, tile_steps, chain});
  }

 private:
  // A bundle's numbers take a quarter of half a megabyte's cache, and the next bundle's as much.
  static constexpr std::int64_t most_tile_steps = std::int64_t(8320 / sizeof(Scalar) / 2);
};

}  // namespace elaphos::impl

#endif
