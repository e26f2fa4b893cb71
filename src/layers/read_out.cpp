// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "read_out.hpp"

#include "../format.hpp"

#include <elaphos/errors.hpp>

namespace elaphos::impl {

void check_readout(const ArrayShape& weights, const ArrayShape& bias) {
  if (weights.extents[0] == 0 || weights.extents[1] == 0) {
    throw InvalidArgument("weights", extents_of(weights), "(O, H) with O >= 1 and H >= 1");
  }
  if (bias.extents[0] != weights.extents[0]) {
    throw InvalidArgument("bias", extents_of(bias),
                          format("({}), as weights are {}", weights.extents[0], extents_of(weights)));
  }
  expect_contiguous(weights);
  expect_contiguous(bias);
}

void check_read_out(const ArrayShape& weights, const ArrayShape& bias, const ArrayShape& h, const ArrayShape& z) {
  const std::size_t O = weights.extents[0], H = weights.extents[1], T = h.extents[0], B = h.extents[1];
  if (h.extents[2] != H) {
    throw InvalidArgument("h", extents_of(h), format("(T, B, {}), as weights are {}", H, extents_of(weights)));
  }
  if (z.rank == 2) {
    if (T == 0) throw InvalidArgument("h", extents_of(h), "at least one step, as z is of the last one");
    if (!has_extents(z, {B, O}))
      throw InvalidArgument("z", extents_of(z), format("({}, {}), as h is {}", B, O, extents_of(h)));
  } else if (!has_extents(z, {T, B, O})) {
    throw InvalidArgument("z", extents_of(z), format("({}, {}, {}), as h is {}", T, B, O, extents_of(h)));
  }
  expect_contiguous(h);
  expect_contiguous(z);
  for (const ArrayShape* read : {&h, &weights, &bias}) expect_apart(z, *read);
}

}  // namespace elaphos::impl

#define ELAPHOS_INSTANTIATE(Space)                                                                          \
  template void elaphos::impl::enqueue_read_out<Space, float>(const Space&,                                 \
                                                              const elaphos::impl::ReadOutProblem<float>&); \
  template void elaphos::impl::enqueue_read_out<Space, double>(const Space&,                                \
                                                               const elaphos::impl::ReadOutProblem<double>&);
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)
