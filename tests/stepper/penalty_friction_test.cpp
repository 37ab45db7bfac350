// Friction with memory where contacts are springs: closed forms of sticking, sliding and
// hysteresis.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/analysis/statics.h"
#include "urto/mechanics/penalty_system.h"

namespace urto {
namespace {

constexpr double mass = 2, gravity = 9.81, weight = mass * gravity;
constexpr double thickness = 0.04;

PenaltyLaw spring_law() {
  return {.stiffness = 1e6,
          .exponent = 1,
          .damping = 200,
          .tangential_stiffness = 1e5,
          .tangential_damping = 200};
}

std::vector<FrictionMemory::Spring> springs_of(const State& state) {
  FrictionMemory memory;
  recall_friction(state, memory);
  return memory.springs;
}

SimulationOptions spring_options(const std::string& stepper, double step, double duration) {
  SimulationOptions o;
  o.stepper.name = stepper;
  o.stepper.penalty_contact = true;
  o.stepper.penalty = spring_law();
  o.step = step;
  o.duration = duration;
  return o;
}

/// A flat box, four corners on the floor at the depth that carries it; gravity leans by the angle
/// instead of the floor.
Model box_on_incline(double angle, double friction) {
  Model m = testing::empty_model(gravity * Vec3(std::sin(angle), 0, -std::cos(angle)));
  m.materials[0].friction = friction;
  const double depth = weight * std::cos(angle) / 4 / spring_law().stiffness;
  const int body =
      testing::add_rigid(m, "box", {0, 0, 0.5 * thickness - depth}, mass, 0.03 * Mat3::Identity());
  m.shapes.push_back(
      {.kind = ShapeKind::box, .size = {0.2, 0.2, 0.5 * thickness}, .pose = {}, .body = body});
  testing::add_floor(m);
  finalize(m);
  return m;
}

/// The middle of the face that touches.
Vec3 sole(const Model& m, const State& s) {
  const BodyPlace at = place(m, s, 1);
  return at.x - 0.5 * thickness * at.A.col(2);
}

// Four springs hold the downhill part of the weight: x = m g sin α/(4 k_t), and stay there.
TEST(PenaltyFriction, ABlockOnAnInclineDoesNotCreep) {
  const double angle = 0.3;
  const Model m = box_on_incline(angle, 0.5);
  const double expected = weight * std::sin(angle) / (4 * spring_law().tangential_stiffness);
  for (const StepperInfo& stepper : steppers()) {
    if (stepper.contacts) continue;
    Simulation run(m, spring_options(std::string(stepper.name), 1e-4, 0.2));
    testing::run_to_end(run);
    ASSERT_EQ(run.run_state(), RunState::finished) << stepper.name << ": " << run.failure();
    EXPECT_NEAR(sole(m, run.state()).x() / expected, 1, 1e-5) << stepper.name;
    EXPECT_LT(std::abs(run.state().v[0]), 1e-9) << stepper.name;
  }
}

// μ N u/√(u² + v_s²) = m g sin α: what smoothed friction does instead.
TEST(PenaltyFriction, SmoothedFrictionCreepsAtTheKnownSpeed) {
  const double angle = 0.3;
  const Model m = box_on_incline(angle, 0.5);
  SimulationOptions o = spring_options("generalised-alpha", 1e-3, 1);
  o.stepper.penalty.tangential_stiffness = 0;
  Simulation run(m, o);
  testing::run_to_end(run);
  const double slope = std::tan(angle);
  const double creep = 0.01 * slope / std::sqrt(0.25 - slope * slope);
  EXPECT_NEAR(run.state().v[0], creep, 1e-6 * creep);
}

TEST(PenaltyFriction, AboveTheAngleOfFrictionABlockSlides) {
  const double angle = 0.4;
  const Model m = box_on_incline(angle, 0.3);
  const double expected = gravity * (std::sin(angle) - 0.3 * std::cos(angle));
  for (const char* name : {"generalised-alpha", "implicit-euler", "rk4", "linear-implicit-euler"}) {
    Simulation run(m, spring_options(name, 1e-4, 0.4));
    run.start();
    double half = 0;
    while (run.advance()) {
      if (std::abs(run.state().t - 0.2) < 1e-9) half = run.state().v[0];
    }
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_NEAR((run.state().v[0] - half) / 0.2, expected, 1e-5 * expected) << name;
    // The springs stand at their bound.
    for (const FrictionMemory::Spring& s : springs_of(run.state())) EXPECT_GT(s.stretch.x(), 0);
    EXPECT_EQ(springs_of(run.state()).size(), 4U);
  }
}

/// A ball on an upright rail presses on a floor that is moved as told.
Model ball_on_moving_floor(double friction, const Motion& motion) {
  Model m = testing::empty_model();
  m.materials[0].friction = friction;
  const double depth = weight / spring_law().stiffness;
  const int ball = testing::add_ball(m, "ball", {0, 0, 0.1 - depth}, 0.1, mass);
  testing::join(m, "rail", JointKind::prismatic, 0, ball, m.bodies[ball].start.position);
  Body table{.name = "table", .kind = BodyKind::kinematic};
  table.motion = motion;
  const int body = add_body(m, table);
  m.shapes.push_back(
      {.kind = ShapeKind::half_space, .size = Vec3::Zero(), .pose = {}, .body = body});
  finalize(m);
  return m;
}

// From one turning point to the other the spring is drawn by 2 μN/k_t and then slips at μN: the
// loop has the area 4 μN (X − μN/k_t).
TEST(PenaltyFriction, DraggedToAndFroItsLoopHasTheKnownArea) {
  constexpr double way = 2e-3, mu = 0.5;
  const double bound = mu * weight;
  Motion motion;
  motion.position[0] = HarmonicFunction{.amplitude = way, .frequency = 1};
  const Model m = ball_on_moving_floor(mu, motion);
  const double expected = 4 * bound * (way - bound / spring_law().tangential_stiffness);
  for (const char* name : {"generalised-alpha", "heun"}) {
    SimulationOptions o = spring_options(name, 2.5e-4, 2);
    o.stepper.penalty.tangential_damping = 0;
    Simulation run(m, o);
    run.start();
    double first = 0, loop = 0, largest = 0;
    const auto pull = [&] { return run.impulses().head<3>().norm() / o.step; };
    while (run.advance()) {
      if (std::abs(run.state().t - 1) < 1e-9) first = run.energy().friction;
      largest = std::max(largest, pull());
    }
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    loop = run.energy().friction - first;
    EXPECT_NEAR(loop / expected, 1, 2e-3) << name;
    EXPECT_NEAR(largest, bound, 1e-6 * bound) << name;
    EXPECT_NEAR(run.energy().numerical(), 0, 2e-3 * run.energy().friction) << name;
    EXPECT_NEAR(run.energy().damping, 0, 2e-3 * run.energy().friction) << name;
  }
}

// Stuck to a turntable a box goes round with it: its springs turn along and pull it inwards, 4 k_t
// x = m ω² (r + x).
TEST(PenaltyFriction, SpringsTurnWithTheirBodies) {
  constexpr double rate = 2, radius = 0.4;
  Model m = testing::empty_model();
  m.materials[0].friction = 0.5;
  const double depth = weight / 4 / spring_law().stiffness;
  const int box = testing::add_rigid(m, "box", {radius, 0, 0.5 * thickness - depth}, mass,
                                     0.03 * Mat3::Identity());
  m.shapes.push_back(
      {.kind = ShapeKind::box, .size = {0.2, 0.2, 0.5 * thickness}, .pose = {}, .body = box});
  m.bodies[box].velocity = {0, rate * radius, 0};
  m.bodies[box].angular_velocity = {0, 0, rate};
  Body table{.name = "table", .kind = BodyKind::kinematic};
  table.motion.angle = PolynomialFunction{{0, rate}};
  const int body = add_body(m, table);
  m.shapes.push_back(
      {.kind = ShapeKind::half_space, .size = Vec3::Zero(), .pose = {}, .body = body});
  finalize(m);
  Simulation run(m, spring_options("generalised-alpha", 1e-3, 4));
  testing::run_to_end(run);
  ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
  const double pull = mass * rate * rate;
  const double stretch = pull * radius / (4 * spring_law().tangential_stiffness - pull);
  const Vec3 at = sole(m, run.state());
  const double turned = rate * 4;
  const Vec3 outwards(std::cos(turned), std::sin(turned), 0);
  EXPECT_NEAR(at.dot(outwards) - radius, stretch, 2e-2 * stretch);
  EXPECT_NEAR(at.cross(outwards).z(), 0, 2e-2 * stretch);
}

// The force is a function of the state alone, whatever was tried in between; a contact that ends
// forgets.
TEST(PenaltyFriction, StepsThatAreGivenUpLeaveNoTrace) {
  const Model m = box_on_incline(0.3, 0.5);
  RigidSystem rigid(m);
  const PenaltySystem penalty(rigid, spring_law());
  SystemAccess system(penalty);
  const auto stepper = make_stepper(penalty, spring_options("hht", 1e-4, 1));
  State s = initial_state(m);
  StepMemory memory;
  StepReport report;
  for (int k = 0; k < 50; ++k) stepper->step(s, 1e-4, memory, report);
  ASSERT_EQ(springs_of(s).size(), 4U);
  EXPECT_GT(springs_of(s)[0].stretch.x(), 1e-7);
  Vector before, after;
  system.force(s, before);
  for (const double h : {1e-2, 3e-3, 1e-4}) {
    State tried = s;
    StepMemory its = memory;
    stepper->step(tried, h, its, report);
  }
  system.force(s, after);
  EXPECT_EQ(before, after);
  State lifted = s;
  lifted.q[2] += 1e-3;
  system.accept(lifted);
  EXPECT_TRUE(springs_of(lifted).empty());
}

TEST(PenaltyFriction, AdaptiveStepsFindTheSameRest) {
  const double angle = 0.3;
  const Model m = box_on_incline(angle, 0.5);
  SimulationOptions o = spring_options("generalised-alpha", 1e-5, 0.2);
  o.adaptive = true;
  o.error_tolerance = 1e-9;
  o.max_step = 1e-2;
  Simulation run(m, o);
  testing::run_to_end(run);
  ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_GT(run.checkpoint().rejected, 0);
  const double expected = weight * std::sin(angle) / (4 * spring_law().tangential_stiffness);
  EXPECT_NEAR(sole(m, run.state()).x() / expected, 1, 1e-3);
}

TEST(PenaltyFriction, StaticsFindsWhereTheSpringsHold) {
  const double angle = 0.3;
  const Model m = box_on_incline(angle, 0.5);
  RigidSystem rigid(m);
  PenaltySystem system(rigid, spring_law());
  State s = initial_state(m);
  const StaticsReport report = find_equilibrium(system, s);
  ASSERT_TRUE(report.converged) << report.message;
  const double expected = weight * std::sin(angle) / (4 * spring_law().tangential_stiffness);
  EXPECT_NEAR(sole(m, s).x() / expected, 1, 1e-6);
}

// A ball that slides at first rolls in the end, m v + I ω/ρ kept with the lever ρ to the middle of
// the overlap. Its points part by r(θ − sin θ) in a step of angle θ = 0.014, and so much it creeps.
TEST(PenaltyFriction, ASlidingBallEndsUpRolling) {
  Model m = testing::empty_model();
  m.materials[0].friction = 0.3;
  const double depth = weight / spring_law().stiffness;
  testing::add_ball(m, "ball", {0, 0, 0.1 - depth}, 0.1, mass);
  testing::add_floor(m);
  m.bodies[1].velocity = {2, 0, 0};
  finalize(m);
  Simulation run(m, spring_options("generalised-alpha", 1e-3, 1));
  testing::run_to_end(run);
  ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
  const double lever = 0.1 - 0.5 * depth;
  const double expected = 2 / (1 + 0.4 * std::pow(0.1 / lever, 2));
  EXPECT_NEAR(run.state().v[0] / expected, 1, 1e-4);
  EXPECT_NEAR(lever * run.state().v[4] / expected, 1, 1e-4);
}

/// −∂f/∂(x, y) of the box in the directions in which only the springs of friction act, and −∂f/∂v.
TEST(PenaltyFriction, TangentsAreTheDerivativesOfTheForce) {
  // Sticks, slips, and slips with a friction that falls with the slip.
  for (const auto& [friction, static_friction] : {std::pair{0.5, 0.0}, {0.05, 0.0}, {0.04, 0.06}}) {
    Model m = box_on_incline(0, friction);
    m.materials[0].static_friction = static_friction;
    m.materials[0].stribeck_speed = 5e-4;
    finalize(m);
    RigidSystem rigid(m);
    const PenaltySystem penalty(rigid, spring_law());
    SystemAccess system(penalty);
    State s = initial_state(m);
    s.v = Vector::Zero(6);
    system.accept(s);
    s.q[0] += 1.5e-6;
    s.q[1] -= 4e-6;
    s.v << 2e-4, 1e-4, -3e-4, 1e-4, 2e-4, -1e-4;
    const auto tangent = [&](const Coefficients& c) {
      BlockMatrix A;
      A.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
      system.assemble(s, c, Tangent::exact, A);
      A.finish_assembly();
      return Matrix(A.block(0));
    };
    const Matrix damping = tangent({.damping = 1}), stiffness = tangent({.stiffness = 1});
    Vector high, low;
    for (int k = 0; k < 6; ++k) {
      State moved = s;
      moved.v[k] += 1e-7;
      system.force(moved, high);
      moved.v[k] -= 2e-7;
      system.force(moved, low);
      const Vector D = damping.col(k);
      EXPECT_LT(((high - low) / 2e-7 + D).norm(), 1e-5 * (1 + D.norm())) << friction << ' ' << k;
      if (k > 1) continue;
      moved = s;
      moved.q[k] += 1e-9;
      system.force(moved, high);
      moved.q[k] -= 2e-9;
      system.force(moved, low);
      const Vector K = stiffness.col(k);
      EXPECT_LT(((high - low) / 2e-9 + K).norm(), 1e-4 * (1 + K.norm())) << friction << ' ' << k;
    }
  }
}

}  // namespace
}  // namespace urto
