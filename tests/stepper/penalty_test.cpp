// Contacts by penalty in smooth steppers against closed forms and against hard contact on the same
// scene.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/error.h"
#include "urto/mechanics/penalty_system.h"

namespace urto {
namespace {

SimulationOptions penalty_options(const std::string& name = "generalised-alpha") {
  SimulationOptions o;
  o.stepper.name = name;
  o.stepper.penalty_contact = true;
  return o;
}

Model ball_above_floor(double height, double friction = 0) {
  Model m = testing::empty_model();
  m.materials[0].friction = friction;
  testing::add_ball(m, "ball", {0, 0, height}, 0.1, 2);
  testing::add_floor(m);
  finalize(m);
  return m;
}

class PenaltyTangents : public ::testing::TestWithParam<double> {};

// Of a constant friction, and of one that falls with the slip.
INSTANTIATE_TEST_SUITE_P(Friction, PenaltyTangents, ::testing::Values(0.0, 0.9));

TEST_P(PenaltyTangents, AreTheDerivativesOfTheForce) {
  Model m = ball_above_floor(0.098, 0.5);
  m.materials[0].static_friction = GetParam();
  m.materials[0].stribeck_speed = 0.4;
  const int other = testing::add_ball(m, "other", {0.05, 0.02, 0.29}, 0.1, 1);
  finalize(m);
  RigidSystem rigid(m);
  const PenaltySystem penalty(rigid, {.stiffness = 1e5, .damping = 0.3, .slip = 0.1});
  SystemAccess system(penalty);
  State s = initial_state(m);
  s.v << 0.1, -0.2, 0.05, 1, 2, -1, 0.3, 0.1, -0.2, 0.5, -0.4, 1;
  BlockMatrix damping;
  damping.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
  system.assemble(s, {.damping = 1}, Tangent::exact, damping);
  damping.finish_assembly();
  const Matrix D = to_sparse(damping);
  for (int k = 0; k < 12; ++k) {
    Vector high, low;
    State moved = s;
    moved.v[k] += 1e-6;
    system.force(moved, high);
    moved.v[k] -= 2e-6;
    system.force(moved, low);
    EXPECT_LT(((high - low) / 2e-6 + D.col(k)).norm(), 1e-5 * (1 + D.col(k).norm())) << k;
  }
  EXPECT_EQ(other, 2);
}

// F = k δ^1.5 carries the weight.
TEST(Penalty, ABallRestsAtHertzsDepth) {
  const Model m = ball_above_floor(0.1);
  SimulationOptions o = penalty_options();
  o.stepper.penalty.damping = 20;
  o.duration = 3;
  Simulation run(m, o);
  testing::run_to_end(run);
  ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_NEAR(0.1 - testing::position(m, run.state(), 1).z(), std::pow(2 * 9.81 / 1e6, 2.0 / 3),
              1e-7);
}

// δ_max = (5 m v²/(4k))^(2/5) and the impact lasts 2.9432 δ_max/v (Hertz; Johnson, Contact
// Mechanics, §11.4).
TEST(Penalty, AnElasticImpactHasHertzsDurationAndGivesTheSpeedBack) {
  Model m = testing::empty_model(Vec3::Zero());
  testing::add_ball(m, "ball", {0, 0, 0.1}, 0.1, 2);
  testing::add_floor(m);
  m.bodies[1].velocity = {0, 0, -0.5};
  finalize(m);
  const double depth = std::pow(5 * 2 * 0.25 / (4 * 1e6), 0.4);
  SimulationOptions o = penalty_options();
  o.step = 1e-5;
  o.duration = 0.02;
  Simulation run(m, o);
  run.start();
  double deepest = 0, end = 0;
  while (run.advance()) {
    const double z = testing::position(m, run.state(), 1).z();
    deepest = std::max(deepest, 0.1 - z);
    if (z < 0.1) end = run.state().t;
  }
  EXPECT_NEAR(deepest, depth, 1e-3 * depth);
  EXPECT_NEAR(end, 2.9432 * depth / 0.5, 2e-3 * end);
  EXPECT_NEAR(run.state().v[2], 0.5, 1e-3);
  EXPECT_NEAR(run.energy().numerical(), 0, 1e-4);
}

// The same scene with hard contact and with springs: a sliding ball slows down, then rolls at 5/7
// of its speed.
TEST(Penalty, ASlidingBallRollsAsItDoesWithHardContact) {
  Model m = ball_above_floor(0.1, 0.3);
  m.bodies[1].velocity = {2, 0, 0};
  SimulationOptions o = penalty_options();
  o.stepper.penalty.damping = 20;
  o.stepper.penalty.slip = 1e-3;
  o.duration = 0.6;
  Simulation soft(m, o);
  testing::run_to_end(soft);
  ASSERT_EQ(soft.run_state(), RunState::finished) << soft.failure();
  SimulationOptions hard_options;
  hard_options.duration = 0.6;
  Simulation hard(m, hard_options);
  testing::run_to_end(hard);
  // m v + I ω/ρ is kept, with the lever ρ to the middle of the overlap: 5/7 for ρ = r.
  const double lever = 0.1 - 0.5 * std::pow(2 * 9.81 / 1e6, 2.0 / 3);
  EXPECT_NEAR(soft.state().v[0], 2 / (1 + 0.4 * std::pow(0.1 / lever, 2)), 1e-4);
  EXPECT_NEAR(hard.state().v[0], 5.0 / 7 * 2, 2e-3);
  EXPECT_NEAR(soft.state().q[0], hard.state().q[0], 5e-3);
  EXPECT_NEAR(soft.energy().numerical(), 0, 5e-3);
}

TEST(Penalty, IsForSmoothSteppersOnly) {
  const Model m = ball_above_floor(0.1);
  EXPECT_THROW(Simulation(m, penalty_options("dvi")), InputError);
  SimulationOptions o = penalty_options();
  o.stepper.penalty.exponent = 0.5;
  EXPECT_THROW(Simulation(m, o), InputError);
}

}  // namespace
}  // namespace urto
