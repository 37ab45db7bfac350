// The θ-method of Moreau and Jean: its variants on smooth motion, impact laws per contact, exact
// and convex friction, compliant rows, and the energy audit. Published numbers are in tests/papers.
#include <array>
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "stepper/every_law.h"
#include "stepper/smooth_runs.h"
#include "urto/mechanics/textbook_contact.h"

namespace urto {
namespace {

constexpr MoreauVariant variants[] = {MoreauVariant::implicit, MoreauVariant::nearly_implicit,
                                      MoreauVariant::nearly_implicit_start,
                                      MoreauVariant::semi_explicit};

SimulationOptions moreau(MoreauVariant variant = MoreauVariant::nearly_implicit) {
  SimulationOptions o;
  o.stepper.name = "moreau-jean";
  o.stepper.moreau_variant = variant;
  return o;
}

LinearSystem oscillator(double omega) {
  const Matrix one = Matrix::Identity(1, 1);
  return {one, 0 * one, omega * omega * one, Vector::Zero(1)};
}

State displaced() {
  State s;
  s.q = Vector::Ones(1);
  s.v = Vector::Zero(1);
  return s;
}

// θ = 1/2 is the trapezoidal and the midpoint rule, which are one on linear systems: energy is kept
// and the order is two.
TEST(MoreauJean, IsTheTrapezoidalRuleAtSpectralRadiusOne) {
  const LinearSystem system = oscillator(3);
  for (const MoreauVariant variant : {MoreauVariant::implicit, MoreauVariant::nearly_implicit}) {
    SimulationOptions o = moreau(variant);
    o.stepper.spectral_radius = 1;
    o.solver.tolerance = 1e-13;
    std::array<double, 2> error{};
    for (int k = 0; k < 2; ++k) {
      const State end = testing::run_smooth(system, displaced(), o, 1, 50 << k).state;
      error[k] = std::abs(end.q[0] - std::cos(3.0));
      EXPECT_NEAR(end.v[0] * end.v[0] + 9 * end.q[0] * end.q[0], 9, 1e-11);
    }
    EXPECT_NEAR(testing::order(error[0], error[1]), 2, 0.02);
  }
}

// Of an oscillation of infinite frequency a step leaves (1 − θ)/θ = ρ∞.
TEST(MoreauJean, LeavesTheSpectralRadiusOfInfinitelyFastOscillations) {
  const LinearSystem system = oscillator(1e6);
  for (const double rho : {0.0, 0.3, 0.8}) {
    SimulationOptions o = moreau();
    o.stepper.spectral_radius = rho;
    const State end = testing::run_smooth(system, displaced(), o, 0.01, 1).state;
    EXPECT_NEAR(std::abs(end.q[0]), rho, 1e-6);
  }
}

TEST(MoreauJean, AllVariantsAreOfFirstOrderOnAChainOfRods) {
  const Model chain = testing::rod_chain(3, 0.5, 0.5);
  const RigidSystem system(chain);
  const State start = initial_state(chain);
  const State exact =
      testing::run_smooth(system, start, testing::smooth_options("munthe-kaas"), 0.2, 400).state;
  const SystemAccess access(system);
  for (const MoreauVariant variant : variants) {
    std::array<double, 2> error{};
    for (int k = 0; k < 2; ++k) {
      const testing::SmoothRun run =
          testing::run_smooth(system, start, moreau(variant), 0.2, 40 << k);
      error[k] = access.difference(run.state.q, exact.q).norm();
      if (variant == MoreauVariant::semi_explicit) {
        EXPECT_EQ(run.iterations, run.steps);
      }
    }
    EXPECT_GT(testing::order(error[0], error[1]), 0.85);
    EXPECT_LT(error[1], 0.02);
  }
}

// Joints are held at velocity level only; a projection after each step holds them at positions.
TEST(MoreauJean, JointsDriftUnlessProjected) {
  const Model chain = testing::rod_chain(2);
  const RigidSystem system(chain);
  SimulationOptions o = moreau();
  const double drift = testing::run_smooth(system, initial_state(chain), o, 1, 200).joint_error;
  EXPECT_GT(drift, 1e-4);
  o.stepper.project_joints = true;
  EXPECT_LT(testing::run_smooth(system, initial_state(chain), o, 1, 200).joint_error, 1e-11);
}

// Each contact has its own restitution, and the speed it starts from is that before the step.
TEST(MoreauJean, EveryContactHasItsOwnRestitution) {
  Model m = testing::empty_model();
  testing::add_floor(m);
  const double e[] = {0.9, 0.3, 0.0};
  for (int k = 0; k < 3; ++k) {
    testing::add_ball(m, "ball-" + std::to_string(k), {1.0 * k, 0, 0.3}, 0.1, 1 + k);
    m.materials.push_back({.name = "m" + std::to_string(k), .friction = 0.3, .restitution = e[k]});
    m.shapes.back().material = static_cast<int>(m.materials.size()) - 1;
  }
  finalize(m);
  SimulationOptions o = moreau();
  o.duration = 0.21;  // the balls meet the floor after 0.2019 s
  o.step = 1e-3;
  Simulation run(m, o);
  testing::run_to_end(run);
  ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_EQ(run.checkpoint().missed, 0);
  // Free fall on a grid of h: the speed before is g times whole steps.
  const double steps = 202, fall = 9.81 * steps * 1e-3, rise = 9.81 * (209 - steps) * 1e-3;
  for (int k = 0; k < 2; ++k) {
    const double v = testing::linear_velocity(m, run.state(), 1 + k).z();
    EXPECT_NEAR(v, e[k] * fall - rise, 2 * 9.81e-3) << e[k];
  }
  // It was stopped above the floor, by the prediction, and falls from there.
  EXPECT_NEAR(testing::linear_velocity(m, run.state(), 3).z(), 0, 9.81 * 9e-3);
  EXPECT_NEAR(run.energy().unexplained(), 0, 1e-8);
}

Model sliding_cube(double mu, double speed) {
  Model m = testing::empty_model();
  testing::add_floor(m);
  testing::add_cube(m, "cube", {0, 0, 0.1}, 0.2, 2);
  m.bodies.back().velocity = Vec3(speed, 0, 0);
  m.materials[0].friction = mu;
  finalize(m);
  return m;
}

// Coulomb: v²/(2μg). The relaxation lets the contact part with μ‖u_T‖ and hop.
TEST(MoreauJean, ExactFrictionStopsWhereCoulombSaysAndConvexFrictionHops) {
  const Model m = sliding_cube(0.3, 2);
  SimulationOptions o = moreau();
  o.duration = 0.8;
  o.step = 1e-3;
  double highest[2] = {};
  for (const Friction friction : {Friction::exact, Friction::convex}) {
    o.stepper.friction = friction;
    Simulation run(m, o);
    run.start();
    double& top = highest[friction == Friction::convex];
    while (run.advance()) top = std::max(top, testing::position(m, run.state(), 1).z() - 0.1);
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_EQ(run.checkpoint().missed, 0);
    EXPECT_NEAR(run.energy().unexplained(), 0, 1e-7);
    if (friction == Friction::convex) continue;
    EXPECT_NEAR(testing::position(m, run.state(), 1).x(), 4 / (2 * 0.3 * 9.81), 2.5e-3);
    EXPECT_NEAR(testing::linear_velocity(m, run.state(), 1).norm(), 0, 1e-8);
  }
  EXPECT_LT(highest[0], 1e-7);
  EXPECT_GT(highest[1], 1e-4);
}

// A block on a slope below its friction angle does not creep, above it slides with g(sin − μ cos).
TEST(MoreauJean, BlockOnASlopeSticksOrSlides) {
  for (const double mu : {0.6, 0.2}) {
    Model m = testing::empty_model();
    const double slope = 20 * std::numbers::pi / 180;
    m.gravity = 9.81 * Vec3(std::sin(slope), 0, -std::cos(slope));
    testing::add_floor(m);
    testing::add_cube(m, "cube", {0, 0, 0.1}, 0.2, 1);
    m.materials[0].friction = mu;
    finalize(m);
    SimulationOptions o = moreau();
    o.duration = 0.5;
    o.step = 2e-3;
    Simulation run(m, o);
    testing::run_to_end(run);
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    // The prediction may close the contact a step late: as much as one step gives.
    const double a = std::max(0.0, 9.81 * (std::sin(slope) - mu * std::cos(slope)));
    const double late = 9.81 * o.step;
    EXPECT_NEAR(testing::linear_velocity(m, run.state(), 1).x(), 0.5 * a, a > 0 ? late : 1e-9);
    EXPECT_NEAR(testing::position(m, run.state(), 1).x(), 0.125 * a, (a > 0 ? 0.5 : o.step) * late);
  }
}

// Springs in joints and in contacts, a bounded motor, a limit with restitution, joint friction and
// cohesion: every law of the model in one run, certified and accounted for.
TEST(MoreauJean, TreatsEveryLawOfTheModel) {
  const Model m = testing::model_of_every_law();
  for (const MoreauVariant variant : variants) {
    SimulationOptions o = moreau(variant);
    o.duration = 0.6;
    o.step = 1e-3;
    Simulation run(m, o);
    testing::run_to_end(run);
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_EQ(run.checkpoint().missed, 0) << static_cast<int>(variant);
    EXPECT_NEAR(run.energy().unexplained(), 0, 1e-6);
    // At rest on its spring: k δ = m g.
    EXPECT_NEAR(testing::position(m, run.state(), 1).z(), 0.1 - 9.81 / 2e4, 1e-4);
  }
}

}  // namespace
}  // namespace urto
