// What the simulation loop does with the last bit of time, and adaptive steps with events. That
// extrapolated steps are of second order is measured on mechanisms with known solutions:
// papers/iftomm_test.cpp.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace testing;

// Extrapolating a landing would throw the body up again: v = 2·0 − (−gap/h).
TEST(AdaptiveSteps, ABallWithoutRestitutionStaysOnTheGround) {
  for (const bool extrapolate : {false, true}) {
    for (int k = 0; k < 20; ++k) {
      SCOPED_TRACE(k);
      Model m = empty_model();
      add_floor(m);
      const int ball = add_ball(m, "ball", {0, 0, 0.5 + 0.01 * k}, 0.1, 1);
      finalize(m);
      SimulationOptions options;
      options.adaptive = true;
      options.extrapolate = extrapolate;
      options.error_tolerance = 1e-3;
      options.max_step = 0.02;
      Simulation run(m, options);
      run.start();
      double rebound = 0;
      double landed = -1;
      while (run.advance()) {
        if (landed < 0 && run.report().active > 0) landed = run.state().t;
        if (landed >= 0) rebound = std::max(rebound, linear_velocity(m, run.state(), ball).z());
      }
      // Seen at the end of the step in which it happens.
      EXPECT_NEAR(landed, std::sqrt(2 * (0.4 + 0.01 * k) / 9.81), options.max_step);
      EXPECT_LT(rebound, 1e-9);
      EXPECT_NEAR(position(m, run.state(), ball).z(), 0.1, 2e-3);
    }
  }
}

// A duration that is not a number of steps leaves a crumb of time. Removing the joint error of a
// whole step in it took 400 kJ.
TEST(FixedSteps, ACrumbOfTimeAtTheEndIsNoBlow) {
  const Model m = rod_chain(2);
  for (const bool adaptive : {false, true}) {
    for (const double crumb : {1e-9, 1e-7, 1e-5, 4e-4, 9e-4}) {
      SCOPED_TRACE(crumb);
      SimulationOptions options;
      options.adaptive = adaptive;
      options.step = 1e-3;
      options.max_step = 1e-3;
      options.error_tolerance = 1;  // so that every step has the largest size
      options.duration = 0.2 + crumb;
      Simulation run(m, options);
      run.start();
      double energy = 0;
      double smallest = 1;
      while (run.advance()) {
        energy = std::max(energy, std::abs(run.energy().numerical()));
        smallest = std::min(smallest, run.report().h);
      }
      EXPECT_DOUBLE_EQ(run.state().t, options.duration);
      EXPECT_GT(smallest, 0.49e-3);
      EXPECT_LT(energy, 0.1);
    }
  }
}

}  // namespace
}  // namespace urto
