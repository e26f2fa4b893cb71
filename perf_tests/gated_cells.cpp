// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Recurrent layers at PyTorch's initialisation over random inputs (I = D), cold start.
#include "support/solve_row.hpp"

#include <string>

namespace perf {

namespace {

struct Size {
  int D;
  std::int64_t B, T;

  std::string name() const {
    return "D:" + std::to_string(D) + "/B:" + std::to_string(B) + "/T:" + std::to_string(T);
  }
};

template <class Cell, class Gates, class Scalar>
SolveProblem<Cell> make_layer(const Size& size, const Session& session) {
  const std::int64_t T = session.steps(size.T);
  const int D = size.D, I = size.D;
  const Cell cell(default_weights<Scalar>(Gates::count, D, I));
  const elaphos::StateView<Scalar, Memory> y0("perf::y0", static_cast<std::size_t>(size.B), static_cast<std::size_t>(D));
  return {cell, y0, random_inputs<Scalar>(T, size.B, I), T, size.B, D,
          gated_sweep<Scalar>(Gates::count, D, I, T, size.B)};
}

template <class Cell, class Gates, class Scalar>
void add_layer(Session& session, const std::string& name, const Size& size, const elaphos::SolveOptions& options) {
  add_solve_row(session, name + "/" + size.name(), options,
                [size](const Session& of) { return make_layer<Cell, Gates, Scalar>(size, of); });
}

}  // namespace

void register_rows(Session& session) {
  using GruFloat = elaphos::Gru<float, Memory>;
  using GruDouble = elaphos::Gru<double, Memory>;
  using ElmanFloat = elaphos::Elman<float, Memory>;
  using elaphos::impl::ElmanGates;
  using elaphos::impl::GruGates;
  const elaphos::SolveOptions exact;
  elaphos::SolveOptions tolerance;
  tolerance.merge = elaphos::Merge::tolerance;
  elaphos::SolveOptions deer = tolerance;
  deer.steps_per_segment = 1;
  deer.method = elaphos::Method::newton;

  for (const Size size : {Size{1, 1, 1'000'000}, Size{1, 16, 100'000}, Size{8, 1, 10'000}, Size{8, 16, 100'000},
                          Size{16, 16, 100'000}, Size{32, 1, 10'000}, Size{32, 16, 10'000}, Size{32, 1, 1'000'000},
                          Size{32, 16, 100'000}, Size{64, 16, 10'000}, Size{128, 16, 10'000}}) {
    add_layer<GruFloat, GruGates, float>(session, "gru/float/exact", size, exact);
    add_layer<GruFloat, GruGates, float>(session, "gru/float/tolerance", size, tolerance);
  }
  add_layer<GruFloat, GruGates, float>(session, "gru/float/deer", {8, 1, 10'000}, deer);
  add_layer<GruDouble, GruGates, double>(session, "gru/double/exact", {32, 1, 100'000}, exact);
  add_layer<ElmanFloat, ElmanGates, float>(session, "elman/float/exact", {32, 1, 100'000}, exact);
}

}  // namespace perf
