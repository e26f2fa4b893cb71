// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_IMPL_LINEAR_NUMBER_TILE_HPP
#define ELAPHOS_IMPL_LINEAR_NUMBER_TILE_HPP

#include <elaphos/impl/linear/tile_team.hpp>
#include <elaphos/impl/unroll.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace elaphos::impl {

/// A tile of channels of one number, which stays in registers between the two walks over a run: 2 words read and 1
/// written a step and channel, whatever happens in between.
///
/// With 32 lanes each load of a warp is a row. With few channels a row is short, and loads go through scratch memory.
/// What is not a plain walk (packed sequences, the ends of the problem, missing offsets) goes step by step.
template <class Member, class Scalar>
struct TileThread<Member, Scalar, 1> : TileTeam<Member, Scalar, 1> {
  using Team = TileTeam<Member, Scalar, 1>;
  using Map = AffineMap<Scalar, 1>;
  using Team::lane, Team::member, Team::reader, Team::real, Team::run, Team::shape, Team::shared;
  static constexpr int steps = steps_in_a_run<1>;

  Scalar a[steps], b[steps];

  KOKKOS_FUNCTION TileThread(const Member& of, const LinearProblem<Scalar>& problem, const TileShape& its_shape,
                             std::int64_t its_group)
      : Team(of, problem, its_shape, its_group) {}

  /// Whether tiles of a problem may be staged: neighbouring channels have neighbouring numbers.
  static bool can_stage(const LinearProblem<Scalar>& of) {
    const bool rows = (of.blocks == 1 || of.a.block == 1) && (of.batch == 1 || of.a.sequence == of.blocks);
    return rows && of.starts == nullptr && of.b != nullptr && of.y != nullptr;
  }

  KOKKOS_FUNCTION Map fold(std::int64_t tile) {
    if (shape.staged) {
      stage(tile);
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        const int e = shared.staged_place(((run * steps) + i) * channels() + lane);
        a[i] = real ? shared.a[e] : Scalar(1);
        b[i] = real ? shared.b[e] : Scalar(0);
      }
    } else if (plain(tile)) {
      const Scalar* from_a = coefficients(tile);
      const Scalar* from_b = reader.problem.b + reader.entry(reader.problem.time(this->first_step(tile)));
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) a[i] = from_a[i * a_stride()];
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) b[i] = from_b[i * stride()];
    } else {
      read_step_by_step(tile);
    }
    Scalar product = a[0], offset = b[0];
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) {
      product = a[i] * product;
      offset = multiply_add_any(a[i], offset, b[i]);
    }
    if (is_nan(product) || is_nan(offset)) return fold_again();
    return {{{product}}, {offset}};
  }

  KOKKOS_FUNCTION void walk(std::int64_t tile, Scalar (&state)[1]) {
    if (shape.staged) {
      member.team_barrier();  // everyone has read its numbers
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        if (real) shared.b[shared.staged_place(((run * steps) + i) * channels() + lane)] = state[0];
      }
      member.team_barrier();
      unstage(tile);
    } else if (plain(tile) && reader.problem.y != nullptr) {
      Scalar* to = reader.problem.y + reader.entry(reader.problem.time(this->first_step(tile)));
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        to[i * stride()] = state[0];
      }
    } else {
      const std::int64_t first = this->first_step(tile);
      ELAPHOS_UNROLL
      for (int i = 0; i < steps; ++i) {
        advance(i, state);
        if (real && first + i < reader.problem.steps) reader.write(first + i, state);
      }
    }
  }

 private:
  KOKKOS_FUNCTION int channels() const { return static_cast<int>(reader.problem.channels()); }
  KOKKOS_FUNCTION std::int64_t a_stride() const {
    return reader.problem.reversed ? -reader.problem.a.time : reader.problem.a.time;
  }
  KOKKOS_FUNCTION std::int64_t stride() const {
    const std::int64_t row = reader.problem.channels();
    return reader.problem.reversed ? -row : row;
  }

  // From a step to the one whose coefficients it takes.
  KOKKOS_FUNCTION std::int64_t shift() const {
    if (!reader.problem.previous_coefficients) return 0;
    return reader.problem.reversed ? 1 : -1;
  }

  // Numbers past the problem's end act as the identity.
  KOKKOS_FUNCTION void advance(int i, Scalar (&state)[1]) const { reader.advance(Map{{{a[i]}}, {b[i]}}, state); }

  KOKKOS_FUNCTION bool plain(std::int64_t tile) const {
    const LinearProblem<Scalar>& problem = reader.problem;
    const std::int64_t first = this->first_step(tile);
    return real && problem.starts == nullptr && problem.b != nullptr && first + steps <= problem.steps &&
           !(problem.previous_coefficients && first == 0);
  }

  KOKKOS_FUNCTION const Scalar* coefficients(std::int64_t tile) const {
    const LinearProblem<Scalar>& problem = reader.problem;
    return reader.coefficients + (problem.time(this->first_step(tile)) + shift()) * problem.a.time;
  }

  KOKKOS_FUNCTION void read_step_by_step(std::int64_t tile) {
    const std::int64_t first = this->first_step(tile);
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      Map map;
      map.set_identity();
      if (real && first + i < reader.problem.steps) map = reader.map(first + i);
      a[i] = map.A[0][0];
      b[i] = map.b[0];
    }
  }

  KOKKOS_FUNCTION Map fold_again() const {
    Map total{{{a[0]}}, {b[0]}};
    ELAPHOS_UNROLL
    for (int i = 1; i < steps; ++i) total = compose(total, Map{{{a[i]}}, {b[i]}});
    return total;
  }

  // The tile's number that this thread copies in round i, or -1: neighbours copy neighbouring numbers.
  KOKKOS_FUNCTION int copied(int i, std::int64_t tile, int& row, int& column) const {
    const int C = channels(), e = i * shape.team_size() + member.team_rank();
    row = C == 1 ? e : e / C;
    column = C == 1 ? 0 : e - row * C;
    return row < shape.tile_steps() && tile * shape.tile_steps() + row < reader.problem.steps ? e : -1;
  }

  // All threads copy the tile's rows into scratch. First all loads, then all stores, so that loads do not wait for one
  // another.
  KOKKOS_FUNCTION void stage(std::int64_t tile) {
    const LinearProblem<Scalar>& problem = reader.problem;
    const std::int64_t first = tile * shape.tile_steps(), C = channels();
    member.team_barrier();  // the tile before has been copied out
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      int row, column;
      a[i] = Scalar(1);
      b[i] = Scalar(0);
      if (copied(i, tile, row, column) >= 0) {
        const std::int64_t t = problem.time(first + row);
        b[i] = problem.b[t * C + column];
        if (!problem.previous_coefficients || first + row > 0) {
          a[i] = problem.a.data[(t + shift()) * problem.a.time + column];
        }
      }
    }
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      const int e = i * shape.team_size() + member.team_rank();
      if (e < shape.tile_steps() * C) {
        shared.a[shared.staged_place(e)] = a[i];
        shared.b[shared.staged_place(e)] = b[i];
      }
    }
    member.team_barrier();
  }

  KOKKOS_FUNCTION void unstage(std::int64_t tile) const {
    const LinearProblem<Scalar>& problem = reader.problem;
    const std::int64_t first = tile * shape.tile_steps(), C = channels();
    ELAPHOS_UNROLL
    for (int i = 0; i < steps; ++i) {
      int row, column;
      const int e = copied(i, tile, row, column);
      if (e >= 0) problem.y[problem.time(first + row) * C + column] = shared.b[shared.staged_place(e)];
    }
  }
};

}  // namespace elaphos::impl

#endif
