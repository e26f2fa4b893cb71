// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_CELLS_LEM_HPP
#define ELAPHOS_CELLS_LEM_HPP

#include <elaphos/cells/gated_cell.hpp>
#include <elaphos/errors.hpp>
#include <elaphos/impl/elementary.hpp>

#include <cmath>
#include <string>

namespace elaphos {

namespace impl {

/// The arithmetic of one hidden unit; see `GatesBase`. A unit's states are y and z; the last product is late: it sees
/// z'.
struct LemGates : GatesBase {
  static constexpr const char* name = "Lem";
  static constexpr int count = 4;
  static constexpr int states = 2;
  static constexpr int late = 1;

  double time_step = 1;

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION Scalar between(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                             const Scalar (&own)[states]) const {
    const Scalar share = Scalar(time_step) * sigmoid(input[1] + hidden[1]);
    return multiply_add(share, hyperbolic_tangent(input[2] + hidden[2]) - own[1], own[1]);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void between_partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                                    const Scalar (&own)[states], Scalar (&by_gate)[count],
                                                    Scalar (&direct)[states]) const {
    const Scalar gate = sigmoid(input[1] + hidden[1]), share = Scalar(time_step) * gate;
    const Scalar candidate = hyperbolic_tangent(input[2] + hidden[2]);
    by_gate[0] = by_gate[3] = Scalar(0);
    by_gate[1] = share * (Scalar(1) - gate) * (candidate - own[1]);
    by_gate[2] = share * (Scalar(1) - candidate * candidate);
    direct[0] = Scalar(0);
    direct[1] = Scalar(1) - share;
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void next(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                        const Scalar (&)[1], const Scalar (&own)[states],
                                        Scalar (&next)[states]) const {
    const Scalar share = Scalar(time_step) * sigmoid(input[0] + hidden[0]);
    next[0] = multiply_add(share, hyperbolic_tangent(input[3] + hidden[3]) - own[0], own[0]);
    next[1] = between(input, hidden, own);
  }

  template <class Scalar>
  KOKKOS_FORCEINLINE_FUNCTION void partials(const Scalar (&input)[count], const Scalar (&hidden)[count],
                                            const Scalar (&)[1], const Scalar (&own)[states],
                                            Scalar (&by_gate)[states][count], Scalar (&direct)[states][states]) const {
    const Scalar gate = sigmoid(input[0] + hidden[0]), share = Scalar(time_step) * gate;
    const Scalar candidate = hyperbolic_tangent(input[3] + hidden[3]);
    by_gate[0][0] = share * (Scalar(1) - gate) * (candidate - own[0]);
    by_gate[0][1] = by_gate[0][2] = Scalar(0);
    by_gate[0][3] = share * (Scalar(1) - candidate * candidate);
    direct[0][0] = Scalar(1) - share;
    direct[0][1] = Scalar(0);
    between_partials(input, hidden, own, by_gate[1], direct[1]);
  }
};

}  // namespace impl

/// \brief Long expressive memory (Rusch et al., ICLR 2022, eq. 3), which keeps what it read over many steps.
///
/// With s = dt sigmoid(W_1 y + V_1 x + b_1) and t = dt sigmoid(W_2 y + V_2 x + b_2):
/// z' = (1 - t) z + t tanh(W_z y + V_z x + b_z), y' = (1 - s) y + s tanh(W_y z' + V_y x + b_y).
/// A state is y, then z: 2 H numbers. Weights, gates in the order 1, 2, z, y: (4 H, I), (4 H, H), and two biases (4 H)
/// that are added. Throws `InvalidArgument` when the shapes do not fit, or for a time step that is not a number.
template <class Scalar, class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space>
class Lem : public impl::GatedLayer<impl::LemGates, Scalar, MemorySpace> {
 public:
  explicit Lem(const LayerWeights<Scalar, MemorySpace>& weights, double time_step = 1)
      : impl::GatedLayer<impl::LemGates, Scalar, MemorySpace>(weights, {{}, time_step}) {
    if (!std::isfinite(time_step)) throw InvalidArgument("Lem time_step", std::to_string(time_step), "a finite number");
  }
};

template <class Scalar, class MemorySpace>
Lem(const LayerWeights<Scalar, MemorySpace>&, double = 1) -> Lem<Scalar, MemorySpace>;

}  // namespace elaphos

#endif
