// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_GATED_HOST_KERNEL_HPP
#define ELAPHOS_SRC_CELLS_GATED_HOST_KERNEL_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/merge_test.hpp>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace elaphos::impl {

/// Advances one segment of a gated cell on one thread: vector lanes over hidden units, weights from the cache.
///
/// A core has few, wide and fast lanes, so it takes a segment alone; a device needs a team for one (gated_team_kernel).
/// Per step: G D (D + I) multiply-adds and G D transcendental functions; memory traffic I + D numbers (+ D to merge).
template <class Gates, class Scalar, int Width, Sensitivity Carried>
struct GatedHostKernel {
  static constexpr int gates = Gates::count;
  static constexpr int row = gates * Width;

  PackedWeights<Scalar> weights;
  SegmentArguments<Scalar> arguments;

  void operator()(std::int64_t index) const {
    if (!arguments.has(index)) return;
    const SegmentRange range = segment_range(arguments, index);
    SegmentRecord<Scalar>& record = arguments.records[range.flat];
    if (arguments.pass == Pass::verify) {
      verify(range, record);
    } else {
      advance(range, record);
    }
  }

 private:
  // Pre-activations of all gates, W x + b and W h + b apart, unit index fastest.
  struct PreActivations {
    alignas(64) Scalar input[row];
    alignas(64) Scalar hidden[row];

    void gather(int unit, Scalar (&of_input)[gates], Scalar (&of_hidden)[gates]) const {
      for_each_gate([&](auto g) {
        of_input[g] = input[g * Width + unit];
        of_hidden[g] = hidden[g * Width + unit];
      });
    }
  };

  // Unrolled by hand: compilers make vector code of a loop over units only when it holds no other loop.
  template <class Body>
  static void for_each_gate(const Body& body) {
    [&]<int... g>(std::integer_sequence<int, g...>) {
      (body(std::integral_constant<int, g>()), ...);
    }(std::make_integer_sequence<int, gates>());
  }

  void pre_activate(const Scalar* h, const Scalar* x, PreActivations& out) const {
    multiply(weights.input_weights, weights.input_bias, x, weights.input_size, out.input);
    multiply(weights.hidden_weights, weights.hidden_bias, h, weights.hidden_size, out.hidden);
  }

  // Sums that fit in 12 vector registers of 16 bytes, or fewer wider ones: a divisor of the row.
  static constexpr int block_of_sums() {
    int block = row;
    while (block * sizeof(Scalar) > 192) block /= 2;
    return block;
  }

  // out = bias + sum over k of factor[k] * column k, in ascending order of k.
  static void multiply(const Scalar* columns, const Scalar* bias, const Scalar* factors, int count, Scalar* out) {
    constexpr int block = block_of_sums();
    static_assert(row % block == 0);
    for (int first = 0; first < row; first += block) {
      Scalar sums[block];
      for (int c = 0; c < block; ++c) sums[c] = bias[first + c];
      for (int k = 0; k < count; ++k) {
        const Scalar factor = factors[k];
        const Scalar* column = columns + std::int64_t(k) * row + first;
        for (int c = 0; c < block; ++c) sums[c] = multiply_add(factor, column[c], sums[c]);
      }
      for (int c = 0; c < block; ++c) out[first + c] = sums[c];
    }
  }

  // Derivatives of the next state with respect to W h + b, gate by gate, and where h enters directly.
  struct Partials {
    alignas(64) Scalar by_gate[gates][Width];
    alignas(64) Scalar direct[Width];
  };

  static void activate(const PreActivations& at, const Scalar* h, Scalar* next) {
    for (int unit = 0; unit < Width; ++unit) {
      Scalar input[gates], hidden[gates];
      at.gather(unit, input, hidden);
      next[unit] = Gates::next(input, hidden, h[unit]);
    }
  }

  // In one loop with the step, so that the compiler shares the gates' values between the two.
  static void activate(const PreActivations& at, const Scalar* h, Scalar* next, Partials& partials) {
    for (int unit = 0; unit < Width; ++unit) {
      Scalar input[gates], hidden[gates], partial[gates];
      at.gather(unit, input, hidden);
      next[unit] = Gates::next(input, hidden, h[unit]);
      Gates::partials(input, hidden, h[unit], partial, partials.direct[unit]);
      for_each_gate([&](auto g) { partials.by_gate[g][unit] = partial[g]; });
    }
  }

  void advance(const SegmentRange& range, SegmentRecord<Scalar>& record) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int D = weights.hidden_size;
    const bool propagating = arguments.pass == Pass::propagate;
    MergeTest<Scalar> test(record, arguments.merge);
    const bool may_merge = propagating && test.possible();

    alignas(64) Scalar h[Width] = {};
    alignas(64) Scalar next[Width];
    std::memcpy(h, arguments.nodes + range.flat * D, sizeof(Scalar) * std::size_t(D));
    PreActivations at;
    Tangent tangent;

    std::int64_t t = range.begin;
    bool merged = false;
    while (t < range.end && !merged) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      pre_activate(h, problem.x + entry * weights.input_size, at);
      if constexpr (Carried == Sensitivity::none) {
        activate(at, h, next);
      } else {
        Partials partials;
        activate(at, h, next, partials);
        if (propagating) tangent.advance(weights, partials, arguments.merge == Merge::tolerance);
      }

      Scalar* y = problem.y + entry * D;
      if (may_merge) merged = test.merged(difference(next, y));
      std::memcpy(h, next, sizeof h);
      // At a merge the stored state stays, so that the jump lies between two neighbouring steps.
      if (!merged) std::memcpy(y, next, sizeof(Scalar) * std::size_t(D));
      ++t;
    }
    record_run(record, t - range.begin, merged, merged ? test.jump() : Scalar(0), tangent.growth(D));
    if (propagating && !merged) tangent.store(arguments.sensitivities, range.flat, D);
  }

  StateDifference<Scalar> difference(const Scalar* next, const Scalar* stored) const {
    StateDifference<Scalar> out;
    const int D = weights.hidden_size;
    if (std::memcmp(next, stored, sizeof(Scalar) * std::size_t(D)) == 0) return out;
    if (arguments.merge == Merge::exact) {
      out.identical = false;
      return out;
    }
    for (int i = 0; i < D; ++i) {
      out.add(next[i], stored[i], arguments.absolute_tolerance, arguments.relative_tolerance);
    }
    return out;
  }

  void verify(const SegmentRange& range, SegmentRecord<Scalar>& record) const {
    const Problem<Scalar>& problem = arguments.problem;
    const int D = weights.hidden_size;
    alignas(64) Scalar h[Width] = {};
    alignas(64) Scalar next[Width];
    PreActivations at;
    Scalar residual = 0;
    for (std::int64_t t = range.begin; t < range.end; ++t) {
      const std::int64_t entry = t * problem.batch + range.sequence;
      const Scalar* before = problem.state_before(t, range.sequence);
      std::memcpy(h, before, sizeof(Scalar) * std::size_t(D));
      pre_activate(h, problem.x + entry * weights.input_size, at);
      activate(at, h, next);
      StateDifference<Scalar> apart;
      for (int i = 0; i < D; ++i) apart.add(next[i], problem.y[entry * D + i], Scalar(1), Scalar(0));
      if (apart.absolute > residual) residual = apart.absolute;
    }
    record.jump = residual;
  }

  // The derivative of the current state with respect to the segment's node. `dense` is row-major; per step it costs
  // D^3 multiply-adds for the product and G D^2 for the Jacobian.
  struct Tangent {
    static constexpr int entries = Carried == Sensitivity::dense ? Width * Width : Width;
    alignas(64) Scalar value[entries];
    alignas(64) Scalar product[Carried == Sensitivity::dense ? entries : 1];
    WorstStretch<Scalar> stretch[Carried == Sensitivity::diagonal ? Width : 1];

    Tangent() {
      if constexpr (Carried != Sensitivity::none) {
        for (int i = 0; i < entries; ++i) {
          value[i] = (Carried == Sensitivity::diagonal || i % (Width + 1) == 0) ? Scalar(1) : Scalar(0);
        }
      }
    }

    // Growth is only asked for where merges within tolerance are possible.
    void advance(const PackedWeights<Scalar>& packed, const Partials& partials, bool growth_wanted) {
      if constexpr (Carried == Sensitivity::diagonal) {
        multiply_diagonal(packed, partials, growth_wanted);
      } else if constexpr (Carried == Sensitivity::dense) {
        multiply_dense(packed, partials, growth_wanted);
      }
    }

    void multiply_diagonal(const PackedWeights<Scalar>& packed, const Partials& partials, bool growth_wanted) {
      alignas(64) Scalar entry[Width];
      for (int j = 0; j < Width; ++j) {
        entry[j] = partials.direct[j];
        for_each_gate([&](auto g) {
          entry[j] += partials.by_gate[g][j] * packed.hidden_diagonal[g * Width + j];
        });
        value[j] *= entry[j];
      }
      if (!growth_wanted) return;
      for (int j = 0; j < packed.hidden_size; ++j) stretch[j].add(Kokkos::abs(entry[j]));
    }

    // product(j, :) = sum over k of J(j, k) value(k, :), with J's column k made on the way.
    void multiply_dense(const PackedWeights<Scalar>& packed, const Partials& partials, bool growth_wanted) {
      const int D = packed.hidden_size;
      for (int i = 0; i < entries; ++i) product[i] = Scalar(0);
      for (int k = 0; k < D; ++k) {
        const Scalar* weight = packed.hidden_weights + std::int64_t(k) * row;
        alignas(64) Scalar column[Width];
        for (int j = 0; j < Width; ++j) {
          Scalar entry = j == k ? partials.direct[j] : Scalar(0);
          for (int g = 0; g < gates; ++g) entry += partials.by_gate[g][j] * weight[g * Width + j];
          column[j] = entry;
        }
        for (int j = 0; j < D; ++j) {
          for (int c = 0; c < Width; ++c) product[j * Width + c] += column[j] * value[k * Width + c];
        }
      }
      if (growth_wanted) stretch[0].add(largest(product, D) / largest(value, D));
      std::memcpy(value, product, sizeof value);
    }

    static Scalar largest(const Scalar* matrix, int D) {
      Scalar out = 0;
      for (int i = 0; i < D * Width; ++i) {
        const Scalar size = Kokkos::abs(matrix[i]);
        if (!(size <= out)) out = size;
      }
      return out;
    }

    // The array's bound as well: g++ 13 takes entries past it for uninitialised ones.
    static int units(int D) { return D < Width ? D : Width; }

    Scalar growth(int D) const {
      if constexpr (Carried == Sensitivity::none) return infinite<Scalar>();
      Scalar worst = 0;
      for (int i = 0; i < (Carried == Sensitivity::diagonal ? units(D) : 1); ++i) {
        if (stretch[i].worst() > worst) worst = stretch[i].worst();
      }
      return worst;
    }

    // A product that is not finite says nothing: the segment then counts as one that forgets.
    void store(Scalar* sensitivities, std::int64_t flat, int D) const {
      if constexpr (Carried == Sensitivity::none) return;
      const int rows = Carried == Sensitivity::dense ? units(D) : 1;
      bool finite = true;
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < units(D); ++j) finite = finite && Kokkos::isfinite(value[i * Width + j]);
      }
      for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < D; ++j) {
          sensitivities[(flat * rows + i) * D + j] = finite ? value[i * Width + j] : Scalar(0);
        }
      }
    }
  };
};

}  // namespace elaphos::impl

#endif
