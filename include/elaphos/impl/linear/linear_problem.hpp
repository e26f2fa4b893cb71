// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_LINEAR_PROBLEM_HPP
#define ELAPHOS_IMPL_LINEAR_LINEAR_PROBLEM_HPP

#include <elaphos/impl/linear/affine_map.hpp>
#include <elaphos/impl/pack.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// The widest block that is compiled.
inline constexpr int widest_block = 128;

/// Where the coefficients lie: strides, in numbers, of time, sequence, block, row and column. A stride is 0 where the
/// coefficients do not depend on it.
template <class Scalar>
struct CoefficientStrides {
  const Scalar* data = nullptr;
  std::int64_t time = 0, sequence = 0, block = 0, row = 0, column = 0;
};

/// y_t = A_t y_{t-1} + b_t for `batch` sequences of `blocks` independent states of `block_size` numbers, all in memory.
///
/// Kernels count positions p = 0, 1, ... in the order in which the recurrence runs; `reversed` makes that T - 1 - p in
/// memory. A `channel` is a block of a sequence: sequence * blocks + block.
template <class Scalar>
struct LinearProblem {
  CoefficientStrides<Scalar> a;
  const Scalar* b = nullptr;   ///< (T, B, D), or null for zeros
  const Scalar* y0 = nullptr;  ///< (B, D) or, packed, (sequences, D); null for zeros
  Scalar* y = nullptr;         ///< (T, B, D), or null where only the end is wanted
  Scalar* end = nullptr;       ///< (B, D), the state behind the last step; or null
  std::int64_t steps = 0;
  std::int64_t batch = 0;
  std::int64_t blocks = 0;
  int block_size = 0;
  bool reversed = false;
  /// The adjoint's coefficients: those of the step before in running order, transposed; the first step has the identity.
  bool previous_coefficients = false;
  /// The coefficients are products that may have overflowed: states leap over them.
  bool composed = false;
  /// Of packed sequences, or of their tiles: a map with zeros for coefficients forgets whatever was before.
  bool packed = false;
  /// Packed sequences: at each position in memory 0, or 1 + the number of the sequence whose first step (in running
  /// order) it is; or null.
  const std::int32_t* starts = nullptr;

  KOKKOS_FUNCTION std::int64_t channels() const { return batch * blocks; }
  KOKKOS_FUNCTION std::int64_t width() const { return blocks * block_size; }
  KOKKOS_FUNCTION std::int64_t time(std::int64_t p) const { return reversed ? steps - 1 - p : p; }
};

/// Reads one channel of a problem as maps of `size` >= block_size numbers, padded with zeros.
template <class Scalar, int size>
class ChannelReader {
 public:
  using Map = AffineMap<Scalar, size>;
  const LinearProblem<Scalar>& problem;
  std::int64_t first_entry;   // of the channel in (B, D)
  std::int64_t first_of_y0;   // packed: of the channel in (D)
  const Scalar* coefficients;

  KOKKOS_FUNCTION ChannelReader(const LinearProblem<Scalar>& of, std::int64_t channel) : problem(of) {
    const std::int64_t sequence = channel / of.blocks, block = channel - sequence * of.blocks;
    first_entry = channel * of.block_size;
    first_of_y0 = block * of.block_size;
    coefficients = of.a.data + sequence * of.a.sequence + block * of.a.block;
  }

  /// Whether all `size` numbers are the block's.
  KOKKOS_FORCEINLINE_FUNCTION bool real(int r) const { return size == 1 || r < problem.block_size; }

  KOKKOS_FORCEINLINE_FUNCTION std::int64_t entry(std::int64_t t) const {
    return t * problem.batch * problem.width() + first_entry;
  }

  /// The state before the first step; zeros for packed sequences, which bring their own.
  KOKKOS_FORCEINLINE_FUNCTION void initial_state(Scalar (&state)[size]) const {
    const bool given = problem.y0 != nullptr && problem.starts == nullptr;
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) state[r] = given && real(r) ? problem.y0[first_entry + r] : Scalar(0);
  }

  /// Of a packed sequence whose first step position p is: 1 + its number; else 0.
  KOKKOS_FORCEINLINE_FUNCTION std::int32_t start(std::int64_t p) const {
    return problem.starts == nullptr ? 0 : problem.starts[problem.time(p)];
  }

  /// A number of the first state of packed sequence `its_start` - 1; where y0 is given.
  KOKKOS_FORCEINLINE_FUNCTION Scalar first_state(std::int32_t its_start, int r) const {
    return problem.y0[(its_start - 1) * problem.width() + first_of_y0 + r];
  }

  /// The coefficients of position p, or null for the identity.
  KOKKOS_FORCEINLINE_FUNCTION const Scalar* matrix(std::int64_t p) const {
    const std::int64_t t = problem.time(p);
    if (!problem.previous_coefficients) return coefficients + t * problem.a.time;
    if (p == 0 || start(p) != 0) return nullptr;
    return coefficients + (problem.reversed ? t + 1 : t - 1) * problem.a.time;
  }

  /// The map of position p. A packed sequence's first step is the constant map to its own first state.
  KOKKOS_FORCEINLINE_FUNCTION Map map(std::int64_t p) const {
    Map out;
    const std::int64_t t = problem.time(p);
    const std::int32_t its_start = start(p);
    const Scalar* from = matrix(p);
    if (from == nullptr) {
      out.set_identity();
    } else if (whole() && problem.a.row == size) {
      // Of one piece, so that offsets are known when this is compiled.
      Scalar numbers[size * size];
      read_numbers(from, numbers);
      out.set_matrix(numbers);
    } else {
      ELAPHOS_UNROLL
      for (int r = 0; r < size; ++r) {
        ELAPHOS_UNROLL
        for (int c = 0; c < size; ++c) {
          out.A[r][c] = real(r) && real(c) ? from[r * problem.a.row + c * problem.a.column] : Scalar(0);
        }
      }
    }
    if (problem.b == nullptr) {
      ELAPHOS_UNROLL
      for (int r = 0; r < size; ++r) out.b[r] = Scalar(0);
    } else {
      read(problem.b + entry(t), out.b);
    }
    if (its_start != 0) {
      Scalar state[size];
      ELAPHOS_UNROLL
      for (int r = 0; r < size; ++r) {
        state[r] = problem.y0 != nullptr && real(r) ? first_state(its_start, r) : Scalar(0);
      }
      out.step(state);  // from what the caller gives
      ELAPHOS_UNROLL
      for (int r = 0; r < size; ++r) {
        out.b[r] = state[r];
        ELAPHOS_UNROLL
        for (int c = 0; c < size; ++c) out.A[r][c] = Scalar(0);
      }
    }
    return out;
  }

  KOKKOS_FORCEINLINE_FUNCTION void advance(const Map& map, Scalar (&state)[size]) const {
    if (problem.composed || problem.packed) {
      map.leap(state, problem.packed);
    } else {
      map.step(state);
    }
  }

  /// Where the channel's numbers of step `at` lie in (steps, channels, block_size).
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t place(std::int64_t at) const {
    return at * problem.channels() * problem.block_size + first_entry;
  }

  /// Keeps a composed map as step `at` of a shorter problem: A (steps, channels, K, K), b (steps, channels, K).
  KOKKOS_FORCEINLINE_FUNCTION void write_map(std::int64_t at, const Map& map, Scalar* A, Scalar* b) const {
    const std::int64_t to = place(at);
    const int K = problem.block_size;
    write(map.b, b + to);
    if (whole()) {
      Scalar numbers[size * size];
      map.get_matrix(numbers);
      return write_numbers(A + to * size, numbers);
    }
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      if (!real(r)) continue;
      ELAPHOS_UNROLL
      for (int c = 0; c < size; ++c) {
        if (real(c)) A[(to + r) * K + c] = map.A[r][c];
      }
    }
  }

  KOKKOS_FORCEINLINE_FUNCTION void read_state(const Scalar* states, std::int64_t at, Scalar (&state)[size]) const {
    read(states + place(at), state);
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t p, const Scalar (&state)[size]) const {
    if (problem.y != nullptr) write(state, problem.y + entry(problem.time(p)));
  }

  KOKKOS_FORCEINLINE_FUNCTION void write_end(const Scalar (&state)[size]) const {
    if (problem.end != nullptr) write(state, problem.end + first_entry);
  }

 private:
  /// Whether blocks are as wide as this is compiled for.
  KOKKOS_FORCEINLINE_FUNCTION bool whole() const { return size == 1 || problem.block_size == size; }

  KOKKOS_FORCEINLINE_FUNCTION void read(const Scalar* from, Scalar (&numbers)[size]) const {
    if (whole()) return read_numbers(from, numbers);
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) numbers[r] = real(r) ? from[r] : Scalar(0);
  }
  KOKKOS_FORCEINLINE_FUNCTION void write(const Scalar (&numbers)[size], Scalar* to) const {
    if (whole()) return write_numbers(to, numbers);
    ELAPHOS_UNROLL
    for (int r = 0; r < size; ++r) {
      if (real(r)) to[r] = numbers[r];
    }
  }
};

}  // namespace elaphos::impl

#endif
