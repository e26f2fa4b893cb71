// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ELAPHOS_UNIT_TESTS_TRUTH_TABLE_HPP
#define ELAPHOS_UNIT_TESTS_TRUTH_TABLE_HPP

#include "../support/layers.hpp"
#include "../support/systems.hpp"

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace truth {

/// A system with its data, ready to be solved by any method.
struct Case {
  std::string name;
  std::int64_t T;
  int D;
  bool has_jacobian;
  /// Chaotic: what a solve within tolerance is off by says nothing, since the loop itself depends on its last bits.
  bool chaotic;
  elaphos::Tolerance tolerance;  ///< the default of its scalar
  /// What a solve in tolerance mode that calls itself converged may be off by.
  double largest_error;
  std::function<elaphos::SolveReport(const elaphos::SolveOptions&)> solve;
  std::function<std::vector<double>()> states;
  int damped_passes = 64;         ///< passes that a damped method is given, and whether they have to do
  bool damped_converges = false;
};

/// What one method did with one system.
struct Row {
  const Case* system;
  std::string method;
  elaphos::SolveReport report;
  double scale;  ///< largest |y| of the loop that is finite
  double error;  ///< largest difference from the loop; 0 where both are the same, NaN included
  double time;   ///< over the loop's
};

/// Largest difference of entries; entries with the same bits, or NaN in both, do not differ.
inline double difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) continue;
    const double by = std::abs(a[i] - b[i]);
    largest = by <= largest ? largest : (by == by ? by : std::numeric_limits<double>::infinity());
  }
  return largest;
}

inline double seconds(const elaphos::SolveReport& report) {
  return report.seconds->propagate + report.seconds->correct + report.seconds->complete;
}

template <class R>
Case case_of(std::string name, const R& recurrence, std::int64_t T, std::vector<double> y0, std::vector<double> x,
             std::vector<double> p, bool chaotic = false,
             double largest_error = std::numeric_limits<double>::infinity()) {
  const auto system = std::make_shared<test::System<R>>(
      test::System<R>{recurrence, T, 1, std::move(y0), std::move(x), std::move(p)});
  return {std::move(name), T, R::state_size, elaphos::RecurrenceWithJacobian<R>, chaotic,
          elaphos::Tolerance::default_for<double>(), largest_error,
          [system](const elaphos::SolveOptions& options) { return system->solve(options); },
          [system] { return system->y; }};
}

template <class Scalar>
Case case_of(std::string name, const test::LayerProblem<Scalar>& problem, bool chaotic = false) {
  const auto layer = std::make_shared<test::LayerProblem<Scalar>>(problem);
  return {std::move(name), problem.T, problem.layer.state_size(), true, chaotic,
          elaphos::Tolerance::default_for<Scalar>(), std::numeric_limits<double>::infinity(),
          [layer](const elaphos::SolveOptions& options) { return layer->solve(options); },
          [layer] {
            const auto y = test::to_host(layer->y);
            return std::vector<double>(y.begin(), y.end());
          }};
}

/// Solves one system by the loop and by each method.
std::vector<Row> measure(const Case& system,
                         const std::vector<std::pair<std::string, elaphos::SolveOptions>>& methods);

/// Rows as a table in Markdown.
std::string markdown(const std::vector<Row>& rows);

/// The systems, at sizes that a test run can afford or at those that their papers measured.
std::vector<Case> systems(bool full);

}  // namespace truth

#endif
