// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_SOLVER_NODE_SCAN_HPP
#define ELAPHOS_SRC_SOLVER_NODE_SCAN_HPP

#include "../execution_spaces.hpp"
#include "node_arguments.hpp"

#include <elaphos/impl/scalar.hpp>

#include <cmath>
#include <cstdint>

namespace elaphos::impl {

// The linear recurrence over nodes, delta_{n+1} = M_n delta_n + r_n with delta_0 = 0, in delta form: r_n is the
// mismatch at node n+1, and M_n counts as 0 up to the frontier, where delta is 0 anyway and only overflow could enter.
//
// Composition of such maps does not commute, so Kokkos::parallel_scan, which regroups freely on devices, is of no use.
// Three kernels with a fixed order instead, combine(earlier, later): the composed map of each tile of nodes, a walk over
// the tiles' maps, then each tile from its known entry. The tile length depends on N alone, so that bits repeat.

/// Number of nodes a tile; about sqrt(N), so that both walks are equally long. One tile where N is small.
inline std::int64_t node_tile(std::int64_t segments) {
  if (segments <= 64) return segments;
  return static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(segments))));
}

inline std::int64_t node_tiles(std::int64_t segments) {
  return (segments + node_tile(segments) - 1) / node_tile(segments);
}

/// One past the last map of tile k; there are N - 1 maps, from each node but the last to the next one.
template <class Scalar>
KOKKOS_INLINE_FUNCTION std::int64_t end_of_tile(const NodeArguments<Scalar>& nodes, std::int64_t tile,
                                                std::int64_t k) {
  const std::int64_t end = (k + 1) * tile, maps = nodes.segments.segments - 1;
  return end < maps ? end : maps;
}

/// Diagonal sensitivities (K = 1) and those in blocks of K: every block of a sequence is a recurrence of its own, and a
/// lane's; neighbouring lanes take neighbouring blocks. Per node and block K^2 + 2 K words in, K out; K^3 multiply-adds
/// for the totals, K^2 to apply.
template <class Scalar, int K>
struct BlockNodeScan {
  static constexpr int columns = K + 1;
  NodeArguments<Scalar> nodes;
  std::int64_t tile;
  std::int64_t tiles;

  struct TileTotals {};
  struct ScanTotals {};
  struct Apply {};

  KOKKOS_FUNCTION std::int64_t lanes() const { return nodes.batch() * nodes.state_size() / K; }
  // The map of a tile, (product, offset), row by row; then its entry delta in place of the offset.
  KOKKOS_FUNCTION Scalar& total(std::int64_t k, int i, int j, std::int64_t lane) const {
    return nodes.scan_totals[((k * K + i) * columns + j) * lanes() + lane];
  }

  KOKKOS_FUNCTION std::int64_t sequence(std::int64_t lane) const { return lane / (nodes.state_size() / K); }
  KOKKOS_FUNCTION int state(std::int64_t lane, int k) const {
    return nodes.blocks.state(static_cast<int>(lane % (nodes.state_size() / K)), k);
  }
  KOKKOS_FUNCTION Scalar sensitivity(std::int64_t n, std::int64_t lane, int i, int j) const {
    if (n <= nodes.frontier[sequence(lane)]) return Scalar(0);
    return nodes.segments.sensitivities[((n * lanes() + lane) * K + i) * K + j];
  }

  KOKKOS_FUNCTION void operator()(TileTotals, std::int64_t index) const {
    const std::int64_t k = index / lanes(), lane = index % lanes();
    Scalar map[K][columns], before[K][columns];
    for (int i = 0; i < K; ++i) {
      for (int j = 0; j < columns; ++j) map[i][j] = i == j ? Scalar(1) : Scalar(0);
    }
    for (std::int64_t n = k * tile; n < end_of_tile(nodes, tile, k); ++n) {
      for (int i = 0; i < K; ++i) {
        for (int j = 0; j < columns; ++j) before[i][j] = map[i][j];
      }
      for (int i = 0; i < K; ++i) {
        for (int j = 0; j < columns; ++j) map[i][j] = Scalar(0);
        for (int e = 0; e < K; ++e) {
          const Scalar factor = sensitivity(n, lane, i, e);
          for (int j = 0; j < columns; ++j) map[i][j] += zero_safe_product(factor, before[e][j]);
        }
        map[i][K] += nodes.mismatch(n, sequence(lane), state(lane, i));
      }
    }
    for (int i = 0; i < K; ++i) {
      for (int j = 0; j < columns; ++j) total(k, i, j, lane) = map[i][j];
    }
  }

  KOKKOS_FUNCTION void operator()(ScanTotals, std::int64_t lane) const {
    Scalar delta[K] = {};
    for (std::int64_t k = 0; k < tiles; ++k) {
      Scalar entry[K];
      for (int i = 0; i < K; ++i) entry[i] = delta[i];
      for (int i = 0; i < K; ++i) {
        Scalar sum = 0;
        for (int j = 0; j < K; ++j) sum += zero_safe_product(total(k, i, j, lane), entry[j]);
        delta[i] = sum + total(k, i, K, lane);
      }
      for (int i = 0; i < K; ++i) total(k, i, K, lane) = entry[i];
    }
  }

  KOKKOS_FUNCTION void operator()(Apply, std::int64_t index) const {
    const std::int64_t k = index / lanes(), lane = index % lanes(), b = sequence(lane);
    Scalar delta[K], carried[K];
    for (int i = 0; i < K; ++i) delta[i] = tiles == 1 ? Scalar(0) : total(k, i, K, lane);
    for (std::int64_t n = k * tile; n < end_of_tile(nodes, tile, k); ++n) {
      for (int i = 0; i < K; ++i) {
        carried[i] = Scalar(0);
        for (int j = 0; j < K; ++j) carried[i] += zero_safe_product(sensitivity(n, lane, i, j), delta[j]);
      }
      for (int i = 0; i < K; ++i) {
        const int d = state(lane, i);
        nodes.corrections[((n + 1) * nodes.batch() + b) * nodes.state_size() + d] = carried[i];
        delta[i] = carried[i] + nodes.mismatch(n, b, d);
      }
    }
  }
};

/// Dense sensitivities: a team per (tile, b), its lanes over rows. Per node D^2 + 2 D words in; D^3 multiply-adds for
/// the totals, D^2 to apply.
template <class ExecutionSpace, class Scalar>
struct DenseNodeScan {
  using Member = typename Kokkos::TeamPolicy<ExecutionSpace>::member_type;

  NodeArguments<Scalar> nodes;
  std::int64_t tile;
  std::int64_t tiles;

  struct TileTotals {};
  struct ScanTotals {};
  struct Apply {};

  // A tile's workspace: two maps (D, D + 1), in turn; the offset is the last column. Rows are row-major.
  KOKKOS_FUNCTION std::int64_t map_size() const { return std::int64_t(nodes.state_size()) * (nodes.state_size() + 1); }
  KOKKOS_FUNCTION Scalar* map(std::int64_t k, std::int64_t b, int half) const {
    return nodes.scan_totals + ((k * nodes.batch() + b) * 2 + half) * map_size();
  }
  KOKKOS_FUNCTION Scalar sensitivity(std::int64_t n, std::int64_t b, int i, int j) const {
    if (n <= nodes.frontier[b]) return Scalar(0);
    const int D = nodes.state_size();
    return nodes.segments.sensitivities[((n * nodes.batch() + b) * D + i) * D + j];
  }

  KOKKOS_FUNCTION void operator()(TileTotals, const Member& member) const {
    const std::int64_t k = member.league_rank() / nodes.batch(), b = member.league_rank() % nodes.batch();
    const int D = nodes.state_size(), columns = D + 1;
    if (end_of_tile(nodes, tile, k) <= nodes.frontier[b]) {
      // All of it is exact: the map to zero, without the D^3 work.
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D * columns), [&](int e) { map(k, b, 0)[e] = Scalar(0); });
      return;
    }
    int half = 0;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D * columns), [&](int e) {
      map(k, b, half)[e] = e / columns == e % columns ? Scalar(1) : Scalar(0);
    });
    member.team_barrier();
    for (std::int64_t n = k * tile; n < end_of_tile(nodes, tile, k); ++n) {
      const Scalar* before = map(k, b, half);
      Scalar* after = map(k, b, 1 - half);
      // Rows over threads, columns over vector lanes: the innermost loop is contiguous on hosts and devices alike.
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
        Scalar* row = after + i * columns;
        const Scalar offset = nodes.mismatch(n, b, i);
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, columns),
                             [&](int c) { row[c] = c == D ? offset : Scalar(0); });
        for (int j = 0; j < D; ++j) {
          const Scalar factor = sensitivity(n, b, i, j);
          if (factor == Scalar(0)) continue;
          const Scalar* from = before + j * columns;
          Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, columns),
                               [&](int c) { row[c] += zero_safe_product(factor, from[c]); });
        }
      });
      half = 1 - half;
      member.team_barrier();
    }
    if (half == 1) {
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D * columns),
                           [&](int e) { map(k, b, 0)[e] = map(k, b, 1)[e]; });
    }
  }

  // Leaves each tile's entry delta in the last column of its second map.
  KOKKOS_FUNCTION void operator()(ScanTotals, const Member& member) const {
    const std::int64_t b = member.league_rank();
    const int D = nodes.state_size(), columns = D + 1;
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) { entry(0, b, i) = Scalar(0); });
    member.team_barrier();
    for (std::int64_t k = 0; k + 1 < tiles; ++k) {
      const Scalar* total = map(k, b, 0);
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
        Scalar sum = total[i * columns + D];
        for (int j = 0; j < D; ++j) sum += zero_safe_product(total[i * columns + j], entry(k, b, j));
        entry(k + 1, b, i) = sum;
      });
      member.team_barrier();
    }
  }

  KOKKOS_FUNCTION Scalar& entry(std::int64_t k, std::int64_t b, int i) const {
    return map(k, b, 1)[std::int64_t(i) * (nodes.state_size() + 1) + nodes.state_size()];
  }

  // delta walks through the tile in the entry column and, in turn, a column of the first map.
  KOKKOS_FUNCTION void operator()(Apply, const Member& member) const {
    const std::int64_t k = member.league_rank() / nodes.batch(), b = member.league_rank() % nodes.batch();
    const int D = nodes.state_size();
    Scalar* delta = map(k, b, 0);
    Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D),
                         [&](int i) { delta[i] = tiles == 1 ? Scalar(0) : entry(k, b, i); });
    member.team_barrier();
    int half = 0;
    for (std::int64_t n = k * tile; n < end_of_tile(nodes, tile, k); ++n) {
      const Scalar* before = delta + half * D;
      Scalar* after = delta + (1 - half) * D;
      Kokkos::parallel_for(Kokkos::TeamThreadRange(member, D), [&](int i) {
        Scalar carried = 0;
        for (int j = 0; j < D; ++j) carried += zero_safe_product(sensitivity(n, b, i, j), before[j]);
        nodes.corrections[((n + 1) * nodes.batch() + b) * D + i] = carried;
        after[i] = carried + nodes.mismatch(n, b, i);
      });
      half = 1 - half;
      member.team_barrier();
    }
  }
};

/// Numbers that the scan keeps for its tiles.
template <class Scalar>
std::size_t node_scan_entries(Sensitivity sensitivity, JacobianBlocks blocks, std::int64_t segments, std::int64_t batch,
                              int state_size) {
  const std::int64_t states = node_tiles(segments) * batch * state_size;
  // A dense map never has fewer numbers than the two states that Apply alternates between.
  return static_cast<std::size_t>(states * (sensitivity == Sensitivity::dense ? 2 * (state_size + 1) : blocks.size + 1));
}

/// One that walks tiles of nodes: by totals first where there is more than one.
template <class Scan, class Launch>
void launch_node_scan(std::int64_t tiles, std::int64_t lanes, const Launch& launch) {
  if (tiles > 1) {
    launch("Elaphos::node_scan_tile_totals", typename Scan::TileTotals{}, tiles * lanes);
    launch("Elaphos::node_scan_totals", typename Scan::ScanTotals{}, lanes);
  }
  launch("Elaphos::node_scan_apply", typename Scan::Apply{}, tiles * lanes);
}

template <int K, class ExecutionSpace, class Scalar>
void scan_node_blocks(const ExecutionSpace& exec, const NodeArguments<Scalar>& nodes) {
  const std::int64_t tile = node_tile(nodes.segments.segments), tiles = node_tiles(nodes.segments.segments);
  const BlockNodeScan<Scalar, K> scan{nodes, tile, tiles};
  launch_node_scan<BlockNodeScan<Scalar, K>>(
      tiles, scan.lanes(), [&]<class Tag>(const char* label, Tag, std::int64_t count) {
        using Policy = Kokkos::RangePolicy<ExecutionSpace, Tag, Kokkos::IndexType<std::int64_t>>;
        Kokkos::parallel_for(label, Policy(exec, 0, count), scan);
      });
}

/// Enqueues the kernels that fill `nodes.corrections` for nodes 1..N-1.
template <class ExecutionSpace, class Scalar>
void scan_nodes(const ExecutionSpace& exec, const NodeArguments<Scalar>& nodes) {
  if (nodes.segments.sensitivity != Sensitivity::dense) {
    switch (nodes.blocks.size) {
      case 1: return scan_node_blocks<1>(exec, nodes);
      case 2: return scan_node_blocks<2>(exec, nodes);
      case 3: return scan_node_blocks<3>(exec, nodes);
      default: return scan_node_blocks<4>(exec, nodes);
    }
  }
  using Scan = DenseNodeScan<ExecutionSpace, Scalar>;
  const std::int64_t tile = node_tile(nodes.segments.segments), tiles = node_tiles(nodes.segments.segments);
  const Scan scan{nodes, tile, tiles};
  constexpr int vector_length = runs_on_host<ExecutionSpace> ? 1 : 8;
  launch_node_scan<Scan>(tiles, nodes.batch(), [&]<class Tag>(const char* label, Tag, std::int64_t teams) {
    using Policy = Kokkos::TeamPolicy<ExecutionSpace, Tag>;
    Kokkos::parallel_for(label, Policy(exec, static_cast<int>(teams), Kokkos::AUTO, vector_length), scan);
  });
}

}  // namespace elaphos::impl

#endif
