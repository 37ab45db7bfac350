// What the choices of the non-smooth generalised-α scheme change, and what they must not: rows 14,
// 31, 32, 49 and 50 of recipe 004's checklist.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "papers/alpha_bodies.h"
#include "papers/nonsmooth_runs.h"
#include "stepper/scenes.h"

namespace urto {
namespace {

using testing::paper_options;
using testing::resting;
using testing::Trace;

SimulationOptions as_the_source(AlphaAlgorithm algorithm) {
  SimulationOptions o = paper_options("nonsmooth-alpha");
  o.stepper.alpha_algorithm = algorithm;
  o.stepper.activation = Activation::free;
  o.stepper.restart = false;
  return o;
}

// Rows 32, 49: r = 1e-6, 1e-3 and 1 of the effective mass give the same motion; it weighs in the
// active sets alone. (1e3 times it makes Newton's iteration fail, and is refused.)
TEST(AlphaOptions, WhatWeighsInActiveSetsDoesNotChangeTheMotion) {
  for (const AlphaAlgorithm algorithm : {AlphaAlgorithm::monolithic, AlphaAlgorithm::sequential}) {
    Vector block, rod;
    for (const double mass : {1.0, 1e-3, 1e-6}) {
      SimulationOptions o = as_the_source(algorithm);
      o.stepper.activation_mass = mass;
      const Trace rocks = testing::run(BlockOnCorners(), resting(Vec3(0, 1, 0.2)), o, 1e-2, 1.5);
      const BouncingPendulum pendulum;
      const Trace swings =
          testing::run(pendulum, pendulum.start(std::numbers::pi / 12), o, 1e-3, 2);
      EXPECT_NEAR(rocks.last().energy, 7.3575, 1e-6) << mass;
      if (block.size() == 0) {
        block = rocks.last().q;
        rod = swings.last().q;
      }
      EXPECT_LT((rocks.last().q - block).norm(), 1e-9) << mass;
      EXPECT_LT((swings.last().q - rod).norm(), 1e-9) << mass;
    }
  }
}

// Row 31: where Newton's iteration on all equations does not get there, the three in turn do.
TEST(AlphaOptions, NewtonThatFailsFallsBackOnTheSequence) {
  SimulationOptions o = as_the_source(AlphaAlgorithm::monolithic);
  const BouncingPendulum pendulum;
  const State start = pendulum.start(std::numbers::pi / 12);
  const Trace whole = testing::run(pendulum, start, o, 1e-3, 1);
  o.stepper.newton_iterations = 1;  // two corrections at the utmost; impacts take three
  int cuts = 0;
  const Trace fallen =
      testing::run(pendulum, start, o, 1e-3, 1,
                   [&](const Stepper&, const StepReport& report) { cuts += report.cuts; });
  EXPECT_LT((whole.last().q - fallen.last().q).norm(), 1e-10);
  EXPECT_GT(fallen.most_iterations(), 3);
  EXPECT_LT(fallen.worst_residual(), 1e-9);
  EXPECT_EQ(cuts, 0);
}

// Row 14: whatever prediction opens the gate, positions hold. Of those that look at the motion as
// it comes out (free, closed) the ball comes to rest and gains nothing; predictions from the start
// of the step alone leave it hopping, as the source says of them.
TEST(AlphaOptions, EveryPredictionHoldsThePositions) {
  for (const Activation activation : {Activation::start, Activation::half, Activation::end,
                                      Activation::free, Activation::closed}) {
    for (const AlphaAlgorithm algorithm :
         {AlphaAlgorithm::one_pass, AlphaAlgorithm::sequential, AlphaAlgorithm::monolithic}) {
      SimulationOptions o = as_the_source(algorithm);
      o.stepper.activation = activation;
      const Trace run =
          testing::run(BouncingBall(), resting(Vector::Constant(1, 1.001)), o, 2e-3, 4.5);
      EXPECT_GE(run.least_gap(0), -1e-12);
      if (activation != Activation::free && activation != Activation::closed) continue;
      EXPECT_LT(run.largest_gain(), 1e-10);
      EXPECT_NEAR(run.last().q[0], 0.2, 1e-9);
      EXPECT_NEAR(run.last().v[0], 0, 1e-9);
    }
  }
}

// Row 50: without contacts the scheme is the generalised-α method of Gear, Gupta and Leimkuhler,
// whose multipliers of what hidden constraints add vanish: Λ is nothing, for ṽ holds the joint's
// rate already, ν is O(h³), and positions agree with those of index 3 to the second order of both.
TEST(AlphaOptions, WithoutContactsWhatIsBesideTheSmoothPartVanishes) {
  const Vec3 joint(0.1, 0.05, 0.4), spin(3, -2, 4);
  Model m = testing::empty_model();
  testing::add_rigid(m, "body", -joint, 2, Vec3(0.02, 0.03, 0.025).asDiagonal());
  m.bodies.back().angular_velocity = spin;
  m.bodies.back().velocity = -spin.cross(joint);
  testing::join(m, "pivot", JointKind::spherical, 0, 1, Vec3::Zero());
  finalize(m);
  const RigidSystem system(m);
  double last_height = 0, last_apart = 0;
  for (const double h : {1e-2, 5e-3, 2.5e-3}) {
    SimulationOptions o = as_the_source(AlphaAlgorithm::monolithic);
    double impulse = 0, height = 0;
    const testing::Course run = testing::course(
        system, initial_state(m), o, h, 0.5, [&](const State&, const NonsmoothAlphaStepper& s) {
          impulse = std::max(
              impulse, (s.impulses() - h * s.smooth_reactions()).lpNorm<Eigen::Infinity>() / h);
          height = std::max(height, s.position_multipliers().lpNorm<Eigen::Infinity>() / (h * h));
        });
    o.stepper.name = "generalised-alpha";
    const std::unique_ptr<Stepper> smooth = make_stepper(system, o);
    State state = initial_state(m);
    StepMemory memory;
    StepReport report;
    for (int k = 0; k < std::lround(0.5 / h); ++k)
      ASSERT_FALSE(smooth->step(state, h, memory, report).failed());
    const double apart = (run.state.q.head<3>() - state.q.head<3>()).norm();
    // Forces of some 100 N act in the joint.
    EXPECT_LT(impulse, 1e-8);
    EXPECT_LT(height, 100 * h);
    if (last_height > 0) {
      EXPECT_NEAR(last_height / height, 2, 0.1) << h;
      EXPECT_NEAR(last_apart / apart, 4, 1) << h;
    }
    last_height = height;
    last_apart = apart;
  }
}

}  // namespace
}  // namespace urto
