// Small oscillations about states of rest in which contacts stick, limits are closed, and motors
// and dry friction hold: what holds is a constraint.
#include "urto/analysis/held_rows.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/analysis/modes.h"
#include "urto/error.h"

namespace urto {
namespace {

constexpr double g = 9.81;

struct AtRest {
  explicit AtRest(const Model& model) : system(model) {
    State state = initial_state(model);
    // As far as without shapes a scene's envelope is: the rods have a metre to fall.
    report = find_equilibrium(system, state, {.envelope = 0.01});
    if (!report.converged) return;
    rest = state;
    held = held_at_rest(system, report);
    linear = linearise(system, rest, held);
  }
  Vector squared() const { return find_modes(linear).squared; }

  RigidSystem system;
  StaticsReport report = {};
  State rest = {};
  HeldRows held = {};
  Linearisation linear = {};
};

void add_motor(Model& m, int joint, double speed,
               double most = std::numeric_limits<double>::infinity()) {
  Motor motor;
  motor.name = "drive";
  motor.on = {joint, 0};
  motor.mode = MotorMode::speed;
  motor.value = PolynomialFunction{{speed}};
  motor.max_force = most;
  m.motors.push_back(motor);
}

// A ball of radius R whose centre of mass is e below its middle rolls to and fro with
// ω² = m g e / (I + m (R − e)²), in two directions; about the vertical it turns freely.
TEST(HeldRows, AStickingBallWithAHeavyBottomRocksAtItsClosedForm) {
  constexpr double R = 0.1, e = 0.03, mass = 2, I = 0.004;
  Model m = testing::empty_model();
  m.materials[0].friction = 0.5;
  const int ball = testing::add_rigid(m, "ball", {0, 0, R - e}, mass, I * Mat3::Identity());
  m.shapes.push_back({.kind = ShapeKind::sphere,
                      .size = {R, 0, 0},
                      .pose = {{0, 0, e}, {1, 0, 0, 0}},
                      .body = ball});
  testing::add_floor(m);
  finalize(m);
  const AtRest at(m);
  ASSERT_TRUE(at.report.converged) << at.report.message;
  EXPECT_EQ(at.held.contacts, std::vector<std::string>{"contact of 'ball' and 'world'"});
  EXPECT_LT(at.linear.unbalanced, 1e-6);
  const Vector squared = at.squared();
  ASSERT_EQ(squared.size(), 3);
  const double expected = mass * g * e / (I + mass * (R - e) * (R - e));
  EXPECT_NEAR(squared[0], 0, 1e-6 * expected);
  EXPECT_NEAR(squared[1] / expected, 1, 1e-6);
  EXPECT_NEAR(squared[2] / expected, 1, 1e-6);
}

// Without friction it slides besides, and rocks about its centre of mass: ω² = m g e / I.
TEST(HeldRows, WithoutFrictionItRocksAboutItsCentreOfMass) {
  constexpr double R = 0.1, e = 0.03, mass = 2, I = 0.004;
  Model m = testing::empty_model();
  m.materials[0].friction = 0;
  const int ball = testing::add_rigid(m, "ball", {0, 0, R - e}, mass, I * Mat3::Identity());
  m.shapes.push_back({.kind = ShapeKind::sphere,
                      .size = {R, 0, 0},
                      .pose = {{0, 0, e}, {1, 0, 0, 0}},
                      .body = ball});
  testing::add_floor(m);
  finalize(m);
  const AtRest at(m);
  ASSERT_TRUE(at.report.converged) << at.report.message;
  const Vector squared = at.squared();
  ASSERT_EQ(squared.size(), 5);
  const double expected = mass * g * e / I;
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(squared[k], 0, 1e-6 * expected);
  for (int k = 3; k < 5; ++k) EXPECT_NEAR(squared[k] / expected, 1, 1e-6);
}

TEST(HeldRows, ABlockOnFourCornersHasNoMotionLeft) {
  Model m = testing::empty_model();
  m.materials[0].friction = 0.4;
  testing::add_cube(m, "block", {0, 0, 0.1}, 0.2, 3);
  testing::add_floor(m);
  finalize(m);
  const AtRest at(m);
  ASSERT_TRUE(at.report.converged) << at.report.message;
  EXPECT_EQ(at.held.contacts.size() + at.held.free.size(), 4U);
  EXPECT_EQ(at.squared().size(), 0);
}

// A ball on a soft floor bounces with ω² = k/m and, without friction, does nothing else; k is that
// of two equal surfaces in series.
TEST(HeldRows, ASoftContactIsASpring) {
  constexpr double surface = 10000, k = surface / 2, mass = 2;
  Model m = testing::empty_model();
  m.materials[0].friction = 0;
  m.materials[0].stiffness = surface;
  testing::add_ball(m, "ball", {0, 0, 0.1}, 0.1, mass);
  testing::add_floor(m);
  finalize(m);
  const AtRest at(m);
  ASSERT_TRUE(at.report.converged) << at.report.message;
  const Vector squared = at.squared();
  ASSERT_EQ(squared.size(), 6);
  EXPECT_NEAR(squared[5] / (k / mass), 1, 1e-8);
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(squared[i], 0, 1e-6 * k / mass);
}

/// The lower of two rods, L = 1, when the upper one does not move: 3g/(2L).
void expect_single_pendulum(const AtRest& at) {
  ASSERT_TRUE(at.report.converged) << at.report.message;
  EXPECT_LT(at.linear.unbalanced, 1e-5);
  const Vector squared = at.squared();
  ASSERT_EQ(squared.size(), 1);
  EXPECT_NEAR(squared[0] / (1.5 * g), 1, 1e-6);
}

TEST(HeldRows, AClosedLimitStaysClosed) {
  Model m = testing::rod_chain(2);
  Limit limit;
  limit.name = "stop";
  limit.on = {0, 0};
  limit.lower = -1;
  m.limits.push_back(limit);
  finalize(m);
  const AtRest at(m);
  expect_single_pendulum(at);
  EXPECT_EQ(at.held.limits, std::vector<std::string>{"limit 'stop'"});
  // It stands on its stop.
  EXPECT_NEAR(coordinate_value(m, at.rest, {0, 0}), -1, 1e-8);
}

TEST(HeldRows, AMotorAtRestHoldsItsCoordinate) {
  for (const double most : {std::numeric_limits<double>::infinity(), 100.0}) {
    Model m = testing::rod_chain(2);
    add_motor(m, 0, 0, most);
    finalize(m);
    const AtRest at(m);
    expect_single_pendulum(at);
    EXPECT_EQ(at.held.motors, std::vector<std::string>{"motor 'drive'"}) << most;
    // Where it started. A motor with a bound is found by steps whose joints are projected after
    // each, which the motor's row on velocities does not see.
    EXPECT_NEAR(coordinate_value(m, at.rest, {0, 0}), 0, std::isinf(most) ? 1e-8 : 2e-3);
  }
}

TEST(HeldRows, DryFrictionWithinItsBoundHolds) {
  Model m = testing::rod_chain(2);
  JointFriction friction;
  friction.name = "brake";
  friction.on = {0, 0};
  friction.bound = 100;
  m.frictions.push_back(friction);
  finalize(m);
  const AtRest at(m);
  expect_single_pendulum(at);
  EXPECT_EQ(at.held.frictions, std::vector<std::string>{"joint friction 'brake'"});
}

TEST(HeldRows, OfJointsAloneNothingChanges) {
  const Model m = testing::rod_chain(3);
  const AtRest at(m);
  ASSERT_TRUE(at.report.converged);
  const Vector known = find_modes(linearise(at.system, at.rest)).squared;
  EXPECT_LT((at.squared() - known).norm(), 1e-9 * known.norm());
}

TEST(Statics, AMotorThatImposesASpeedIsNamed) {
  Model m = testing::rod_chain(2);
  add_motor(m, 0, 3);
  finalize(m);
  const RigidSystem system(m);
  State state = initial_state(m);
  try {
    find_equilibrium(system, state);
    FAIL() << "a driven scene was said to rest";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("motor 'drive', which imposes a speed of 3"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace urto
