// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_AUTODIFF_HPP
#define ELAPHOS_AUTODIFF_HPP

#include <elaphos/dual.hpp>
#include <elaphos/recurrence.hpp>

#include <Kokkos_Core.hpp>

namespace elaphos {

/// \brief A user's recurrence with the Jacobian of its step, by forward-mode automatic differentiation.
///
/// The step is evaluated with dual numbers for y and next; x and p stay plain. So it declares its arguments `auto`, makes
/// its intermediate values of `auto` too, not of `double`, and calls math functions as `Kokkos::tanh(y[0])` or
/// unqualified. At comparisons, `abs`, `min` and `max` the derivative is that of the branch taken. `width` columns are
/// carried at a time, so that a thread's registers hold them: D / width evaluations of the step, each of about
/// 1 + width times its cost.
template <Recurrence R, int width = (R::state_size < 8 ? R::state_size : 8)>
struct Differentiated : R {
  static_assert(width >= 1, "Elaphos: the columns carried at a time are at least one");
  using Number = Dual<typename R::scalar_type, width>;

  KOKKOS_FUNCTION void jacobian(StepContext at, auto y, auto x, auto p, auto J) const {
    constexpr int D = R::state_size;
    Number in[D], out[D];
    for (int first = 0; first < D; first += width) {
      for (int i = 0; i < D; ++i) {
        in[i] = Number(y[i]);
        if (i >= first && i < first + width) in[i].slope[i - first] = 1;
      }
      R::step(at, static_cast<const Number*>(in), x, p, static_cast<Number*>(out));
      for (int i = 0; i < D; ++i) {
        for (int j = first; j < D && j < first + width; ++j) J(i, j) = out[i].slope[j - first];
      }
    }
  }
};

template <Recurrence R>
Differentiated(const R&) -> Differentiated<R>;

}  // namespace elaphos

#endif
