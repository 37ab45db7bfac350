// Runs of one scene beside each other: several steppers, steps and solvers, at once on as many
// threads, each against the same truth. `urto compare` is this with flags, docs/compare.md the
// user's page.
//
// The error of a run is a function of time, e(t) = max over bodies of ‖x − x*‖ and of the angle
// between the rotations [m, rad], or, where the truth is a closed form, the largest difference of
// the quantities that it gives. x* is a run at a finer step, taken linearly between its steps.
// Impacts make the largest error of any run of the size of the motion, at the time between its
// impact and the true one; the mean over time tells more.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "urto/analysis/run_quantity.h"

namespace urto {

struct CompareCase {
  std::string label = {};   ///< of the run
  std::string method = {};  ///< of its line in a convergence plot: all but the step
  SimulationOptions options = {};
};

/// A closed form of one quantity.
struct KnownQuantity {
  std::string name = {};
  std::function<double(double t)> value = {};
};

struct CompareRequest {
  std::vector<CompareCase> cases = {};
  std::vector<std::string> quantities = {};
  /// Of runs: the one that the others are measured by, or …
  CompareCase reference = {};
  /// … closed forms, which come before a reference run.
  std::vector<KnownQuantity> known = {};
  double gap_reach = 0;  ///< [m] gaps up to so much are seen; 0 chooses
  int threads = 1;
  /// Asked now and then, by any thread but one at a time, with the part of all work that is done
  /// and how many runs are; false ends all runs.
  std::function<bool(double part, int runs)> go_on = {};
};

struct ComparedRun {
  std::string label = {}, method = {};
  bool adaptive = false;
  double step = 0;       ///< [s] the first one when adaptive
  double tolerance = 0;  ///< of adaptive steps

  std::vector<double> time = {};                 ///< of the start and every step
  std::vector<std::vector<double>> values = {};  ///< quantity by quantity
  std::vector<double> error_time = {}, error = {};

  // Means over time; not-a-number where there is no truth.
  double mean_error = 0, worst_error = 0, last_error = 0;
  long steps = 0, rejected = 0, missed = 0, newton = 0;
  int most_newton = 0;      ///< in one step
  double seconds = 0;       ///< of the thread, of the steps alone
  double least_gap = 0;     ///< [m]; not-a-number without contacts and limits
  double largest_gain = 0;  ///< [J] of a step
  double worst_residual = 0;
  std::string failure = {};  ///< why it ended early; empty: it did not
};

/// e = C hᵖ, by least squares over the logarithms; of adaptive runs e = C tolᵖ.
struct ObservedOrder {
  std::string method = {};
  bool of_tolerance = false;
  double order = 0;
};

struct Comparison {
  std::vector<RunQuantity> quantities = {};
  std::vector<ComparedRun> runs = {};  ///< the reference is not among them
  std::string truth = {};              ///< what it was; empty: there was none
  std::string truth_failure = {};
  std::vector<ObservedOrder> orders = {};
};

/// What a comparison draws if it is not asked: what the scene watches, gaps, joint errors, energy,
/// forces.
std::vector<std::string> default_quantities(const Model& model,
                                            std::span<const std::string> watched);

/// Throws InputError for settings with which no run can begin, naming the run.
Comparison compare_runs(const Model& model, const CompareRequest& request);

}  // namespace urto
