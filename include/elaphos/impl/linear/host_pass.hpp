// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_HOST_PASS_HPP
#define ELAPHOS_IMPL_LINEAR_HOST_PASS_HPP

#include <elaphos/impl/linear/host_bundle.hpp>
#include <elaphos/impl/linear/linear_memory.hpp>
#include <elaphos/impl/linear/linear_problem.hpp>
#include <elaphos/workspace.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

// One channel of one number on a host. A thread takes bundles of tiles that its own cache holds: it folds a bundle's
// tiles side by side, and walks them when the state in front is known. The first thread does both from the start on, one
// after the other while the bundle is in its cache, with 3 words a step from and to memory. The others fold bundles
// further behind meanwhile, 2 words a step, and put aside the tiles' maps, until all states in front of bundles can be
// known; then all walk what is left, 3 words a step.
//
// (One pass by all threads, which handed on states from bundle to bundle, took up to fifty times as long where other
// programs wanted the processors: each thread waited for the one whose processor was taken away.)

template <class Scalar>
struct HostPass {
  using Map = AffineMap<Scalar, 1>;
  using Bundle = HostBundle<Scalar>;
  static constexpr int tiles = Bundle::tiles;
  LinearProblem<Scalar> problem;
  std::int64_t tile_steps;
  std::int64_t bundles;  ///< all complete; steps behind them are walked one by one
  std::int64_t done;     ///< bundles that the first thread walks alone
  int threads;
  Map* maps;       ///< of bundles behind those
  Map* tile_maps;  ///< of those bundles' tiles
  Scalar* fronts;  ///< states in front of bundles, and behind the last

  struct Begin {};
  struct Join {};
  struct End {};

  /// What thread `r` does first.
  void operator()(Begin, std::int64_t r) const {
    if (r == 0) {
      fronts[0] = problem.y0 == nullptr ? Scalar(0) : problem.y0[0];
      for (std::int64_t k = 0; k < done; ++k) {
        Map own[tiles];
        Scalar behind[1] = {fronts[k]};
        fold(k, own).leap(behind, problem.packed);  // as `Join` would find it
        walk(k, own, k + 1 < done, fronts[k]);
        fronts[k + 1] = behind[0];
      }
    } else {
      const std::int64_t left = bundles - done, share = threads - 1;
      for (std::int64_t k = done + left * (r - 1) / share; k < done + left * r / share; ++k) {
        maps[k - done] = fold(k, tile_maps + (k - done) * tiles);
      }
    }
  }

  void operator()(Join, std::int64_t) const {
    for (std::int64_t k = done; k < bundles; ++k) {
      Scalar state[1] = {fronts[k]};
      maps[k - done].leap(state, problem.packed);
      fronts[k + 1] = state[0];
    }
  }

  /// What thread `r` does at last.
  void operator()(End, std::int64_t r) const {
    const std::int64_t left = bundles - done, end = done + left * (r + 1) / threads;
    for (std::int64_t k = done + left * r / threads; k < end; ++k) {
      walk(k, tile_maps + (k - done) * tiles, k + 1 < end, fronts[k]);
    }
    if (r == threads - 1) walk_rest();
  }

 private:
  std::int64_t first_step(std::int64_t bundle) const { return bundle * tiles * tile_steps; }

  /// The map of a bundle, and those of its tiles.
  Map fold(std::int64_t bundle, Map* own) const {
    Scalar product[tiles], offset[tiles];
    Bundle(problem, first_step(bundle), tile_steps).fold(tile_steps, product, offset);
    Map all;
    all.set_identity();
    for (int j = 0; j < tiles; ++j) {
      own[j] = {{{product[j]}}, {offset[j]}};
      if (own[j].has_nan()) own[j] = fold_again(first_step(bundle) + j * tile_steps);
      all = compose(all, own[j], problem.packed);
    }
    return all;
  }

  /// Walks a bundle whose tiles have the maps `own`.
  void walk(std::int64_t bundle, const Map* own, bool another, const Scalar& front) const {
    Scalar entry[1] = {front}, state[tiles];
    for (int j = 0; j < tiles; ++j) {
      state[j] = entry[0];
      own[j].leap(entry, problem.packed);
    }
    Bundle(problem, first_step(bundle), tile_steps).walk(tile_steps, state, another ? first_step(bundle + 1) : -1);
    const bool last = first_step(bundle + 1) == problem.steps;
    if (last && problem.end != nullptr) problem.end[0] = state[tiles - 1];
  }

  // Rare: products in which a zero wins over an infinity.
  Map fold_again(std::int64_t first) const {
    const ChannelReader<Scalar, 1> reader(problem, 0);
    Map total;
    total.set_identity();
    for (std::int64_t p = first; p < first + tile_steps; ++p) total = compose(total, reader.map(p), problem.packed);
    return total;
  }

  void walk_rest() const {
    if (first_step(bundles) == problem.steps) return;
    const ChannelReader<Scalar, 1> reader(problem, 0);
    Scalar state[1] = {fronts[bundles]};
    for (std::int64_t p = first_step(bundles); p < problem.steps; ++p) {
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
  using Kernel = HostPass<Scalar>;

  static bool possible(const Problem& problem) {
    return HostBundle<Scalar>::possible(problem) && problem.y != nullptr && problem.steps > 0;
  }

  static void solve(const ExecutionSpace& exec, const Problem& problem, Workspace<ExecutionSpace>& workspace) {
    const std::int64_t threads = exec.concurrency();
    // Some bundles for each thread where there are so many steps.
    const std::int64_t steps = problem.steps / (8 * threads * Kernel::tiles);
    const std::int64_t tile_steps =
        HostBundle<Scalar>::tile_steps_apart(std::clamp<std::int64_t>(steps, 32, most_tile_steps));
    const std::int64_t bundles = problem.steps / (tile_steps * Kernel::tiles);
    // So many that the first thread is ready when the others are: folding takes `fold_share` of what both take, as
    // measured.
    const double share = fold_share / (static_cast<double>(threads - 1) + fold_share);
    const auto done = static_cast<std::int64_t>(share * static_cast<double>(bundles));
    const std::size_t fronts = static_cast<std::size_t>(bundles) + 1;
    const auto apart = static_cast<std::size_t>(bundles - done);
    auto* const memory = reserve_linear<Scalar>(exec, workspace, fronts + 2 * apart * (1 + Kernel::tiles));
    auto* const maps = reinterpret_cast<typename Kernel::Map*>(memory + fronts);
    const Kernel kernel{problem, tile_steps, bundles, done, static_cast<int>(threads), maps, maps + apart, memory};
    launch<typename Kernel::Begin>(exec, "Elaphos::linear_fold", threads, kernel);
    if (done < bundles) launch<typename Kernel::Join>(exec, "Elaphos::linear_join", 1, kernel);
    launch<typename Kernel::End>(exec, "Elaphos::linear_walk", threads, kernel);
  }

 private:
  // A bundle's numbers take an eighth of half a megabyte's cache, and the next bundle's as much.
  static constexpr std::int64_t most_tile_steps = std::int64_t(4160 / sizeof(Scalar));
  static constexpr double fold_share = 0.55;

  template <class Tag>
  static void launch(const ExecutionSpace& exec, const char* label, std::int64_t count, const Kernel& kernel) {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>, Tag>;
    Kokkos::parallel_for(label, Policy(exec, 0, count), kernel);
  }
};

}  // namespace elaphos::impl

#endif
