// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <elaphos/impl/linear/team_per_tile.hpp>
#include <elaphos/linear_options.hpp>

namespace elaphos {

std::size_t team_per_tile_scratch_bytes(std::size_t scalar_bytes, int scan_tile, int blocks, int block_size) {
  return scalar_bytes * impl::TileScratchLayout{scan_tile, blocks, block_size}.entries();
}

std::string to_string(Direction direction) { return direction == Direction::forward ? "forward" : "reverse"; }

std::string to_string(LinearPlan plan) {
  switch (plan) {
    case LinearPlan::automatic: return "automatic";
    case LinearPlan::by_channel: return "by_channel";
    case LinearPlan::tiled: return "tiled";
    case LinearPlan::single_pass: return "single_pass";
    case LinearPlan::team_per_tile: return "team_per_tile";
  }
  return "unknown";
}

}  // namespace elaphos
