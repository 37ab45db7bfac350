// The loop: determinism, resuming, adaptive steps, what a failure looks like.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/error.h"

namespace urto {
namespace {

using namespace urto::testing;

// Joints, contacts with friction and restitution, a motor: something of everything.
Model busy_model() {
  Model m = empty_model();
  m.materials[0] = {.name = "default", .friction = 0.4, .restitution = 0.3};
  add_floor(m);
  for (int k = 0; k < 8; ++k) {
    const int ball =
        add_ball(m, "ball", {0.15 * (k % 3), 0.1 * (k % 2), 0.3 + 0.22 * k}, 0.1, 1 + k);
    m.bodies[ball].velocity = {0.3, -0.1 * k, 0};
  }
  const int arm = add_rigid(m, "arm", {2, 0, 1}, 1, 0.1 * Mat3::Identity());
  const int hinge = join(m, "hinge", JointKind::revolute, 0, arm, {1.5, 0, 1}, Vec3::UnitY());
  Motor motor;
  motor.on = {hinge, 0};
  motor.value = HarmonicFunction{.amplitude = 0.5, .frequency = 2};
  m.motors.push_back(motor);
  finalize(m);
  return m;
}

bool same_bits(const Vector& a, const Vector& b) {
  return a.size() == b.size() && std::equal(a.data(), a.data() + a.size(), b.data());
}

TEST(Simulation, TwoRunsGiveTheSameBits) {
  const Model m = busy_model();
  SimulationOptions o;
  o.duration = 0.5;
  Simulation a(m, o);
  Simulation b(m, o);
  run_to_end(a);
  run_to_end(b);
  EXPECT_TRUE(same_bits(a.state().q, b.state().q));
  EXPECT_TRUE(same_bits(a.state().v, b.state().v));
  EXPECT_EQ(a.energy().numerical(), b.energy().numerical());
}

TEST(Simulation, ResumingFromAnyStepGivesTheSameBits) {
  const Model m = busy_model();
  for (const bool adaptive : {false, true}) {
    SimulationOptions o;
    o.duration = 0.4;
    o.adaptive = adaptive;
    o.error_tolerance = 1e-3;
    Simulation whole(m, o);
    run_to_end(whole);
    for (const int stop : {1, 17, 111}) {
      Simulation first(m, o);
      first.start();
      for (int k = 0; k < stop; ++k) first.advance();
      Simulation second(m, o);
      second.resume(first.checkpoint());
      while (second.advance()) {
      }
      EXPECT_TRUE(same_bits(whole.state().q, second.state().q))
          << "adaptive " << adaptive << ", stopped at " << stop;
      EXPECT_TRUE(same_bits(whole.state().v, second.state().v));
      EXPECT_EQ(whole.energy().friction, second.energy().friction);
      EXPECT_EQ(whole.checkpoint().steps, second.checkpoint().steps);
    }
  }
}

TEST(Simulation, EveryStepOfTheBusyModelMeetsItsTolerance) {
  const Model m = busy_model();
  SimulationOptions o;
  o.duration = 1;
  Simulation run(m, o);
  run.start();
  while (run.advance()) {
    ASSERT_TRUE(run.report().meets_tolerance)
        << "t = " << run.state().t << ": " << run.report().certificate.residual() << " "
        << run.report().solve.message;
  }
  EXPECT_EQ(run.run_state(), RunState::finished);
  EXPECT_EQ(run.state().t, 1);
  EXPECT_EQ(run.checkpoint().steps, 1000);
}

TEST(Simulation, ContactsAtRestStartFromTheirLastImpulses) {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 6; ++k) add_ball(m, "ball", {0, 0, 0.1 + 0.2 * k}, 0.1, 1);
  finalize(m);
  SimulationOptions o;
  o.duration = 1;
  Simulation run(m, o);
  run.start();
  for (int k = 0; k < 100; ++k) run.advance();
  Checkpoint forgetful = run.checkpoint();
  forgetful.memory = {};
  Simulation cold(m, o);
  cold.resume(forgetful);
  ASSERT_TRUE(run.advance());
  ASSERT_TRUE(cold.advance());
  EXPECT_GT(cold.report().solve.sweeps, 2 * run.report().solve.sweeps);
}

TEST(Simulation, AdaptiveStepsShrinkAtAnImpactAndGrowAgain) {
  Model m = empty_model();
  m.materials[0] = {.name = "default", .friction = 0, .restitution = 0.8};
  add_floor(m);
  add_ball(m, "ball", {0, 0, 1.1}, 0.1, 1);
  finalize(m);
  SimulationOptions o;
  o.duration = 1;
  o.adaptive = true;
  o.error_tolerance = 1e-5;
  o.max_step = 0.02;
  Simulation run(m, o);
  run.start();
  double smallest = 1;
  double largest_after = 0;
  double peak = 0;
  while (run.advance()) {
    smallest = std::min(smallest, run.report().h);
    if (run.state().t > 0.6) {
      largest_after = std::max(largest_after, run.report().h);
      peak = std::max(peak, run.state().q[2] - 0.1);
    }
  }
  EXPECT_LT(smallest, 1e-4);
  EXPECT_GT(largest_after, 1e-3);
  EXPECT_NEAR(peak, 0.64, 1e-3);  // e² h₀
  EXPECT_LT(run.checkpoint().steps, 2000);
  EXPECT_EQ(run.state().t, 1);
}

TEST(Simulation, FramesComeAtTheOutputStepAndAtTheEnd) {
  const Model m = rod_chain(1);
  SimulationOptions o;
  o.step = 1e-3;
  o.duration = 0.1005;
  o.output_step = 0.01;
  Simulation run(m, o);
  run.start();
  std::vector<double> times;
  if (run.frame_due()) times.push_back(run.state().t);
  while (run.advance()) {
    if (run.frame_due()) times.push_back(run.state().t);
  }
  // The last step and a half become two equal steps, which pass 0.1 between them.
  ASSERT_EQ(times.size(), 11U);
  for (int k = 0; k < 10; ++k) EXPECT_NEAR(times[k], 0.01 * k, 1e-12);
  EXPECT_EQ(times.back(), 0.1005);
}

// 60 a second, at least 200 and at most 3000 in all, a whole number of steps apart; so few that
// they fit into 160 MB.
TEST(Simulation, TheTimeBetweenFramesIsChosen) {
  const Model small = rod_chain(1);
  const auto chosen = [&](const Model& m, double duration, double step) {
    return with_choices({.duration = duration, .step = step}, m).output_step;
  };
  EXPECT_NEAR(chosen(small, 10, 1e-3), 0.017, 1e-12);
  EXPECT_NEAR(chosen(small, 1, 1e-3), 0.005, 1e-12) << "200 frames";
  EXPECT_NEAR(chosen(small, 0.01, 1e-3), 1e-3, 1e-12) << "every step";
  EXPECT_NEAR(chosen(small, 1000, 1e-3), 0.333, 1e-12) << "3000 frames";
  EXPECT_NEAR(chosen(small, 1, 3), 1, 1e-12);
  EXPECT_EQ(with_choices({.duration = 3, .adaptive = true}, small).output_step, 3.0 / 200);
  EXPECT_EQ(with_choices({.duration = 3, .output_step = 0.25}, small).output_step, 0.25);
  Model large = empty_model();
  for (int k = 0; k < 5000; ++k) add_rigid(large, "", {0, 0, 1.0 * k}, 1, Mat3::Identity());
  finalize(large);
  const double frames = 100 / chosen(large, 100, 1e-3);
  EXPECT_LT(frames * 13 * 8 * 5000, 1.7e8);
  EXPECT_GT(frames, 200);
}

TEST(Simulation, BadOptionsAreRefusedWithTheirName) {
  const Model m = rod_chain(1);
  SimulationOptions o;
  o.step = -1;
  try {
    const Simulation run(m, o);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "simulation: step: found -1, expected a positive number of seconds");
  }
}

TEST(Simulation, MissedToleranceIsCountedAndCanEndTheRun) {
  // A tolerance below rounding cannot be met: the run says so instead of believing its solver.
  const Model m = busy_model();
  SimulationOptions o;
  o.duration = 0.5;
  o.solver.tolerance = 1e-17;
  o.solver.max_iterations = 50;
  o.stop_on_failure = true;
  Simulation run(m, o);
  run_to_end(run);
  EXPECT_EQ(run.run_state(), RunState::failed);
  EXPECT_GE(run.checkpoint().missed, 1);
  EXPECT_NE(run.failure().find("missed its tolerance"), std::string::npos) << run.failure();
}

}  // namespace
}  // namespace urto
