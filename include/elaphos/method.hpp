// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_METHOD_HPP
#define ELAPHOS_METHOD_HPP

#include <string>

namespace elaphos {

/// \brief How a change of a node, the state in which a segment begins, is carried on to the nodes behind it.
///
/// With one step per segment these are the published methods, with longer segments their multiple-shooting forms.
enum class Method {
  automatic,     ///< the planner chooses among the first four below
  newton,        ///< products of the Jacobians (Lim et al., ICLR 2024: DEER)
  quasi_newton,  ///< products of the Jacobians' diagonals (Gonzalez et al., NeurIPS 2024: quasi-DEER)
  /// products of the Jacobians' diagonal blocks, which the recurrence names by `jacobian_blocks` (Danieli et al.,
  /// 2025: ParaRNN)
  block_quasi_newton,
  /// nothing: a node becomes its predecessor's end (block Jacobi; Gander and Vandewalle, SIAM J. Sci. Comput. 2007, as
  /// the coarsest case of parareal)
  jacobi,
  levenberg_marquardt,       ///< `newton`, damped where the recurrence amplifies (Gonzalez et al., NeurIPS 2024: ELK)
  quasi_levenberg_marquardt  ///< `quasi_newton`, damped (quasi-ELK)
};

/// \brief Whether corrections are damped.
constexpr bool is_damped(Method method) {
  return method == Method::levenberg_marquardt || method == Method::quasi_levenberg_marquardt;
}

std::string to_string(Method method);

}  // namespace elaphos

#endif
