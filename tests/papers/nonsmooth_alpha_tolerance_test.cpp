// Error against tolerance of error-controlled steps with impacts and friction, and the steps that
// they take beside fixed ones of the same error: a rocking block, stick and slip, Newton's cradle.
// The ball is in nonsmooth_alpha_control_test.cpp. There is no closed form: the truth is a run with
// a tolerance a hundred times smaller.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/paths.h"
#include "urto/analysis/compare.h"
#include "urto/scene/scene.h"

namespace urto {
namespace {

struct Sweep {
  std::vector<ComparedRun> controlled, fixed;
  double order = 0, scatter = 0;  ///< of log error over log tolerance, by least squares
};

Sweep sweep(const std::string& name, double duration, const std::vector<double>& tolerances,
            const std::vector<double>& steps) {
  const Scene scene =
      load_scene(samples::scenes_dir() / (name + ".json"),
                 std::vector<std::string>{"simulation.stepper=nonsmooth-alpha",
                                          "simulation.tolerance=1e-10", "simulation.max_step=0.1",
                                          "simulation.duration=" + std::to_string(duration)});
  CompareRequest request;
  for (const double tolerance : tolerances) {
    request.cases.push_back({.label = "controlled", .method = "a", .options = scene.options});
    request.cases.back().options.adaptive = true;
    request.cases.back().options.error_tolerance = tolerance;
  }
  request.reference = request.cases.back();
  request.reference.options.error_tolerance = 0.01 * tolerances.back();
  request.reference.options.max_step = 1e-4;  // straight lines between its steps
  for (const double h : steps) {
    request.cases.push_back({.label = "fixed", .method = "b", .options = scene.options});
    request.cases.back().options.step = h;
  }
  const Comparison found = compare_runs(scene.model, request);
  EXPECT_EQ(found.truth_failure, "");
  Sweep out;
  for (const ComparedRun& run : found.runs) {
    EXPECT_EQ(run.failure, "") << name;
    (run.adaptive ? out.controlled : out.fixed).push_back(run);
  }
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const ComparedRun& run : out.controlled) {
    const double x = std::log10(run.tolerance), y = std::log10(run.mean_error);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  out.order = (n * sxy - sx * sy) / (n * sxx - sx * sx);
  for (const ComparedRun& run : out.controlled) {
    const double line = (sy - out.order * sx) / n + out.order * std::log10(run.tolerance);
    out.scatter = std::max(out.scatter, std::abs(std::log10(run.mean_error) - line));
  }
  return out;
}

/// Every fixed step that takes no more steps than a controlled run is worse than that run.
void expect_fewer_steps(const Sweep& s) {
  for (const ComparedRun& fixed : s.fixed) {
    for (const ComparedRun& run : s.controlled) {
      if (fixed.steps <= run.steps + run.rejected) {
        EXPECT_GT(fixed.mean_error, run.mean_error)
            << fixed.steps << " fixed steps against " << run.steps << " and " << run.rejected;
      }
    }
  }
}

TEST(AlphaTolerance, RockingBlock) {
  const Sweep s =
      sweep("papers/rocking-block", 3, {1e-2, 1e-3, 1e-4, 1e-5, 1e-6}, {1e-2, 3e-3, 1e-3, 3e-4});
  EXPECT_NEAR(s.order, 0.9, 0.2);
  EXPECT_LT(s.scatter, 0.4);
  expect_fewer_steps(s);
}

// Where friction turns round within a step its error is as h², so that h is as tol^½, and with it
// the error of a motion that does so again and again.
TEST(AlphaTolerance, StickAndSlip) {
  const Sweep s = sweep("stick-slip", 2, {1e-5, 1e-6, 1e-7, 1e-8, 1e-9}, {1e-2, 3e-3, 1e-3});
  EXPECT_NEAR(s.order, 0.5, 0.12);
  EXPECT_LT(s.scatter, 0.4);
  expect_fewer_steps(s);
}

// Few impacts, much swinging: the smooth part's error, as tol^(2/3).
TEST(AlphaTolerance, NewtonsCradle) {
  const Sweep s = sweep("newtons-cradle", 1.2, {1e-5, 1e-6, 1e-7, 1e-8, 1e-9}, {3e-3, 1e-3, 3e-4});
  EXPECT_NEAR(s.order, 0.65, 0.15);
  EXPECT_LT(s.scatter, 0.3);
  expect_fewer_steps(s);
}

}  // namespace
}  // namespace urto
