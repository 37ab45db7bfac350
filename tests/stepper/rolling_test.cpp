// Rolling and spinning friction through the DVI stepper, as statements of physics.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double g = 9.81;
constexpr double R = 0.1;

// A ball on a slope of the angle α that falls towards +x: gravity is turned, the floor is z = 0.
Model ball_on_slope(double alpha, const Material& material, double mass = 2) {
  Model m = empty_model({g * std::sin(alpha), 0, -g * std::cos(alpha)});
  m.materials[0] = material;
  add_floor(m);
  add_ball(m, "ball", {0, 0, R}, R, mass);
  finalize(m);
  return m;
}

SimulationOptions options(double step, double duration) {
  SimulationOptions o;
  o.step = step;
  o.duration = duration;
  o.solver.tolerance = 1e-10;
  return o;
}

TEST(RollingFriction, HoldsABallOnASlopeWhoseTangentIsBelowItsLengthOverTheRadius) {
  const double alpha = 0.1;
  const double rho = 1.01 * R * std::tan(alpha);
  for (const double spin : {0.0, 0.5}) {
    const Model m =
        ball_on_slope(alpha, {.friction = 0.5, .rolling_friction = rho, .spinning_friction = spin});
    Simulation run(m, options(1e-3, 1));
    run_to_end(run);
    EXPECT_LT(std::abs(run.state().q[0]), 1e-8);
    EXPECT_LT(run.state().v.norm(), 1e-8);
    EXPECT_EQ(run.checkpoint().missed, 0);
  }
}

TEST(RollingFriction, SlowsABallOnASteeperSlopeByItsMoment) {
  // a = (5/7) g (sin α − ρ/R cos α): the moment ρN acts against the turning about the contact
  // point.
  for (const double ratio : {0.0, 0.5, 0.9}) {
    const double alpha = 0.1;
    const double rho = ratio * R * std::tan(alpha);
    const Model m = ball_on_slope(alpha, {.friction = 0.5, .rolling_friction = rho});
    Simulation run(m, options(1e-3, 1));
    run_to_end(run);
    const double a = 5.0 / 7 * g * (std::sin(alpha) - rho / R * std::cos(alpha));
    EXPECT_NEAR(run.state().v[0], a, 1e-8);
    EXPECT_NEAR(run.state().v[4], a / R, 1e-7);
    EXPECT_EQ(run.checkpoint().missed, 0);
  }
}

TEST(RollingFriction, SlidesDownWhenFrictionIsTooSmallHoweverLargeTheMoment) {
  // μ < tan α and a huge ρ: the ball cannot turn and slides like a box.
  const double alpha = 0.3;
  const Model m = ball_on_slope(alpha, {.friction = 0.2, .rolling_friction = 1e6});
  Simulation run(m, options(1e-3, 1));
  run_to_end(run);
  EXPECT_NEAR(run.state().v[0], g * (std::sin(alpha) - 0.2 * std::cos(alpha)), 1e-6);
  EXPECT_LT(std::abs(run.state().v[4]), 1e-8);
}

TEST(RollingFriction, StopsARollingBallAfterItsDistance) {
  // ½·(7/5) m v² = ρ m g s/R, less the first-order v₀h/2 of the sliding box.
  const double rho = 2e-3, v = 0.5, h = 1e-3;
  Model m = empty_model();
  m.materials[0] = {.friction = 0.5, .rolling_friction = rho};
  add_floor(m);
  const int ball = add_ball(m, "ball", {0, 0, R}, R, 3);
  m.bodies[ball].velocity = {0.6 * v, 0.8 * v, 0};
  m.bodies[ball].angular_velocity = {-0.8 * v / R, 0.6 * v / R, 0};
  finalize(m);
  Simulation run(m, options(h, 6));
  run_to_end(run);
  const double distance = 7 * v * v / (10 * g * rho / R);
  EXPECT_NEAR(run.state().q.head<2>().norm(), distance - v * h / 2, 5e-2 * h);
  EXPECT_NEAR(run.state().q[1] / run.state().q[0], 4.0 / 3, 1e-6);
  EXPECT_LT(run.state().v.norm(), 1e-8);
  // All of it went into the moment.
  EXPECT_NEAR(run.energy().friction, 0.7 * 3 * v * v, 1e-5);
  EXPECT_LT(std::abs(run.energy().numerical()), 1e-6);
}

TEST(SpinningFriction, StopsATurningBallInItsTime) {
  // I ω̇ = −σ m g.
  const double sigma = 1e-3, omega = 20;
  for (const double friction : {0.5, 0.0}) {
    Model m = empty_model();
    m.materials[0] = {.friction = friction, .spinning_friction = sigma};
    add_floor(m);
    const int ball = add_ball(m, "ball", {0, 0, R}, R, 1);
    m.bodies[ball].angular_velocity = {0, 0, omega};
    finalize(m);
    Simulation run(m, options(1e-3, 10));
    run.start();
    double stopped = 0;
    while (run.advance()) {
      if (std::abs(run.state().v[5]) > 1e-7) stopped = run.state().t;
    }
    EXPECT_NEAR(stopped, 0.4 * R * R * omega / (sigma * g), 2e-3);
    EXPECT_LT(run.state().v.norm(), 1e-7);
    EXPECT_EQ(run.checkpoint().missed, 0);
  }
}

TEST(SpinningFriction, LetsATurntableSpinABallUp) {
  // I ω̇ = σ m g until the ball turns with the table.
  const double sigma = 2e-3, table = 3;
  Model m = empty_model();
  m.materials[0] = {.friction = 0.5, .spinning_friction = sigma};
  Body disk{.name = "table", .kind = BodyKind::kinematic};
  disk.motion.angle = PolynomialFunction{{0, table}};
  const int body = add_body(m, disk);
  m.shapes.push_back({.kind = ShapeKind::half_space, .pose = {}, .body = body});
  add_ball(m, "ball", {0, 0, R}, R, 1);
  finalize(m);
  const double rate = sigma * g / (0.4 * R * R);
  for (const double t : {0.3, 1.0}) {
    Simulation run(m, options(1e-3, t));
    run_to_end(run);
    EXPECT_NEAR(run.state().v[5], std::min(table, rate * t), 1e-6);
    EXPECT_NEAR(run.energy().total() - run.energy().start,
                run.energy().supplied - run.energy().friction, 1e-9);
    EXPECT_GT(run.energy().friction, 0);
  }
}

TEST(SpinningFriction, LeavesRollingAlone) {
  const double alpha = 0.1;
  const Model m = ball_on_slope(alpha, {.friction = 0.5, .spinning_friction = 0.05});
  Simulation run(m, options(1e-3, 1));
  run_to_end(run);
  EXPECT_NEAR(run.state().v[0], 5.0 / 7 * g * std::sin(alpha), 1e-8);
}

TEST(RollingFriction, WithoutSlidingFrictionActsOnTheTurningOnly) {
  // A ball on ice that turns as if it rolled: its speed stays, its turning is braked.
  Model m = empty_model();
  m.materials[0] = {.friction = 0, .rolling_friction = 1e-3};
  add_floor(m);
  const int ball = add_ball(m, "ball", {0, 0, R}, R, 1);
  m.bodies[ball].velocity = {1, 0, 0};
  m.bodies[ball].angular_velocity = {0, 10, 0};
  finalize(m);
  Simulation run(m, options(1e-3, 1));
  run_to_end(run);
  EXPECT_NEAR(run.state().v[0], 1, 1e-9);
  EXPECT_NEAR(run.state().v[4], 10 - 1e-3 * g / (0.4 * R * R), 1e-6);
}

TEST(RollingFriction, BetweenTwoBallsActsOnTheirRelativeTurning) {
  // Two equal balls in free space pressed together, turning like gear wheels (no relative spin of
  // their surfaces along the line, but rolling on each other): the moments are opposite and equal,
  // and angular momentum stays.
  Model m = empty_model(Vec3::Zero());
  m.materials[0] = {.friction = 0, .rolling_friction = 5e-3, .spinning_friction = 5e-3};
  const int a = add_ball(m, "a", {-R, 0, 0}, R, 1);
  const int b = add_ball(m, "b", {R, 0, 0}, R, 1);
  m.bodies[a].angular_velocity = {3, 5, 0};
  m.bodies[b].angular_velocity = {-1, -5, 2};
  for (const int body : {a, b}) {
    const int marker = add_marker(m, "", body, {});
    m.forces.emplace_back(Load{.name = "press",
                               .marker = marker,
                               .force = {ConstantFunction{body == a ? 50.0 : -50.0},
                                         ConstantFunction{0}, ConstantFunction{0}}});
  }
  finalize(m);
  Simulation run(m, options(1e-3, 2));
  run_to_end(run);
  const Vec3 wa = angular_velocity(m, run.state(), a), wb = angular_velocity(m, run.state(), b);
  const Vec3 world_a = rotate(rotation(m, run.state(), a), wa);
  const Vec3 world_b = rotate(rotation(m, run.state(), b), wb);
  EXPECT_LT((world_a - world_b).norm(), 1e-6);
  EXPECT_LT((world_a + world_b - Vec3(2, 0, 2)).norm(), 1e-6);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

TEST(RollingFriction, IslandSweepsAgreeWithASolverOfAnotherKind) {
  Model m = empty_model({0.4, 0.1, -g});
  m.materials[0] = {.friction = 0.3, .rolling_friction = 4e-3, .spinning_friction = 2e-3};
  add_floor(m);
  for (int k = 0; k < 6; ++k) {
    const int ball = add_ball(
        m, "", {0.19 * (k % 3) + 0.03 * (k / 3), 0.05 * (k % 2), R + 0.17 * (k / 3)}, R, 1 + k);
    m.bodies[ball].velocity = {0.3 * k, -0.2, 0};
    m.bodies[ball].angular_velocity = {1.0 * k, 2, 3};
  }
  finalize(m);
  SimulationOptions o = options(1e-3, 0.1);
  Simulation sweeps(m, o);
  run_to_end(sweeps);
  EXPECT_EQ(sweeps.checkpoint().missed, 0);
  for (const char* name : {"prox", "nsgs"}) {
    o.solver.solver = name;
    Simulation other(m, o);
    run_to_end(other);
    EXPECT_EQ(other.checkpoint().missed, 0) << name;
    EXPECT_LT(difference(m, sweeps.state().q, other.state().q).cwiseAbs().maxCoeff(), 1e-7) << name;
  }
}

TEST(RollingFriction, ConvexLawHoldsOnTheSlopeToo) {
  const double alpha = 0.1;
  const Model m =
      ball_on_slope(alpha, {.friction = 0.5, .rolling_friction = 1.01 * R * std::tan(alpha)});
  SimulationOptions o = options(1e-3, 0.3);
  o.stepper.friction = Friction::convex;
  Simulation run(m, o);
  run_to_end(run);
  EXPECT_LT(run.state().v.norm(), 1e-7);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

}  // namespace
}  // namespace urto
