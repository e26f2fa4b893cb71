// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ceilings.hpp"

#include "plain_copy.hpp"
#include "timing.hpp"

#include <elaphos/impl/elementary.hpp>

#include <algorithm>
#include <limits>
#include <type_traits>

namespace perf {

namespace {

// The best of several runs after one that warms up: what the machine can do when nothing disturbs it.
template <class Work>
double best_seconds(const Exec& exec, const Work& work) {
  double best = std::numeric_limits<double>::max();
  for (int run = 0; run <= 10; ++run) {
    const double seconds = seconds_of(exec, work);
    if (run > 0) best = std::min(best, seconds);
  }
  return best;
}

constexpr bool on_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;

/// What one chain holds: on hosts a vector register, since compilers do not make one of a lone multiply-add.
template <class Scalar>
struct Register {
#if defined(__GNUC__) && !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP) && !defined(KOKKOS_ENABLE_SYCL)
#if defined(__AVX512F__)
  static constexpr int bytes = 64;
#elif defined(__AVX__)
  static constexpr int bytes = 32;
#else
  static constexpr int bytes = 16;
#endif
  typedef Scalar type __attribute__((vector_size(bytes)));
  static constexpr int lanes = bytes / sizeof(Scalar);
  static Scalar first(const type& value) { return value[0]; }
#else
  using type = Scalar;
  static constexpr int lanes = 1;
  KOKKOS_FUNCTION static Scalar first(Scalar value) { return value; }
#endif
};

/// Independent chains of multiply-adds: twelve hide the latency of vector instructions and fit in the registers; on
/// devices other threads hide what is left. Compiled with -ffp-contract=fast (see CMakeLists.txt).
template <class Scalar>
struct MultiplyAdds {
  using Value = typename Register<Scalar>::type;
  static constexpr int chains = 12;
  static constexpr int operations = chains * Register<Scalar>::lanes;

  KOKKOS_FUNCTION static Scalar run(std::int64_t repetitions) {
    Value values[chains];
    for (int c = 0; c < chains; ++c) values[c] = Value{} + Scalar(c) / chains;
    for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
      for (int c = 0; c < chains; ++c) values[c] = values[c] * Scalar(0.999) + Scalar(0.001);
    }
    for (int c = 1; c < chains; ++c) values[0] = values[0] + values[c];
    return Register<Scalar>::first(values[0]);
  }
};

/// Independent chains of the library's sigmoid, in a loop that compilers turn into vector code as in the cells.
template <class Scalar>
struct Activations {
  static constexpr int operations = on_host ? 64 : 8;

  KOKKOS_FUNCTION static Scalar run(std::int64_t repetitions) {
    Scalar values[operations];
    for (int c = 0; c < operations; ++c) values[c] = Scalar(c) / operations;
    for (std::int64_t repetition = 0; repetition < repetitions; ++repetition) {
      for (int c = 0; c < operations; ++c) values[c] = elaphos::impl::sigmoid(values[c]);
    }
    Scalar sum = 0;
    for (int c = 0; c < operations; ++c) sum += values[c];
    return sum;
  }
};

template <class Scalar, class Chains>
struct RunChains {
  std::int64_t repetitions;
  Kokkos::View<Scalar*, Memory> out;

  // The result is kept, or the work would be optimised away.
  KOKKOS_FUNCTION void operator()(std::int64_t worker) const { out(worker) = Chains::run(repetitions); }
};

// Operations a second, from runs of a few milliseconds.
template <class Scalar, class Chains>
double measure_rate(std::int64_t operations_of_a_worker) {
  const Exec exec;
  const std::int64_t workers = exec.concurrency() * (on_host ? 4 : 1);
  const std::int64_t repetitions = operations_of_a_worker / Chains::operations;
  const Kokkos::View<Scalar*, Memory> out("perf::out", static_cast<std::size_t>(workers));
  const double seconds = best_seconds(exec, [&] {
    Kokkos::parallel_for("perf::chains", Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, workers),
                         RunChains<Scalar, Chains>{repetitions, out});
  });
  return static_cast<double>(workers) * static_cast<double>(repetitions) * Chains::operations / seconds;
}

}  // namespace

double Ceilings::copy_seconds(double bytes) {
  const std::int64_t count = PlainCopy::count_for(bytes);
  const auto known = m_copies.find(count);
  if (known != m_copies.end()) return known->second;
  const Exec exec;
  const PlainCopy copy(bytes);
  const double seconds = best_seconds(exec, [&] { copy.run(exec); });
  m_copies.emplace(count, seconds);
  return seconds;
}

template <class Scalar>
const ArithmeticRates& Ceilings::rates() {
  auto& known = std::is_same_v<Scalar, float> ? m_float : m_double;
  if (!known) {
    known = ArithmeticRates{measure_rate<Scalar, MultiplyAdds<Scalar>>(on_host ? 50'000'000 : 100'000),
                            measure_rate<Scalar, Activations<Scalar>>(on_host ? 2'000'000 : 10'000)};
  }
  return *known;
}

template <class Scalar>
Floor Ceilings::floor(const SweepModel& sweep) {
  const ArithmeticRates& rates = this->rates<Scalar>();
  Floor floor{copy_seconds(sweep.bytes), "memory"};
  if (const double seconds = sweep.multiply_adds / rates.multiply_adds; seconds > floor.seconds) {
    floor = {seconds, "multiply-adds"};
  }
  if (const double seconds = sweep.activations / rates.activations; seconds > floor.seconds) {
    floor = {seconds, "activations"};
  }
  return floor;
}

template const ArithmeticRates& Ceilings::rates<float>();
template const ArithmeticRates& Ceilings::rates<double>();
template Floor Ceilings::floor<float>(const SweepModel&);
template Floor Ceilings::floor<double>(const SweepModel&);

}  // namespace perf
