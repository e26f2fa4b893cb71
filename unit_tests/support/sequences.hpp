// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_SEQUENCES_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_SEQUENCES_HPP

#include "layers.hpp"

#include <elaphos/elaphos.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

namespace test {

/// Where packed sequences begin and end, and masks and resets (T, B).
using Offsets = Kokkos::View<std::int64_t*, Memory>;
using Flags = Kokkos::View<bool**, Kokkos::LayoutRight, Memory>;

inline Flags flags_on_device(const std::vector<bool>& flags, std::int64_t T, std::int64_t B) {
  Flags out("test::flags", static_cast<std::size_t>(T), static_cast<std::size_t>(B));
  auto host = Kokkos::create_mirror_view(out);
  for (std::size_t i = 0; i < flags.size(); ++i) host.data()[i] = flags[i];
  Kokkos::deep_copy(out, host);
  return out;
}

inline Layer layer_of(CellKind kind, int D, int I, std::uint64_t seed) {
  std::mt19937_64 generator(seed);
  return random_layer(kind, D, I, generator);
}

/// Solves into y, which held no number before.
template <class Scalar>
elaphos::SolveReport solve_layer(const Layer& layer, const auto& y0, const auto& x, const auto& y,
                                 const elaphos::SolveOptions& options) {
  Kokkos::deep_copy(y, Scalar(NAN));
  const auto weights = weights_on_device<Scalar>(layer);
  if (layer.kind == CellKind::elman) return elaphos::solve(Exec(), elaphos::Elman(weights), y0, x, y, options);
  if (layer.kind == CellKind::gru) return elaphos::solve(Exec(), elaphos::Gru(weights), y0, x, y, options);
  return elaphos::solve(Exec(), elaphos::Lstm(weights), y0, x, y, options);
}

}  // namespace test

#endif
