// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_RECURRENCE_HPP
#define ELAPHOS_RECURRENCE_HPP

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace elaphos {

/// \brief Where a step stands: step `t` of sequence `b` reads x(t, b, :) and y(t-1, b, :) and makes y(t, b, :).
///
/// `t` counts from 0; step 0 reads the initial state. Recurrences with non-uniform steps look their step size up by it.
struct StepContext {
  std::int64_t t;
  std::int64_t b;
};

/// \brief A small square matrix that a recurrence's `jacobian` fills: entry (i, j) is d next[i] / d y[j].
template <class Scalar>
class JacobianRef {
 public:
  KOKKOS_FUNCTION JacobianRef(Scalar* data, int size) : m_data(data), m_size(size) {}
  KOKKOS_FUNCTION Scalar& operator()(int i, int j) const { return m_data[i * m_size + j]; }

 private:
  Scalar* m_data;
  int m_size;
};

/// \brief Which states depend on one another strongly: blocks of `size` states that lie `stride` apart.
///
/// {2, 1} pairs states 0 and 1, 2 and 3, ...; {2, D/2} pairs 0 and D/2, 1 and D/2 + 1, ..., as in (position, velocity).
struct JacobianBlocks {
  int size = 0;  ///< 0: none
  int stride = 1;

  /// \brief Member k of a block.
  KOKKOS_INLINE_FUNCTION constexpr int state(int block, int k) const {
    return block / stride * size * stride + block % stride + k * stride;
  }
};

/// \brief What a user's recurrence must offer: y_t = f(y_{t-1}, x_t; p), with sizes known at compile time.
///
/// - `scalar_type`: float or double; `state_size` (D >= 1) and `input_size` (I >= 0): `static constexpr int`;
/// - optional `parameter_size` (P >= 0): numbers that `bind_parameters` hands to every step as `p`;
/// - `step(at, y, x, p, next)`, callable on the device and const: reads y[0..D), x[0..I), p[0..P), writes next[0..D).
///   It has no side effects and depends on nothing but its arguments, so that a step gives the same bits whoever runs it;
/// - optional `jacobian(at, y, x, p, J)`: writes every J(i, j) = d next[i] / d y[j]. Without it only `Method::jacobi` can be
///   used;
/// - optional `jacobian_times(at, y, x, p, v, out)`, for those whose Jacobian is dear: writes out[0..D) = J v. Its diagonal
///   is then estimated with random signs (Hutchinson, Commun. Stat. 1990), for the quasi methods;
/// - optional `jacobian_blocks`, a `static constexpr JacobianBlocks` with a size of 2, 3 or 4, for
///   `Method::block_quasi_newton`; size * stride divides D.
///
/// Declare the array arguments `auto`: their type is the library's choice.
template <class R>
concept Recurrence = std::copyable<R> && std::floating_point<typename R::scalar_type> && (R::state_size >= 1) &&
                     (R::input_size >= 0) &&
                     requires(const R& recurrence, StepContext at, const typename R::scalar_type* in,
                              typename R::scalar_type* next) { recurrence.step(at, in, in, in, next); };

/// \brief A recurrence that also supplies the matrix of derivatives of its step.
template <class R>
concept RecurrenceWithJacobian =
    Recurrence<R> && requires(const R& recurrence, StepContext at, const typename R::scalar_type* in,
                              JacobianRef<typename R::scalar_type> jacobian) {
      recurrence.jacobian(at, in, in, in, jacobian);
    };

/// \brief A recurrence that supplies products of that matrix with a vector, and not the matrix.
template <class R>
concept RecurrenceWithJacobianTimes =
    Recurrence<R> && !RecurrenceWithJacobian<R> &&
    requires(const R& recurrence, StepContext at, const typename R::scalar_type* in, typename R::scalar_type* out) {
      recurrence.jacobian_times(at, in, in, in, in, out);
    };

namespace impl {

struct NamesJacobian {
  int jacobian;
};
template <class R>
struct MaybeNamesJacobian : R, NamesJacobian {};

/// Whether a class has any member called `jacobian`: then the name is ambiguous beside another one.
template <class R>
constexpr bool names_jacobian() {
  if constexpr (std::is_final_v<R>) {
    return false;
  } else {
    return !requires { &MaybeNamesJacobian<R>::jacobian; };
  }
}

}  // namespace impl

/// \brief Number of parameters of a recurrence; 0 where it declares none.
template <class R>
constexpr int parameter_size_of() {
  if constexpr (requires { R::parameter_size; }) {
    return R::parameter_size;
  } else {
    return 0;
  }
}

/// \brief Blocks that a recurrence's Jacobian falls into; none where it names none.
template <class R>
constexpr JacobianBlocks jacobian_blocks_of() {
  if constexpr (requires { R::jacobian_blocks; }) {
    constexpr JacobianBlocks blocks = R::jacobian_blocks;
    static_assert(blocks.size >= 2 && blocks.size <= 4, "Elaphos: jacobian_blocks.size is 2, 3 or 4");
    static_assert(blocks.stride >= 1 && R::state_size % (blocks.size * blocks.stride) == 0,
                  "Elaphos: size * stride of jacobian_blocks must divide state_size");
    return blocks;
  } else {
    return {};
  }
}

/// \brief A recurrence together with the parameters that its steps read.
template <Recurrence R, class ParameterView>
struct BoundRecurrence {
  R recurrence;
  ParameterView parameters;
};

/// \brief Ties a recurrence to its parameters, a rank-1 View of at least `parameter_size` numbers that the solving
/// execution space can read. The View is not copied: what it holds when the solve runs is what the steps see.
template <Recurrence R, class ParameterView>
BoundRecurrence<R, ParameterView> bind_parameters(const R& recurrence, const ParameterView& parameters) {
  static_assert(parameter_size_of<R>() > 0, "Elaphos: bind_parameters needs a recurrence that declares parameter_size");
  return {recurrence, parameters};
}

}  // namespace elaphos

#endif
