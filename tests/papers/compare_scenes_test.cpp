// The four examples of O. Brüls, V. Acary and A. Cardona as scenes (scenes/papers/), run beside
// each other: the numbers of recipe 004 §3 once more, by bodies in space with a revolute and a
// planar joint in place of the plane's coordinates, and by bushings in place of bar elements.
#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/paths.h"
#include "urto/analysis/compare.h"
#include "urto/scene/scene.h"

namespace urto {
namespace {

/// The source's choices, and by which stepper.
Comparison compare(const std::string& name, const std::vector<std::string>& quantities) {
  CompareRequest request;
  Scene scene;
  for (const char* stepper : {"nonsmooth-alpha", "moreau-jean"}) {
    const std::vector<std::string> set = {
        std::string("simulation.stepper=") + stepper, "simulation.restitution_bound=source",
        "simulation.restart=false",
        std::string("simulation.activation=") +
            (stepper == std::string("moreau-jean") ? "end" : "free")};
    scene = load_scene(samples::scenes_dir() / "papers" / (name + ".json"), set);
    request.cases.push_back({.label = stepper, .method = stepper, .options = scene.options});
  }
  if (name != "elastic-bar")
    request.cases[0].options.stepper.alpha_algorithm = AlphaAlgorithm::monolithic;
  request.quantities = quantities;
  return compare_runs(scene.model, request);
}

double at(const ComparedRun& run, std::size_t quantity, double t) {
  const double h = run.time[1] - run.time[0];
  return run.values[quantity].at(static_cast<std::size_t>(std::lround(t / h)));
}

TEST(CompareScenes, BallRestsOnTheFloorOrALittleInIt) {
  const Comparison found =
      compare("bouncing-ball", {"ball.z", "energy", "normal-impulse", "normal-nu", "gap"});
  const ComparedRun &alpha = found.runs[0], &moreau = found.runs[1];
  EXPECT_GE(alpha.least_gap, -1e-12);
  EXPECT_LT(alpha.largest_gain, 1e-14);
  EXPECT_NEAR(at(alpha, 2, 0.402), 7.2200, 6e-5);
  EXPECT_NEAR(at(alpha, 3, 0.402), 7.02e-3, 6e-6);
  EXPECT_NEAR(at(alpha, 2, 1.042), 5.7440, 6e-5);
  EXPECT_NEAR(at(alpha, 2, 4) / 2e-3, 10, 1e-9);
  EXPECT_NEAR(at(alpha, 3, 4), 2e-5, 1e-12);
  EXPECT_NEAR(moreau.least_gap, -1.67e-5, 6e-8);
  EXPECT_NEAR(at(moreau, 4, 4), -1.67e-5, 6e-8);
}

// At h = 1 ms the second impact falls on the end of a step, 6e-15 m deep: a problem of positions
// all of whose numbers are next to nothing.
TEST(CompareScenes, BallMeetsItsToleranceWhateverTheStep) {
  const Scene scene = load_scene(samples::scenes_dir() / "papers/bouncing-ball.json");
  CompareRequest request;
  for (const double h : {4e-3, 2e-3, 1e-3, 5e-4, 3.7e-4}) {
    request.cases.push_back({.label = std::to_string(h), .options = scene.options});
    request.cases.back().options.step = h;
  }
  for (const ComparedRun& run : compare_runs(scene.model, request).runs) {
    EXPECT_EQ(run.missed, 0) << run.label;
    EXPECT_LE(run.worst_residual, 1e-11) << run.label;
  }
}

TEST(CompareScenes, PendulumsHingeHoldsOrDrifts) {
  const Comparison found =
      compare("bouncing-pendulum", {"hinge.smooth-1", "hinge.impulse-1", "normal-force", "energy",
                                    "joint-error", "joint-rate", "normal-nu"});
  const ComparedRun &alpha = found.runs[0], &moreau = found.runs[1];
  EXPECT_NEAR(at(alpha, 0, 6), -50.0 / 11, 1e-8);
  EXPECT_NEAR(at(alpha, 1, 6) / 1e-3, -60.0 / 11, 1e-8);
  EXPECT_NEAR(at(alpha, 2, 6), 10, 1e-8);
  EXPECT_NEAR(at(alpha, 3, 6), -7.071068, 1e-6);
  EXPECT_NEAR(at(alpha, 6, 6), 5e-6, 1e-12);
  EXPECT_NEAR(alpha.largest_gain, 1.1e-4, 1e-5);
  for (const std::size_t k : {std::size_t{4}, std::size_t{5}})
    EXPECT_LE(*std::ranges::max_element(alpha.values[k]), 1e-11);
  EXPECT_NEAR(*std::ranges::max_element(moreau.values[4]), 4.6e-4, 1e-5);
  EXPECT_NEAR(at(moreau, 3, 6), -7.063846, 1e-6);
  EXPECT_NEAR(at(alpha, 2, 0.487), 11.7402 / 1e-3, 0.06);
}

// Lumped masses: of recipe 004 §3.3 the columns that say so.
TEST(CompareScenes, BarLosesHalfAPercentOrFive) {
  const Comparison found = compare("elastic-bar", {"energy", "normal-force", "gap"});
  const ComparedRun &alpha = found.runs[0], &moreau = found.runs[1];
  const double t[] = {0.504, 0.6, 1.0, 1.2, 1.6};
  const double by_alpha[] = {498.19, 498.07, 497.73, 497.61, 497.39};
  const double by_moreau[] = {497.68, 491.91, 482.11, 478.91, 476.32};
  for (int k = 0; k < 5; ++k) {
    EXPECT_NEAR(at(alpha, 0, t[k]), by_alpha[k], 6e-3);
    EXPECT_NEAR(at(moreau, 0, t[k]), by_moreau[k], 6e-3);
  }
  EXPECT_GE(alpha.least_gap, -1e-12);
  EXPECT_NEAR(moreau.least_gap, -3.889e-3, 1e-6);
  double mean = 0;
  int steps = 0;
  for (double s = 0.55; s < 1.1; s += 2e-3, ++steps) mean += at(alpha, 1, s);
  EXPECT_NEAR(mean / steps, 300, 0.05);
  EXPECT_EQ(at(alpha, 1, 0.500), 0);
  EXPECT_GT(at(alpha, 1, 0.502), 0);
  EXPECT_GT(at(alpha, 1, 1.168), 0);
  EXPECT_EQ(at(alpha, 1, 1.176), 0);
}

TEST(CompareScenes, BlockComesToRestOnItsCorners) {
  const Comparison found =
      compare("rocking-block", {"block.z", "energy", "normal-impulse", "plane.angle"});
  const ComparedRun &alpha = found.runs[0], &moreau = found.runs[1];
  const double t[] = {0.1, 0.25, 0.5, 0.75};
  const double energy[] = {9.8100, 8.9593, 7.7026, 7.3575};
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(at(alpha, 1, t[k]), energy[k], 6e-5);
  EXPECT_NEAR(at(alpha, 2, 0.19), 1.8929, 6e-5);
  EXPECT_NEAR(at(alpha, 2, 0.30), 1.8256, 6e-5);
  EXPECT_NEAR(at(alpha, 0, 3), 0.75, 1e-12);
  EXPECT_NEAR(at(alpha, 3, 3), -0.2, 1e-12);
  EXPECT_NEAR(at(alpha, 2, 3), 2 * 0.04905, 1e-9);
  EXPECT_NEAR(at(moreau, 0, 3), 0.749473, 1e-6);
  EXPECT_NEAR(at(moreau, 1, 3), 7.352334, 1e-6);
}

}  // namespace
}  // namespace urto
