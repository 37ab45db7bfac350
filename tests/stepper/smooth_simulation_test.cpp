// Smooth steppers in a run: names, refusals, checkpoints, adaptive steps, cut steps, energy
// accounts, soft joints and motors.
#include <cmath>

#include <gtest/gtest.h>

#include "oracles/pendulum.h"
#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/error.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

using testing::smooth_options;

std::string refusal(const Model& m, const SimulationOptions& o) {
  try {
    Simulation run(m, o);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

bool names(const std::string& text, const std::vector<std::string>& words) {
  return std::all_of(words.begin(), words.end(),
                     [&](const std::string& word) { return text.find(word) != std::string::npos; });
}

SimulationOptions chain_options(std::string_view name) {
  SimulationOptions o = smooth_options(std::string(name));
  o.stepper.newton_tolerance = 1e-9;
  o.duration = 0.2;
  o.step = 2e-3;
  return o;
}

TEST(SmoothSimulation, EveryStepperRunsByNameAndResumesWithTheSameBits) {
  const Model m = testing::rod_chain(3);
  for (const StepperInfo& info : steppers()) {
    for (const bool adaptive : {false, true}) {
      SimulationOptions o = chain_options(info.name);
      o.adaptive = adaptive;
      Simulation run(m, o);
      run.start();
      Checkpoint middle;
      while (run.advance()) {
        if (run.state().t < 0.1) middle = run.checkpoint();
      }
      ASSERT_EQ(run.run_state(), RunState::finished) << info.name << run.failure();
      EXPECT_EQ(run.checkpoint().missed, 0) << info.name;
      Simulation again(m, o);
      again.resume(middle);
      while (again.advance()) {
      }
      EXPECT_EQ(run.state().q, again.state().q) << info.name;
      EXPECT_EQ(run.state().v, again.state().v) << info.name;
      EXPECT_EQ(run.energy().total(), again.energy().total()) << info.name;
    }
  }
}

// 20 rods have 220 unknowns, which is the sparse path: pivots of earlier steps would change the
// bits.
TEST(SmoothSimulation, LargeSystemsResumeWithTheSameBits) {
  const Model m = testing::rod_chain(20);
  for (const char* name : {"hht", "linear-implicit-euler"}) {
    SimulationOptions o = chain_options(name);
    o.duration = 0.8;
    o.step = 5e-3;
    o.stepper.reuse_factor = false;
    Simulation run(m, o);
    run.start();
    Checkpoint middle;
    while (run.advance()) {
      if (run.state().t < 0.6) middle = run.checkpoint();
    }
    ASSERT_EQ(run.run_state(), RunState::finished) << name << run.failure();
    Simulation again(m, o);
    again.resume(middle);
    while (again.advance()) {
    }
    EXPECT_EQ(run.state().q, again.state().q) << name;
    EXPECT_EQ(run.state().v, again.state().v) << name;
  }
}

TEST(SmoothSimulation, UnknownSteppersAndBadParametersAreRefusedByName) {
  const Model m = testing::rod_chain(1);
  EXPECT_TRUE(names(refusal(m, smooth_options("hht2")), {"hht2", "generalised-alpha", "dvi"}));
  SimulationOptions o = smooth_options("hht");
  o.stepper.hht_alpha = -0.4;
  EXPECT_TRUE(names(refusal(m, o), {"hht_alpha", "-0.4", "-1/3"}));
  o = smooth_options("newmark");
  o.stepper.newmark_gamma = 0.4;
  EXPECT_TRUE(names(refusal(m, o), {"newmark_gamma", "0.4"}));
  o.stepper.newmark_gamma = 0.5;
  o.stepper.newmark_beta = 0;
  EXPECT_TRUE(names(refusal(m, o), {"newmark_beta"}));
  o = smooth_options("generalised-alpha");
  o.stepper.spectral_radius = 1.1;
  EXPECT_TRUE(names(refusal(m, o), {"spectral_radius", "1.1"}));
}

// γ ∈ [½, 1], β ∈ (0, 1] (β = 0 has no row −g/(h²β)), α ∈ [−1/3, 0], ρ∞ ∈ [0, 1]: what lies just
// beyond an end is refused, the end itself is not (recipe 000 §1.5, checklist 45-47).
TEST(SmoothSimulation, RangesOfTheParametersHaveTwoEnds) {
  const Model m = testing::rod_chain(1);
  struct Range {
    const char* stepper;
    const char* key;
    double StepperOptions::*value;
    double low, high;
    bool low_allowed = true;
  };
  for (const Range& range :
       {Range{"newmark", "newmark_gamma", &StepperOptions::newmark_gamma, 0.5, 1},
        Range{"newmark", "newmark_beta", &StepperOptions::newmark_beta, 0, 1, false},
        Range{"hht", "hht_alpha", &StepperOptions::hht_alpha, -1.0 / 3, 0},
        Range{"generalised-alpha", "spectral_radius", &StepperOptions::spectral_radius, 0, 1}}) {
    const auto refused = [&](double value) {
      SimulationOptions o = smooth_options(range.stepper);
      o.stepper.*range.value = value;
      return names(refusal(m, o), {range.key});
    };
    EXPECT_TRUE(refused(range.low - 1e-6)) << range.key;
    EXPECT_TRUE(refused(range.high + 1e-6)) << range.key;
    EXPECT_TRUE(refused(std::nan(""))) << range.key;
    EXPECT_EQ(refused(range.low), !range.low_allowed) << range.key;
    EXPECT_FALSE(refused(0.5 * (range.low + range.high))) << range.key;
    EXPECT_FALSE(refused(range.high)) << range.key;
  }
}

TEST(SmoothSimulation, WhatIsNotSmoothIsRefusedAndDviIsNamed) {
  for (const StepperInfo& info : steppers()) {
    const SimulationOptions o = chain_options(info.name);
    const std::string name(info.name);
    Model limited = testing::rod_chain(1);
    limited.limits.push_back({.name = "stop", .on = {0, 0}, .lower = -1});
    Model rubbing = testing::rod_chain(1);
    rubbing.frictions.push_back({.name = "brake", .on = {0, 0}, .bound = 1});
    Model bounded = testing::rod_chain(1);
    bounded.motors.push_back(
        {.name = "servo", .on = {0, 0}, .mode = MotorMode::speed, .max_force = 2});
    if (info.contacts) {
      EXPECT_EQ(refusal(limited, o) + refusal(rubbing, o) + refusal(bounded, o), "");
      continue;
    }
    EXPECT_TRUE(names(refusal(limited, o), {name, "limit 'stop'", "'dvi'"}));
    EXPECT_TRUE(names(refusal(rubbing, o), {name, "friction 'brake'", "'dvi'"}));
    EXPECT_TRUE(names(refusal(bounded, o), {name, "motor 'servo'", "'dvi'"}));
  }
}

TEST(SmoothSimulation, AContactEndsTheRunWithItsNames) {
  Model m = testing::empty_model();
  testing::add_ball(m, "ball", {0, 0, 1}, 0.1, 1);
  testing::add_floor(m);
  finalize(m);
  SimulationOptions o = smooth_options("hht");
  o.duration = 1;
  Simulation run(m, o);
  testing::run_to_end(run);
  EXPECT_EQ(run.run_state(), RunState::failed);
  EXPECT_TRUE(names(run.failure(), {"hht", "'ball'", "'world'", "'dvi'"})) << run.failure();
  EXPECT_NEAR(run.state().t, std::sqrt(2 * 0.9 / 9.81), 1.1e-3);
}

// Three iterations are too few for a twentieth of a second: the step is halved until they suffice,
// and the run says how often.
TEST(SmoothSimulation, StepsInWhichNewtonFailsAreCut) {
  const Model m = testing::rod_chain(2);
  SimulationOptions o = smooth_options("generalised-alpha");
  o.duration = 1;
  o.step = 0.05;
  o.stepper.newton_iterations = 3;
  o.stepper.newton_tolerance = 1e-12;
  o.stepper.reuse_factor = false;
  Simulation run(m, o);
  run.start();
  bool said = false;
  while (run.advance())
    said = said || (run.report().cuts > 0 && names(run.report().solve.message, {"cut"}));
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_TRUE(said);
  EXPECT_GT(run.checkpoint().rejected, 0);
  EXPECT_LT(run.checkpoint().worst_joint_error, 1e-9);

  o.stepper.newton_iterations = 1;
  Simulation hopeless(m, o);
  testing::run_to_end(hopeless);
  EXPECT_EQ(hopeless.run_state(), RunState::failed);
  EXPECT_TRUE(names(hopeless.failure(), {"Newton", "even with a step of"})) << hopeless.failure();
}

// A chain let go from the horizontal cracks like a whip: its last link turns by more than a radian
// within these steps, and Newton's iteration finds states that are none (before they were refused:
// 1e290 J). The motion of 20 links of 1 kg over 5 m has no more than 20 · 9.81 · 5 J to give.
TEST(SmoothSimulation, AWhipThatIsTooFastForTheStepEndsTheRunWithItsReason) {
  const Model m = testing::rod_chain(20, 0.25);
  int failures = 0;
  for (const char* name : {"generalised-alpha", "hht", "newmark", "trapezoidal"}) {
    for (const double h : {0.02, 0.01, 0.005}) {
      SimulationOptions o = smooth_options(name);
      o.duration = 2;
      o.step = h;
      Simulation run(m, o);
      run.start();
      double most = 0;
      double before = 0;
      while (run.advance()) {
        before = run.state().t;
        most = std::max(most, run.energy().kinetic);
      }
      EXPECT_LT(most, 1e4 * 981) << name << ", h = " << h;
      EXPECT_EQ(run.checkpoint().missed, 0) << name << ", h = " << h;
      EXPECT_EQ(run.state().t, before) << "the state before the step is kept";
      EXPECT_TRUE(run.state().q.allFinite());
      if (run.run_state() == RunState::finished) continue;
      ++failures;
      EXPECT_TRUE(names(run.failure(), {"t = ", name, "even with a step of", "expected"}))
          << run.failure();
    }
  }
  EXPECT_GT(failures, 0) << "a test of nothing";
}

// ω = 1000 at h = 0.01 is five times the limit of the leapfrog: the motion grows until it leaves
// the range of numbers.
TEST(SmoothSimulation, AMotionBeyondAllNumbersEndsTheRunNotTheProgram) {
  Model m = testing::empty_model(Vec3::Zero());
  const int mass = testing::add_rigid(m, "mass", {2, 0, 0}, 1, Mat3::Identity());
  MeasureSpring spring;
  spring.marker_a = add_marker(m, "anchor", 0, {});
  spring.marker_b = add_marker(m, "end", mass, {});
  spring.rest = 1;
  spring.stiffness.slope = 1e6;
  m.forces.push_back(spring);
  finalize(m);
  for (const char* name : {"leapfrog", "rk4", "explicit-euler"}) {
    SimulationOptions o = smooth_options(name);
    o.duration = 10;
    o.step = 0.01;
    Simulation run(m, o);
    run.start();
    EXPECT_NO_THROW(while (run.advance()){});
    EXPECT_EQ(run.run_state(), RunState::failed) << name;
    EXPECT_TRUE(names(run.failure(), {"t = ", name, "a state that is not a number"}))
        << run.failure();
    EXPECT_TRUE(run.state().q.allFinite()) << "the state before the step is kept";
  }
}

TEST(SmoothSimulation, AdaptiveStepsKeepTheirErrorAndFollowTheMotion) {
  Model m = testing::empty_model({0, -9.81, 0});
  const int bob = testing::add_rigid(m, "bob", {1, 0, 0}, 1, 1e-9 * Mat3::Identity());
  testing::join(m, "pin", JointKind::revolute, 0, bob, Vec3::Zero());
  finalize(m);
  const double angle = oracle::pendulum_angle(5, M_PI / 2, 9.81, 1);
  const Vec3 end(std::sin(angle), -std::cos(angle), 0);
  for (const char* name : {"hht", "generalised-alpha"}) {
    std::array<double, 3> e{};
    std::array<double, 3> steps{};
    for (int k = 0; k < 3; ++k) {
      SimulationOptions o = smooth_options(name);
      o.stepper.newton_tolerance = 1e-9;
      o.duration = 5;
      o.adaptive = true;
      o.error_tolerance = std::pow(10.0, -4 - 2 * k);
      double shortest = 1, longest = 0;
      Simulation run(m, o);
      run.start();
      while (run.advance()) {
        if (run.state().t < 1 || run.state().t > 4.5) continue;
        shortest = std::min(shortest, run.report().h);
        longest = std::max(longest, run.report().h);
      }
      ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
      e[k] = (testing::position(m, run.state(), bob) - end).norm();
      steps[k] = static_cast<double>(run.checkpoint().steps);
      EXPECT_GT(longest, 1.3 * shortest);
    }
    // Local errors of third order: a hundredth of the tolerance takes 100^(1/3) times the steps and
    // leaves 100^(−2/3) of the error.
    EXPECT_NEAR(steps[2] / steps[1], std::pow(100, 1.0 / 3), 0.7) << name;
    EXPECT_NEAR(std::log(e[1] / e[2]) / std::log(steps[2] / steps[1]), 2, 0.3) << name;
    EXPECT_LT(e[2], 1e-4) << name;
  }
}

/// A mass on a slide with a spring and damper, driven at its base by a motor through a coupling of
/// two slides.
TEST(SmoothSimulation, EnergyIsAccountedToSecondOrder) {
  Model m = testing::empty_model();
  const int cart = testing::add_rigid(m, "cart", {0, 0, 0}, 2, Mat3::Identity());
  const int mass = testing::add_rigid(m, "mass", {1, 0, 0}, 1, Mat3::Identity());
  const int slide =
      testing::join(m, "slide", JointKind::prismatic, 0, cart, Vec3::Zero(), Vec3::UnitX());
  testing::join(m, "guide", JointKind::prismatic, cart, mass, {1, 0, 0}, Vec3::UnitX());
  m.motors.push_back(
      {.name = "shaker", .on = {slide, 0}, .value = HarmonicFunction{.amplitude = 0.1}});
  MeasureSpring spring;
  spring.name = "spring";
  spring.marker_a = add_marker(m, "a", cart, {});
  spring.marker_b = add_marker(m, "b", mass, {});
  spring.rest = 1;
  spring.stiffness.slope = 60;
  spring.damping.slope = 2;
  m.forces.emplace_back(spring);
  finalize(m);
  std::array<double, 2> numerical{};
  for (int k = 0; k < 2; ++k) {
    SimulationOptions o = smooth_options("generalised-alpha");
    o.duration = 2.05;
    o.step = 2e-3 / (1 << k);
    Simulation run(m, o);
    testing::run_to_end(run);
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    numerical[k] = std::abs(run.energy().numerical());
    EXPECT_GT(run.energy().damping, 0.05);
    EXPECT_GT(run.energy().supplied, 0.05);
    EXPECT_LT(numerical[k], 1e-3 * run.energy().supplied);
  }
  EXPECT_NEAR(testing::order(numerical[0], numerical[1]), 2, 0.3);
}

TEST(SmoothSimulation, ASoftJointIsASpring) {
  Model m = testing::empty_model(Vec3::Zero());
  const int body = testing::add_rigid(m, "body", Vec3::Zero(), 2, Mat3::Identity());
  const int joint = testing::join(m, "mount", JointKind::fixed, 0, body, Vec3::Zero());
  m.joints[joint].softness = {.stiffness = 800, .damping = 4};
  m.bodies[body].velocity = {0, 0, 1};
  finalize(m);
  const double rate = 4 / (2 * 2.0);
  const double omega = std::sqrt(800 / 2.0 - rate * rate);
  const double exact = std::exp(-rate * 0.4) * std::sin(omega * 0.4) / omega;
  for (const char* name : {"rk4", "hht", "generalised-alpha", "trapezoidal"}) {
    SimulationOptions o = smooth_options(name);
    o.duration = 0.4;
    o.step = 5e-4;
    o.assemble = false;
    Simulation run(m, o);
    testing::run_to_end(run);
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_NEAR(testing::position(m, run.state(), body).z(), exact, 1e-5) << name;
    EXPECT_NEAR(run.energy().numerical(), 0, 1e-4) << name;
  }
}

TEST(SmoothSimulation, ASpeedMotorTurnsAtItsSpeed) {
  Model m = testing::rod_chain(1);
  m.motors.push_back({.name = "drive",
                      .on = {0, 0},
                      .mode = MotorMode::speed,
                      .value = SmoothStepFunction{.t0 = 0, .t1 = 0.5, .y0 = 0, .y1 = 3}});
  for (const StepperInfo& info : steppers()) {
    SimulationOptions o = smooth_options(std::string(info.name));
    o.duration = 1;
    Simulation run(m, o);
    testing::run_to_end(run);
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_NEAR(coordinate_rate(m, run.state(), {0, 0}), 3, 1e-6) << info.name;
    // ∫ of the quintic is half its height. Steppers with contacts impose the speed that is asked
    // for at the end of a step.
    EXPECT_NEAR(coordinate_value(m, run.state(), {0, 0}), 0.75 + 1.5,
                info.order == 1 || info.contacts ? 2e-2 : 1e-4)
        << info.name;
  }
}

}  // namespace
}  // namespace urto
