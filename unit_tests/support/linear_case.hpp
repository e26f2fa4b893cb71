// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_SUPPORT_LINEAR_CASE_HPP
#define ELAPHOS_UNIT_TESTS_SUPPORT_LINEAR_CASE_HPP

#include "transfer.hpp"

#include <elaphos/linear_recurrence.hpp>

#include <Kokkos_Complex.hpp>

#include <complex>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace test {

using elaphos::Direction;
using elaphos::LinearOptions;
using elaphos::LinearPlan;
using Kind = elaphos::impl::CoefficientKind;

template <class Scalar>
struct HighPrecision {
  using type = long double;
  using real = Scalar;
  static type from(Scalar value) { return value; }
};
template <class Real>
struct HighPrecision<Kokkos::complex<Real>> {
  using type = std::complex<long double>;
  using real = Real;
  static type from(const Kokkos::complex<Real>& value) { return {value.real(), value.imag()}; }
};

/// A linear recurrence on the host, and its answer by a plain loop in long double.
template <class Scalar>
struct LinearCase {
  using High = typename HighPrecision<Scalar>::type;
  Kind kind = Kind::diagonal;
  bool varying = true;
  std::int64_t T = 0, B = 1;
  int D = 1, K = 1;
  std::vector<Scalar> a, b, y0;

  int blocks() const { return D / K; }

  static Scalar random(std::mt19937_64& generator, double low, double high) {
    std::uniform_real_distribution<double> size(low, high);
    const double value = generator() % 2 == 0 ? size(generator) : -size(generator);
    if constexpr (std::is_floating_point_v<Scalar>) {
      return static_cast<Scalar>(value);
    } else {
      using Real = typename HighPrecision<Scalar>::real;
      const double angle = std::uniform_real_distribution<double>(0, 6.3)(generator);
      return {static_cast<Real>(value * std::cos(angle)), static_cast<Real>(value * std::sin(angle))};
    }
  }

  /// Coefficients of size `gain`, mostly; with both growing and decaying stretches when it varies.
  static LinearCase make(Kind kind, bool varying, std::int64_t T, std::int64_t B, int D, int K, double gain,
                         std::uint64_t seed) {
    std::mt19937_64 generator(seed);
    LinearCase out{kind, varying, T, B, D, kind == Kind::block ? K : (kind == Kind::dense ? D : 1), {}, {}, {}};
    const std::int64_t own = kind == Kind::scalar ? 1 : std::int64_t(D) * out.K;
    const double scale = gain / std::sqrt(double(out.K));
    out.a.reserve(std::size_t((varying ? T * B : 1) * own));
    out.b.reserve(std::size_t(T * B * D));
    for (std::int64_t i = 0; i < (varying ? T * B : 1) * own; ++i) {
      out.a.push_back(random(generator, 0.3 * scale, 1.2 * scale));
    }
    for (std::int64_t i = 0; i < T * B * D; ++i) out.b.push_back(random(generator, 0, 1));
    for (std::int64_t i = 0; i < B * D; ++i) out.y0.push_back(random(generator, 0, 1));
    return out;
  }

  High coefficient(std::int64_t t, std::int64_t s, int block, int r, int c) const {
    const std::int64_t base = varying ? t * B + s : 0;
    if (kind == Kind::scalar) return r == c ? HighPrecision<Scalar>::from(a[std::size_t(base)]) : High(0);
    const std::int64_t at = ((base * blocks() + block) * K + r) * K + c;
    return HighPrecision<Scalar>::from(a[std::size_t(at)]);
  }

  struct Answer {
    std::vector<High> y;          // (T, B, D)
    std::vector<long double> error;  // what rounding may do to each, to first order
    std::vector<High> end;        // (B, D)
  };

  /// y by the loop, from `start` (B, D), with b or without.
  Answer loop(const LinearOptions& options, const std::vector<High>& start, bool with_b = true) const {
    const bool reversed = (options.direction == Direction::reverse) != options.adjoint;
    const long double eps = std::numeric_limits<typename HighPrecision<Scalar>::real>::epsilon();
    Answer out{std::vector<High>(std::size_t(T * B * D)), std::vector<long double>(std::size_t(T * B * D)), start};
    std::vector<long double> size(std::size_t(B * D)), error(std::size_t(B * D));
    for (std::size_t i = 0; i < size.size(); ++i) size[i] = std::abs(start[i]);
    std::vector<High> next(std::size_t(K), High(0));
    std::vector<long double> next_size(std::size_t(K), 0), next_error(std::size_t(K), 0);
    for (std::int64_t p = 0; p < T; ++p) {
      const std::int64_t t = reversed ? T - 1 - p : p;
      for (std::int64_t s = 0; s < B; ++s) {
        for (int block = 0; block < blocks(); ++block) {
          for (int r = 0; r < K; ++r) {
            next[std::size_t(r)] = High(0);
            next_size[std::size_t(r)] = next_error[std::size_t(r)] = 0;
            for (int c = 0; c < K; ++c) {
              High factor = r == c ? High(1) : High(0);
              if (!options.adjoint) {
                factor = coefficient(t, s, block, r, c);
              } else if (p > 0) {
                factor = coefficient(reversed ? t + 1 : t - 1, s, block, c, r);
              }
              const std::size_t from = std::size_t(s * D + block * K + c);
              next[std::size_t(r)] += factor * out.end[from];
              next_size[std::size_t(r)] += std::abs(factor) * size[from];
              next_error[std::size_t(r)] += std::abs(factor) * error[from];
            }
            const std::size_t at = std::size_t((t * B + s) * D + block * K + r);
            if (with_b) {
              next[std::size_t(r)] += HighPrecision<Scalar>::from(b[at]);
              next_size[std::size_t(r)] += std::abs(HighPrecision<Scalar>::from(b[at]));
            }
            next_error[std::size_t(r)] += (K + 2) * eps * next_size[std::size_t(r)];
            out.y[at] = next[std::size_t(r)];
            out.error[at] = next_error[std::size_t(r)];
          }
          for (int r = 0; r < K; ++r) {
            const std::size_t to = std::size_t(s * D + block * K + r);
            out.end[to] = next[std::size_t(r)];
            size[to] = next_size[std::size_t(r)];
            error[to] = next_error[std::size_t(r)];
          }
        }
      }
    }
    return out;
  }

  std::vector<High> initial() const {
    std::vector<High> out;
    for (const Scalar& value : y0) out.push_back(HighPrecision<Scalar>::from(value));
    return out;
  }

  /// Calls `work` with the coefficients on the device.
  template <class Work>
  void with_coefficients(const Work& work) const {
    const auto flat = numbers_on_device(a);
    const Scalar* data = flat.data();
    const std::size_t t = std::size_t(T), s = std::size_t(B), d = std::size_t(D), k = std::size_t(K),
                      m = std::size_t(blocks());
    using R = Kokkos::LayoutRight;
    if (kind == Kind::scalar && varying) {
      work(elaphos::scalar_coefficients(Kokkos::View<const Scalar**, R, Memory>(data, t, s)));
    }
    if (kind == Kind::scalar && !varying) {
      work(elaphos::scalar_coefficients(Kokkos::View<const Scalar, R, Memory>(data)));
    }
    if (kind == Kind::diagonal && varying) {
      work(elaphos::diagonal_coefficients(Kokkos::View<const Scalar***, R, Memory>(data, t, s, d)));
    }
    if (kind == Kind::diagonal && !varying) {
      work(elaphos::diagonal_coefficients(Kokkos::View<const Scalar*, R, Memory>(data, d)));
    }
    if constexpr (std::is_floating_point_v<Scalar>) {
      if (kind == Kind::block && varying) {
        work(elaphos::block_coefficients(Kokkos::View<const Scalar*****, R, Memory>(data, t, s, m, k, k)));
      }
      if (kind == Kind::block && !varying) {
        work(elaphos::block_coefficients(Kokkos::View<const Scalar***, R, Memory>(data, m, k, k)));
      }
      if (kind == Kind::dense && varying) {
        work(elaphos::dense_coefficients(Kokkos::View<const Scalar****, R, Memory>(data, t, s, d, d)));
      }
      if (kind == Kind::dense && !varying) {
        work(elaphos::dense_coefficients(Kokkos::View<const Scalar**, R, Memory>(data, d, d)));
      }
    }
  }

  static Kokkos::View<Scalar*, Kokkos::LayoutRight, Memory> numbers_on_device(const std::vector<Scalar>& numbers) {
    Kokkos::View<Scalar*, Kokkos::LayoutRight, Memory> out("test::numbers", numbers.size());
    const auto host = Kokkos::create_mirror_view(out);
    for (std::size_t i = 0; i < numbers.size(); ++i) host(i) = numbers[i];
    Kokkos::deep_copy(out, host);
    return out;
  }

  elaphos::SequenceView<Scalar, Memory> offsets_on_device() const {
    const elaphos::SequenceView<Scalar, Memory> out("test::b", std::size_t(T), std::size_t(B), std::size_t(D));
    copy_to(b, out);
    return out;
  }
  elaphos::StateView<Scalar, Memory> start_on_device() const {
    const elaphos::StateView<Scalar, Memory> out("test::y0", std::size_t(B), std::size_t(D));
    copy_to(y0, out);
    return out;
  }

  template <class View>
  static void copy_to(const std::vector<Scalar>& numbers, const View& view) {
    const auto host = Kokkos::create_mirror_view(view);
    for (std::size_t i = 0; i < numbers.size(); ++i) host.data()[i] = numbers[i];
    Kokkos::deep_copy(view, host);
  }

  /// Whether at least one step fits in a team's scratch memory, where the plan asks for that.
  bool fits(const LinearOptions& options) const {
    return options.plan != LinearPlan::team_per_tile || fitting_tile(sizeof(Scalar), 1, blocks(), K) > 0;
  }

  std::vector<Scalar> solve(LinearOptions options) const {
    if (options.plan == LinearPlan::team_per_tile) {
      options.scan_tile = fitting_tile(sizeof(Scalar), options.scan_tile, blocks(), K);
    }
    const elaphos::SequenceView<Scalar, Memory> y("test::y", std::size_t(T), std::size_t(B), std::size_t(D));
    Kokkos::deep_copy(y, Scalar(NAN));
    with_coefficients([&](const auto& coefficients) {
      elaphos::Workspace<Exec> workspace;
      elaphos::linear_recurrence(Exec(), coefficients, offsets_on_device(), start_on_device(), y, options, workspace);
      Exec().fence();
    });
    return to_host(y);
  }
};

/// How many times the first-order bound on rounding the worst number is off; NaN counts as infinite.
template <class Scalar>
double worst_error(const std::vector<Scalar>& got, const std::vector<typename HighPrecision<Scalar>::type>& expected,
                   const std::vector<long double>& bound) {
  double worst = got.size() == expected.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    const long double off = std::abs(HighPrecision<Scalar>::from(got[i]) - expected[i]);
    const double times = static_cast<double>(off / (bound[i] + std::numeric_limits<float>::denorm_min()));
    if (!(times <= worst)) worst = std::isnan(times) ? INFINITY : times;
  }
  return worst;
}

}  // namespace test

#endif
