// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_SRC_CELLS_WIDE_GATED_STEP_HPP
#define ELAPHOS_SRC_CELLS_WIDE_GATED_STEP_HPP

#include <elaphos/batched_recurrence.hpp>
#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/impl/batched_propagator.hpp>
#include <elaphos/impl/divide_up.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/quotient.hpp>
#include <elaphos/impl/runs_on_host.hpp>
#include <elaphos/impl/unroll.hpp>
#include <elaphos/impl/warp.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>

namespace elaphos::impl {

/// Advances a few rows by one step, for a few neighbouring units: their gates' products with the rows' inputs and
/// states, and what the gates make of them. With `late` gates a first kernel makes what they multiply (`Between`).
///
/// A device's thread takes one unit, so that neighbours read neighbouring weights, and the warps beside it the same
/// units of other rows, which find the weights in the cache; a host's takes as many units as a vector loop likes.
/// Weights are read once for `rows` rows, and a device's thread reads `some` of them and of each row's numbers at a
/// time. Per row and step G H (H + I) multiply-adds (late gates: the others twice). A row's sums are its own, in
/// ascending order of k: its bits depend on no other row.
template <class ExecutionSpace, class Gates, class Scalar>
struct WideGatedKernel {
  static constexpr int gates = Gates::count, states = Gates::states, early = gates - Gates::late;
  static constexpr int units = runs_on_host<ExecutionSpace> ? 16 : 1;
  static constexpr int rows = runs_on_host<ExecutionSpace> ? 4 : 8;
  static constexpr int some = runs_on_host<ExecutionSpace> ? 1 : 8;
  // By way of late gates a unit sees itself through all others.
  static constexpr bool has_diagonal = Gates::late == 0;
  static constexpr int neighbours = runs_on_host<ExecutionSpace> ? 1 : warp_size;  // groups of units of the same rows
  using Unit = GatedUnit<Gates, Scalar>;
  using Batch = StepBatch<ExecutionSpace, Scalar>;
  using Sums = Scalar[rows][gates][units];

  PackedWeights<Scalar> weights;
  int width;  ///< units with padding
  Unit unit_step;
  Batch batch;
  Scalar* between;   ///< (count, H)
  Scalar* diagonal;  ///< (count, D): of the Jacobian, or null

  struct Between {};
  struct Step {};

  KOKKOS_FUNCTION void operator()(Between, std::int64_t index) const {
    const Place place(*this, index);
    if (place.first_unit >= weights.hidden_size) return;
    Sums input, hidden;
    multiply_early(place, input, hidden);
    for_each(place, [&](int r, int u, std::int64_t row, int unit) {
      Scalar of_input[gates], of_hidden[gates], own[states];
      gather(input, hidden, r, u, of_input, of_hidden);
      for (int s = 0; s < states; ++s) own[s] = batch.y(row, s * weights.hidden_size + unit);
      if constexpr (Gates::late > 0) {
        between[row * weights.hidden_size + unit] = unit_step.of.between(of_input, of_hidden, own);
      }
    });
  }

  KOKKOS_FUNCTION void operator()(Step, std::int64_t index) const {
    const Place place(*this, index);
    if (place.first_unit >= weights.hidden_size) return;
    Sums input, hidden;
    multiply_early(place, input, hidden);
    if constexpr (Gates::late > 0) multiply_hidden<early, gates>(place, between, weights.hidden_size, hidden);
    const int H = weights.hidden_size;
    const auto with_unit = [&](int r, int u, std::int64_t row, int unit, const auto& work) {
      Scalar of_input[gates], of_hidden[gates], own[states], own_weights[Unit::weights] = {};
      gather(input, hidden, r, u, of_input, of_hidden);
      for (int s = 0; s < states; ++s) own[s] = batch.y(row, s * H + unit);
      for (int k = 0; k < Gates::unit_weights; ++k) own_weights[k] = weights.unit_weights[k * width + unit];
      work(of_input, of_hidden, own_weights, own);
    };
    for_each(place, [&](int r, int u, std::int64_t row, int unit) {
      with_unit(r, u, row, unit, [&](auto& of_input, auto& of_hidden, auto& own_weights, auto& own) {
        Scalar next[states];
        unit_step.next(of_input, of_hidden, own_weights, own, next);
        for (int s = 0; s < states; ++s) batch.next(row, s * H + unit) = next[s];
      });
    });
    if constexpr (has_diagonal) {
      if (diagonal == nullptr) return;
      for_each(place, [&](int r, int u, std::int64_t row, int unit) {
        with_unit(r, u, row, unit, [&](auto& of_input, auto& of_hidden, auto& own_weights, auto& own) {
          Scalar by_gate[states][gates], direct[states][states];
          unit_step.partials(of_input, of_hidden, own_weights, own, by_gate, direct);
          for (int g = 0; g < gates; ++g) direct[0][0] += by_gate[0][g] * weights.hidden_diagonal[g * width + unit];
          for (int s = 0; s < states; ++s) diagonal[row * states * H + s * H + unit] = direct[s][s];
        });
      });
    }
  }

  /// Work items of a step.
  KOKKOS_FUNCTION std::int64_t items() const { return tiles() * neighbours * row_groups(); }

 private:
  KOKKOS_FUNCTION std::int64_t row_groups() const { return (batch.count + rows - 1) / rows; }
  KOKKOS_FUNCTION std::int64_t tiles() const {
    constexpr int its_units = units * neighbours;
    return (weights.hidden_size + its_units - 1) / its_units;
  }

  struct Place {
    std::int64_t first_row;
    int row_count;
    int first_unit;

    KOKKOS_FUNCTION Place(const WideGatedKernel& kernel, std::int64_t index) {
      const std::int64_t warp = quotient(index, neighbours), neighbour = index - warp * neighbours;
      std::int64_t tile, group;
      if constexpr (neighbours > 1) {
        tile = quotient(warp, kernel.row_groups());
        group = warp - tile * kernel.row_groups();
      } else {
        group = quotient(warp, kernel.tiles());
        tile = warp - group * kernel.tiles();
      }
      first_row = group * rows;
      row_count = static_cast<int>(kernel.batch.count - first_row < rows ? kernel.batch.count - first_row : rows);
      first_unit = static_cast<int>((tile * neighbours + neighbour) * units);
    }

    // The last rows stand in for those behind them, whose sums nobody reads.
    KOKKOS_FUNCTION std::int64_t row(int r) const { return first_row + (r < row_count ? r : row_count - 1); }
  };

  KOKKOS_FUNCTION void multiply_early(const Place& place, Sums& input, Sums& hidden) const {
    start<0, gates>(place, weights.input_bias, input);
    multiply<0, gates>(place, weights.input_weights, weights.input_size, batch.x.data(), weights.input_size, input);
    start<early, gates>(place, weights.hidden_bias, hidden);
    multiply_hidden<0, early>(place, batch.y.data(), states * weights.hidden_size, hidden);
  }

  // Products of gates from ... to - 1 with a number a unit, `stride` apart from row to row.
  template <int from, int to>
  KOKKOS_FUNCTION void multiply_hidden(const Place& place, const Scalar* of_units, int stride, Sums& sums) const {
    start<from, to>(place, weights.hidden_bias, sums);
    if constexpr (Gates::recurrent) {
      const int K = weights.head_size;
      if (K == weights.hidden_size) {
        return multiply<from, to>(place, weights.hidden_weights, K, of_units, stride, sums);
      }
      for (int k = 0; k < K; ++k) {
        const Scalar* column = weights.hidden_weights + std::int64_t(k) * gates * width;
        add_of_heads<from, to>(place, column, of_units + k, stride, sums);
      }
    }
  }

  // Products of gates from ... to - 1 with `count` numbers of each row, `stride` apart from row to row.
  template <int from, int to>
  KOKKOS_FUNCTION void multiply(const Place& place, const Scalar* columns, int count, const Scalar* numbers, int stride,
                                Sums& sums) const {
    const std::int64_t slab = std::int64_t(gates) * width;
    int k = 0;
    if constexpr (some > 1) {
      ELAPHOS_UNROLL_BY(1)
      for (; k + some <= count; k += some) {
        Scalar of_rows[rows][some];
        ELAPHOS_UNROLL
        for (int r = 0; r < rows; ++r) read_numbers(numbers + place.row(r) * stride + k, of_rows[r]);
        ELAPHOS_UNROLL
        for (int j = 0; j < some; ++j) {
          Scalar factors[rows];
          ELAPHOS_UNROLL
          for (int r = 0; r < rows; ++r) factors[r] = of_rows[r][j];
          add<from, to>(place, columns + (k + j) * slab, factors, sums);
        }
      }
    }
    for (; k < count; ++k) {
      Scalar factors[rows];
      for (int r = 0; r < rows; ++r) factors[r] = numbers[place.row(r) * stride + k];
      add<from, to>(place, columns + k * slab, factors, sums);
    }
  }

  template <int from, int to>
  KOKKOS_FUNCTION void start(const Place& place, const Scalar* bias, Sums& sums) const {
    for (int r = 0; r < rows; ++r) {
      for (int g = from; g < to; ++g) {
        for (int u = 0; u < units; ++u) sums[r][g][u] = bias[g * width + place.first_unit + u];
      }
    }
  }

  template <int from, int to>
  KOKKOS_FUNCTION void add(const Place& place, const Scalar* column, const Scalar (&factors)[rows], Sums& sums) const {
    for (int g = from; g < to; ++g) {
      for (int r = 0; r < rows; ++r) {
        for (int u = 0; u < units; ++u) {
          sums[r][g][u] = multiply_add(factors[r], column[g * width + place.first_unit + u], sums[r][g][u]);
        }
      }
    }
  }

  // Each unit sees its own head.
  template <int from, int to>
  KOKKOS_FUNCTION void add_of_heads(const Place& place, const Scalar* column, const Scalar* of_units, int stride,
                                    Sums& sums) const {
    for (int r = 0; r < rows; ++r) {
      for (int u = 0; u < units; ++u) {
        const int unit = place.first_unit + u;
        if (unit >= weights.hidden_size) continue;
        const Scalar factor = of_units[place.row(r) * stride + unit - unit % weights.head_size];
        for (int g = from; g < to; ++g) {
          sums[r][g][u] = multiply_add(factor, column[g * width + unit], sums[r][g][u]);
        }
      }
    }
  }

  KOKKOS_FUNCTION static void gather(const Sums& input, const Sums& hidden, int r, int u, Scalar (&of_input)[gates],
                                     Scalar (&of_hidden)[gates]) {
    for (int g = 0; g < gates; ++g) {
      of_input[g] = input[r][g][u];
      of_hidden[g] = hidden[r][g][u];
    }
  }

  template <class Body>
  KOKKOS_FUNCTION void for_each(const Place& place, const Body& body) const {
    for (int r = 0; r < place.row_count; ++r) {
      for (int u = 0; u < units; ++u) {
        if (place.first_unit + u < weights.hidden_size) body(r, u, place.first_row + r, place.first_unit + u);
      }
    }
  }
};

/// The step of a cell that is too wide for the compiled widths, for many rows at once.
template <class ExecutionSpace, class Gates, class Scalar>
class WideGatedStep {
  using Kernel = WideGatedKernel<ExecutionSpace, Gates, Scalar>;

 public:
  using scalar_type = Scalar;

  WideGatedStep(const PackedWeights<Scalar>& weights, int width, const GatedUnit<Gates, Scalar>& unit,
                Workspace<ExecutionSpace>& workspace)
      : m_weights(weights), m_width(width), m_unit(unit), m_workspace(workspace) {}

  /// Units are padded to whole groups of a host's vector loop.
  static int padded_width(int hidden_size) { return static_cast<int>(divide_up(hidden_size, 16)) * 16; }

  int state_size() const { return Gates::states * m_weights.hidden_size; }
  int input_size() const { return m_weights.input_size; }

  /// A host's threads share the units of few rows. A device has a thread for each unit of `Kernel::rows` rows, and is
  /// busy with an eighth of those it could have, since each has a few sums under way.
  int rows_at_a_time() const {
    if constexpr (runs_on_host<ExecutionSpace>) return Kernel::rows;
    const std::int64_t threads = ExecutionSpace().concurrency();
    return static_cast<int>(std::max<std::int64_t>(1, threads / 8 / m_weights.hidden_size)) * Kernel::rows;
  }

  void step(const ExecutionSpace& exec, const StepBatch<ExecutionSpace, Scalar>& batch) const {
    advance(exec, batch, nullptr);
  }

  void step_with_diagonal(const ExecutionSpace& exec, const StepBatch<ExecutionSpace, Scalar>& batch,
                          const typename StepBatch<ExecutionSpace, Scalar>::Diagonal& diagonal) const
    requires Kernel::has_diagonal
  {
    advance(exec, batch, diagonal.data());
  }

 private:
  void advance(const ExecutionSpace& exec, const StepBatch<ExecutionSpace, Scalar>& batch, Scalar* diagonal) const {
    Kernel kernel{m_weights, m_width, m_unit, batch, nullptr, diagonal};
    const std::int64_t work = kernel.items();
    if constexpr (Gates::late > 0) {
      kernel.between = m_workspace.template reserve<Scalar>(
          exec, Buffer::between, static_cast<std::size_t>(batch.count * m_weights.hidden_size));
      launch<typename Kernel::Between>(exec, "Elaphos::wide_between", work, kernel);
    }
    launch<typename Kernel::Step>(exec, "Elaphos::wide_step", work, kernel);
  }

  template <class Tag>
  static void launch(const ExecutionSpace& exec, const char* label, std::int64_t work, const Kernel& kernel) {
    using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>, Tag>;
    Kokkos::parallel_for(label, Policy(exec, 0, work), kernel);
  }

  PackedWeights<Scalar> m_weights;
  int m_width;
  GatedUnit<Gates, Scalar> m_unit;
  Workspace<ExecutionSpace>& m_workspace;
};

/// Advances segments of a cell that is wider than the compiled widths: rows = segments under way, their gates as one
/// product with the weights.
template <class ExecutionSpace, class Gates, class Scalar>
class WideGatedPropagator final : public Propagator<ExecutionSpace, Scalar> {
  using Step = WideGatedStep<ExecutionSpace, Gates, Scalar>;

 public:
  WideGatedPropagator(const PackedWeights<Scalar>& weights, int width, const GatedUnit<Gates, Scalar>& unit,
                      Workspace<ExecutionSpace>& workspace)
      : m_step(weights, width, unit, workspace), m_rows(m_step, workspace) {}
  static int padded_width(int hidden_size) { return Step::padded_width(hidden_size); }
  // The second part refers to the first.
  WideGatedPropagator(const WideGatedPropagator&) = delete;
  WideGatedPropagator& operator=(const WideGatedPropagator&) = delete;

  bool has_jacobian() const override { return false; }
  bool has_jacobian_diagonal() const override { return m_rows.has_jacobian_diagonal(); }
  bool steps_by_host() const override { return true; }
  std::int64_t parallel_workers(const ExecutionSpace& exec) const override { return m_rows.parallel_workers(exec); }
  void check_sensitivity(Sensitivity sensitivity) const override { m_rows.check_sensitivity(sensitivity); }
  void run(const ExecutionSpace& exec, const SegmentArguments<Scalar>& arguments) const override {
    m_rows.run(exec, arguments);
  }

 private:
  Step m_step;
  BatchedPropagator<ExecutionSpace, Step> m_rows;
};

}  // namespace elaphos::impl

#endif
