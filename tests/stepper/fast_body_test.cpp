// Bodies that move by many times their size in a step: docs/collision.md, "Fast bodies".
#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

SimulationOptions settings(const StepperInfo& by, double step) {
  SimulationOptions o{.duration = 0.1, .step = step};
  o.stepper.name = by.name;
  return o;
}

// 300 m/s against a wall of 1 cm: a step takes the ball of 10 cm through it, and 30 times farther.
TEST(FastBody, StopsAtAThinWallWithEveryStepper) {
  for (const StepperInfo& by : steppers()) {
    if (!by.contacts) continue;
    for (const double step : {1e-3, 1e-2}) {
      for (const double start : {0.0, 0.5, 0.9}) {
        Model m = empty_model(Vec3::Zero());
        m.shapes.push_back({.kind = ShapeKind::box,
                            .size = {0.005, 1, 1},
                            .pose = {.position = {1, 0, 0}},
                            .body = 0});
        const int ball = add_ball(m, "bullet", {start, 0, 0}, 0.05, 1);
        m.bodies[ball].velocity = {300, 0, 0};
        finalize(m);
        Simulation run(m, settings(by, step));
        run_to_end(run);
        EXPECT_EQ(run.run_state(), RunState::finished) << by.name << ": " << run.failure();
        // moreau-jean may stop as long before as the step that it has cut to takes it: 9.4 cm.
        EXPECT_NEAR(position(m, run.state(), ball)[0], 0.945, by.name == "moreau-jean" ? 0.1 : 1e-6)
            << by.name << " step " << step << " from " << start;
      }
    }
  }
}

// What flies by is not stopped, however far it comes in a step.
TEST(FastBody, FliesByAnother) {
  for (const StepperInfo& by : steppers()) {
    if (!by.contacts) continue;
    Model m = empty_model(Vec3::Zero());
    const int ball = add_ball(m, "bullet", {0, 0, 0}, 0.05, 1);
    add_ball(m, "other", {1.5, 1, 0}, 0.05, 1);
    m.bodies[ball].velocity = {300, 0, 0};
    finalize(m);
    Simulation run(m, settings(by, 1e-2));
    run_to_end(run);
    EXPECT_EQ(run.run_state(), RunState::finished) << by.name << ": " << run.failure();
    EXPECT_NEAR(position(m, run.state(), ball)[0], 30, 1e-9) << by.name;
  }
}

}  // namespace
}  // namespace urto
