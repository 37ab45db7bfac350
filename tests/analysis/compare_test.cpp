// Runs beside each other: quantities by name, errors against closed forms and reference runs,
// observed orders.
#include "urto/analysis/compare.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/paths.h"
#include "urto/error.h"
#include "urto/scene/scene.h"

namespace urto {
namespace {

Scene scene_of(const std::string& name, std::vector<std::string> set = {}) {
  return load_scene(samples::scenes_dir() / (name + ".json"), set);
}

CompareCase of(const Scene& scene, const std::string& stepper, double step) {
  CompareCase out{
      .label = stepper + std::to_string(step), .method = stepper, .options = scene.options};
  out.options.stepper.name = stepper;
  out.options.step = step;
  return out;
}

std::string refusal(const Model& model, const std::string& name) {
  try {
    find_quantity(model, name);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(RunQuantity, IsFoundByNameWithItsUnit) {
  const Scene scene = scene_of("papers/bouncing-pendulum");
  EXPECT_EQ(find_quantity(scene.model, "rod.vx").unit, "m/s");
  EXPECT_EQ(find_quantity(scene.model, "rod.wy").unit, "rad/s");
  EXPECT_EQ(find_quantity(scene.model, "hinge.angle").unit, "rad");
  EXPECT_EQ(find_quantity(scene.model, "hinge.angle-rate").unit, "rad/s");
  EXPECT_EQ(find_quantity(scene.model, "hinge.smooth-2").part, 1);
  EXPECT_EQ(find_quantity(scene.model, "gap").unit, "m");
}

TEST(RunQuantity, IsRefusedWithWhatThereIs) {
  const Model model = scene_of("papers/bouncing-pendulum").model;
  EXPECT_NE(refusal(model, "rodd.vx").find("such as 'rod'"), std::string::npos);
  EXPECT_NE(refusal(model, "rod.vq").find("vx"), std::string::npos);
  EXPECT_NE(refusal(model, "hinge.force-0").find("force-1"), std::string::npos);
  EXPECT_NE(refusal(model, "hinge.force-7").find("force-1"), std::string::npos);
  EXPECT_NE(refusal(model, "gasp").find("gap"), std::string::npos);
}

// z = h0 − g t²/2 until the floor: what symplectic Euler is off by at t is g h t/2, its mean over a
// flight of T is g h T/4.
TEST(Compare, MeasuresByAClosedForm) {
  const Scene scene = scene_of("papers/bouncing-ball", {"simulation.duration=0.36"});
  CompareRequest request;
  request.cases = {of(scene, "semi-implicit-euler", 4e-3), of(scene, "semi-implicit-euler", 2e-3)};
  request.known = {{"ball.z", [](double t) { return 1.001 - 5 * t * t; }}};
  const Comparison found = compare_runs(scene.model, request);
  ASSERT_EQ(found.runs.size(), 2U);
  for (const ComparedRun& run : found.runs) {
    EXPECT_EQ(run.failure, "");
    EXPECT_EQ(run.steps, std::lround(0.36 / run.step));
    EXPECT_NEAR(run.last_error, 10 * run.step * 0.36 / 2, 1e-12);
    EXPECT_NEAR(run.mean_error, 10 * run.step * 0.36 / 4, 1e-12);
    EXPECT_NEAR(run.worst_error, run.last_error, 1e-15);
  }
  ASSERT_EQ(found.orders.size(), 1U);
  EXPECT_NEAR(found.orders[0].order, 1, 1e-9);
  EXPECT_EQ(found.truth, "closed form");
}

TEST(Compare, FindsTheOrdersOfSmoothMotionByAReferenceRun) {
  const Scene scene = scene_of("pendulum", {"simulation.duration=0.5"});
  CompareRequest request;
  for (const char* name : {"implicit-euler", "trapezoidal"}) {
    for (const double h : {8e-3, 4e-3, 2e-3}) request.cases.push_back(of(scene, name, h));
  }
  request.reference = of(scene, "trapezoidal", 1e-4);
  request.threads = 2;
  const Comparison found = compare_runs(scene.model, request);
  ASSERT_EQ(found.orders.size(), 2U);
  EXPECT_NEAR(found.orders[0].order, 1, 0.1);
  EXPECT_NEAR(found.orders[1].order, 2, 0.05);
  // The reference is none of the runs.
  EXPECT_EQ(found.runs.size(), 6U);
}

// The same bits whatever the number of threads, and the run itself: nobody measures by disturbing.
TEST(Compare, DoesNotDependOnThreads) {
  const Scene scene = scene_of("papers/rocking-block", {"simulation.duration=0.5"});
  CompareRequest request;
  for (const char* name : {"dvi", "moreau-jean", "nonsmooth-alpha"})
    request.cases.push_back(of(scene, name, 1e-2));
  request.quantities = default_quantities(scene.model, scene.watch);
  const Comparison one = compare_runs(scene.model, request);
  request.threads = 2;
  const Comparison two = compare_runs(scene.model, request);
  for (std::size_t k = 0; k < one.runs.size(); ++k) {
    EXPECT_EQ(one.runs[k].values.front(), two.runs[k].values.front());
    Simulation alone(scene.model, request.cases[k].options);
    alone.start();
    while (alone.advance()) {
    }
    EXPECT_EQ(one.runs[k].values.front().back(), alone.state().q[2]);
  }
  EXPECT_TRUE(std::isnan(one.runs[0].mean_error)) << "there was nothing to measure by";
}

TEST(Compare, ARunThatFailsKeepsWhatItHas) {
  const Scene scene = scene_of("papers/bouncing-ball", {"simulation.duration=1"});
  CompareRequest request;
  request.cases = {of(scene, "trapezoidal", 2e-3), of(scene, "nonsmooth-alpha", 2e-3)};
  request.quantities = {"ball.z"};
  const Comparison found = compare_runs(scene.model, request);
  // It has no contacts: the first one ends it.
  EXPECT_NE(found.runs[0].failure, "");
  EXPECT_GT(found.runs[0].time.back(), 0.38);
  EXPECT_LT(found.runs[0].time.back(), 0.41);
  EXPECT_EQ(found.runs[1].failure, "");
}

TEST(Compare, IsInterrupted) {
  const Scene scene = scene_of("papers/bouncing-ball");
  CompareRequest request;
  request.cases = {of(scene, "nonsmooth-alpha", 2e-3)};
  request.go_on = [](double part, int) { return part < 0.1; };
  const Comparison found = compare_runs(scene.model, request);
  EXPECT_EQ(found.runs[0].failure, "interrupted");
  EXPECT_LT(found.runs[0].time.back(), 1);
}

TEST(Compare, RefusesWhatNoRunCanBegin) {
  const Scene scene = scene_of("papers/bouncing-ball");
  CompareRequest request;
  EXPECT_THROW(compare_runs(scene.model, request), InputError);
  request.cases = {of(scene, "dvi", 1e-2)};
  request.known = {{"ball.height", [](double) { return 0.0; }}};
  EXPECT_THROW(compare_runs(scene.model, request), InputError);
}

}  // namespace
}  // namespace urto
