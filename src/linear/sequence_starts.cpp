// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "../execution_spaces.hpp"

#include <elaphos/impl/linear/solve_linear.hpp>

#include <Kokkos_Core.hpp>

namespace elaphos::impl {

namespace {

struct ClearStarts {
  std::int32_t* starts;
  KOKKOS_FUNCTION void operator()(std::int64_t t) const { starts[t] = 0; }
};

struct MarkStarts {
  std::int32_t* starts;
  const std::int64_t* offsets;
  bool reversed;

  KOKKOS_FUNCTION void operator()(std::int64_t sequence) const {
    const std::int64_t begin = offsets[sequence], end = offsets[sequence + 1];
    if (begin < end) starts[reversed ? end - 1 : begin] = static_cast<std::int32_t>(sequence + 1);
  }
};

}  // namespace

template <class ExecutionSpace>
std::int32_t* mark_sequence_starts(const ExecutionSpace& exec, const std::int64_t* offsets, std::int64_t sequences,
                                   std::int64_t steps, bool reversed, Workspace<ExecutionSpace>& workspace) {
  std::int32_t* const starts =
      workspace.template reserve<std::int32_t>(exec, Buffer::sequence_starts, static_cast<std::size_t>(steps));
  using Range = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("Elaphos::clear_starts", Range(exec, 0, steps), ClearStarts{starts});
  Kokkos::parallel_for("Elaphos::mark_starts", Range(exec, 0, sequences), MarkStarts{starts, offsets, reversed});
  return starts;
}

#define ELAPHOS_INSTANTIATE(Space)                                                                                    \
  template std::int32_t* mark_sequence_starts<Space>(const Space&, const std::int64_t*, std::int64_t, std::int64_t, \
                                                     bool, Workspace<Space>&);
ELAPHOS_FOR_EACH_SPACE(ELAPHOS_INSTANTIATE)

}  // namespace elaphos::impl
