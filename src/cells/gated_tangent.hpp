// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_TANGENT_HPP
#define ELAPHOS_SRC_CELLS_GATED_TANGENT_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace elaphos::impl {

/// body(0), ..., body(count - 1). Unrolled by hand: compilers make vector code of a loop over units only when it holds
/// no other loop.
template <int count, class Body>
void unrolled(const Body& body) {
  [&]<int... i>(std::integer_sequence<int, i...>) { (body(std::integral_constant<int, i>()), ...); }
  (std::make_integer_sequence<int, count>());
}

/// Derivatives of a step, unit index fastest, as `Gates::partials` names them. What late gates multiply is a row like
/// those of the states, behind them.
template <class Gates, class Scalar, int Width>
struct GatedPartials {
  static constexpr int gates = Gates::count, states = Gates::states, early = gates - Gates::late;
  alignas(64) Scalar by_gate[states + Gates::late][gates][Width];
  alignas(64) Scalar direct[states + Gates::late][states][Width];

  /// d next[s] / d own[r] of one unit: what no other unit has a part in.
  template <int s, int r>
  Scalar own(const PackedWeights<Scalar>& packed, int unit) const {
    Scalar entry = direct[s][r][unit];
    if constexpr (r == 0) {
      unrolled<early>([&](auto g) { entry += by_gate[s][g][unit] * packed.hidden_diagonal[g * Width + unit]; });
    }
    if constexpr (Gates::late > 0) entry += by_gate[s][early][unit] * late<r>(packed, unit);
    return entry;
  }

 private:
  // d (W `between`)[unit] / d own[r] of the late gate: over all units k that the unit sees, since each k sees it.
  template <int r>
  Scalar late(const PackedWeights<Scalar>& packed, int unit) const {
    const std::int64_t H = packed.hidden_size, K = packed.head_size;
    if (unit >= H) return Scalar(0);
    Scalar sum = packed.hidden_diagonal[early * Width + unit] * direct[states][r][unit];
    if constexpr (r == 0) {
      const std::int64_t first = unit - unit % K;
      for (std::int64_t k = 0; k < K; ++k) {
        Scalar seen = 0;
        unrolled<early>([&](auto g) {
          seen += by_gate[states][g][first + k] * packed.hidden_rows[(g * H + first + k) * K + unit % K];
        });
        sum += packed.hidden_weights[(k * gates + early) * Width + unit] * seen;
      }
    }
    return sum;
  }
};

/// The derivative of the current state with respect to the segment's node, on one thread.
///
/// `diagonal`: a number a state, (states, Width). `block`: a matrix a unit, (states, states, Width). `dense`: row-major
/// with padded units, (states, Width, states, Width); per step it costs states^2 H^3 multiply-adds for the product and
/// states G H^2 for the Jacobian, in which only the columns of h couple units; a late gate 2 states H^3 more.
template <class Gates, class Scalar, int Width, Sensitivity Carried>
class GatedTangent {
  static constexpr int gates = Gates::count, states = Gates::states;
  static constexpr int columns = states * Width;  // of the dense product
  static constexpr int product_rows = (states + Gates::late) * Width;
  using Partials = GatedPartials<Gates, Scalar, Width>;

 public:
  GatedTangent() {
    if constexpr (Carried == Sensitivity::diagonal) {
      for (int i = 0; i < entries; ++i) value[i] = Scalar(1);
    } else if constexpr (Carried == Sensitivity::block) {
      for (int i = 0; i < entries; ++i) value[i] = i / Width % (states + 1) == 0 ? Scalar(1) : Scalar(0);
    } else if constexpr (Carried == Sensitivity::dense) {
      for (int i = 0; i < entries; ++i) value[i] = i % (columns + 1) == 0 ? Scalar(1) : Scalar(0);
    }
  }

  // From here on the state depends on the node no more.
  void clear() {
    if constexpr (Carried != Sensitivity::none) {
      for (int i = 0; i < entries; ++i) value[i] = Scalar(0);
    }
  }

  // Growth is only asked for where merges within tolerance are possible.
  void advance(const PackedWeights<Scalar>& packed, const Partials& partials, bool growth_wanted) {
    if constexpr (Carried == Sensitivity::diagonal) {
      multiply_diagonal(packed, partials, growth_wanted);
    } else if constexpr (Carried == Sensitivity::block) {
      multiply_blocks(packed, partials, growth_wanted);
    } else if constexpr (Carried == Sensitivity::dense) {
      multiply_dense(packed, partials, growth_wanted);
    }
  }

  Scalar growth(int H) const {
    if constexpr (Carried == Sensitivity::none) return infinite<Scalar>();
    Scalar worst = 0;
    for (int i = 0; i < stretches; ++i) {
      if (i % Width < units(H) && stretch[i].worst() > worst) worst = stretch[i].worst();
    }
    return worst;
  }

  // A product that is not finite says nothing: the segment then counts as one that forgets.
  void store(Scalar* sensitivities, std::int64_t flat, int H) const {
    if constexpr (Carried == Sensitivity::none) return;
    bool finite = true;
    for_each_entry(H, [&](std::int64_t, Scalar entry) { finite = finite && Kokkos::isfinite(entry); });
    Scalar* out = sensitivities + flat * stored(H);
    for_each_entry(H, [&](std::int64_t at, Scalar entry) { out[at] = finite ? entry : Scalar(0); });
  }

 private:
  static constexpr int entries = Carried == Sensitivity::dense   ? columns * columns
                                 : Carried == Sensitivity::block ? states * states * Width
                                                                 : states * Width;
  static constexpr int stretches = Carried == Sensitivity::diagonal ? states * Width
                                   : Carried == Sensitivity::block  ? Width
                                                                    : 1;
  alignas(64) Scalar value[entries];
  alignas(64) Scalar product[Carried == Sensitivity::dense ? product_rows * columns : 1];
  WorstStretch<Scalar> stretch[stretches];

  void multiply_diagonal(const PackedWeights<Scalar>& packed, const Partials& partials, bool growth_wanted) {
    unrolled<states>([&](auto s) {
      alignas(64) Scalar entry[Width];
      Scalar* own = value + s * Width;
      for (int j = 0; j < Width; ++j) {
        entry[j] = partials.template own<s, s>(packed, j);
        own[j] *= entry[j];
      }
      if (!growth_wanted) return;
      for (int j = 0; j < packed.hidden_size; ++j) stretch[s * Width + j].add(Kokkos::abs(entry[j]));
    });
  }

  // Block J of a unit from the left, and the growth of the block's largest entry.
  void multiply_blocks(const PackedWeights<Scalar>& packed, const Partials& partials, bool growth_wanted) {
    alignas(64) Scalar before[Width], after[Width];
    for (int j = 0; j < Width; ++j) {
      Scalar jacobian[states][states], old[states][states];
      before[j] = after[j] = Scalar(0);
      for_each_pair([&](auto s, auto r) {
        jacobian[s][r] = partials.template own<s, r>(packed, j);
        old[s][r] = value[(s * states + r) * Width + j];
        before[j] = larger(before[j], Kokkos::abs(old[s][r]));
      });
      for_each_pair([&](auto s, auto r) {
        Scalar sum = 0;
        unrolled<states>([&](auto k) { sum += jacobian[s][k] * old[k][r]; });
        value[(s * states + r) * Width + j] = sum;
        after[j] = larger(after[j], Kokkos::abs(sum));
      });
    }
    if (!growth_wanted) return;
    for (int j = 0; j < packed.hidden_size; ++j) stretch[j].add(after[j] / before[j]);
  }

  // product(s, :) = sum over r of J(s, r) value(r, :). The columns of h are full, within a head, and made on the way,
  // one a unit k; the others hold their own unit's entry only. What late gates multiply is one more s, from which they
  // then make their part of the others.
  void multiply_dense(const PackedWeights<Scalar>& packed, const Partials& partials, bool growth_wanted) {
    const int H = packed.hidden_size, K = packed.head_size;
    for (int i = 0; i < product_rows * columns; ++i) product[i] = Scalar(0);
    for (int k = 0; k < H; ++k) {
      const int first = k - k % K;
      const Scalar* weight = packed.hidden_weights + std::int64_t(k - first) * gates * Width;
      for (int s = 0; s < states + Gates::late; ++s) {
        alignas(64) Scalar column[Width];
        for (int j = 0; j < Width; ++j) {
          Scalar entry = j == k ? partials.direct[s][0][j] : Scalar(0);
          if constexpr (Gates::recurrent) {
            for (int g = 0; g < Partials::early; ++g) entry += partials.by_gate[s][g][j] * weight[g * Width + j];
          }
          column[j] = entry;
        }
        for (int j = first; j < first + K; ++j) add_row(s, j, column[j], value + k * columns);
        for (int r = 1; r < states; ++r) add_row(s, k, partials.direct[s][r][k], value + (r * Width + k) * columns);
      }
    }
    if constexpr (Gates::late > 0) add_late(packed, partials);
    if (growth_wanted) stretch[0].add(largest(product, H) / largest(value, H));
    std::memcpy(value, product, sizeof value);
  }

  void add_late(const PackedWeights<Scalar>& packed, const Partials& partials) {
    constexpr int late = Partials::early;
    const int H = packed.hidden_size, K = packed.head_size;
    for (int k = 0; k < H; ++k) {
      const int first = k - k % K;
      const Scalar* weight = packed.hidden_weights + (std::int64_t(k - first) * gates + late) * Width;
      for (int s = 0; s < states; ++s) {
        for (int j = first; j < first + K; ++j) {
          add_row(s, j, partials.by_gate[s][late][j] * weight[j], product + (states * Width + k) * columns);
        }
      }
    }
  }

  void add_row(int s, int j, Scalar factor, const Scalar* from) {
    Scalar* to = product + (s * Width + j) * columns;
    for (int c = 0; c < columns; ++c) to[c] += factor * from[c];
  }

  static Scalar largest(const Scalar* matrix, int H) {
    Scalar out = 0;
    for (int s = 0; s < states; ++s) {
      const Scalar* rows = matrix + s * Width * columns;
      for (int i = 0; i < H * columns; ++i) out = larger(out, Kokkos::abs(rows[i]));
    }
    return out;
  }

  // A NaN counts as larger.
  static Scalar larger(Scalar size, Scalar other) { return other <= size ? size : other; }

  template <class Body>
  static void for_each_pair(const Body& body) {
    unrolled<states>([&](auto s) { unrolled<states>([&](auto r) { body(s, r); }); });
  }

  // The array's bound as well: g++ 13 takes entries past it for uninitialised ones.
  static int units(int H) { return H < Width ? H : Width; }

  // Numbers that a segment's sensitivity takes, and each with its place among them.
  static std::int64_t stored(int H) {
    const std::int64_t D = std::int64_t(states) * H;
    return Carried == Sensitivity::dense ? D * D : Carried == Sensitivity::block ? D * states : D;
  }

  template <class Body>
  void for_each_entry(int H, const Body& body) const {
    for (int s = 0; s < states; ++s) {
      for (int j = 0; j < units(H); ++j) {
        if constexpr (Carried == Sensitivity::dense) {
          const Scalar* row = value + (s * Width + j) * columns;
          const std::int64_t D = std::int64_t(states) * H;
          for (int r = 0; r < states; ++r) {
            for (int c = 0; c < units(H); ++c) body((s * H + j) * D + r * H + c, row[r * Width + c]);
          }
        } else if constexpr (Carried == Sensitivity::block) {
          for (int r = 0; r < states; ++r) {
            body((j * states + s) * states + r, value[(s * states + r) * Width + j]);
          }
        } else {
          body(s * H + j, value[s * Width + j]);
        }
      }
    }
  }
};

}  // namespace elaphos::impl

#endif
