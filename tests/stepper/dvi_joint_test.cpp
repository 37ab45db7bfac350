// Mechanisms through the DVI stepper: closed forms, drift, motors, limits, springs (recipe 000
// §2.7, §3 T2, §2.7.6).
#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

#include "long/random_mechanism.h"
#include "urto/mechanics/textbook.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double pi = std::numbers::pi;

SimulationOptions fixed(double h, double duration) {
  SimulationOptions o;
  o.step = h;
  o.duration = duration;
  return o;
}

TEST(DviJoint, PendulumConvergesWithTheErrorsOfTheTable) {
  // Recipe 000 T2, row S1: point mass on a 1 m rod, T = 1; reference (−0.986291751, −0.165010853).
  double last = 0;
  for (const auto& [h, error] : {std::pair{0.01, 8.04e-3}, {0.005, 4.26e-3}, {0.0025, 2.19e-3}}) {
    Model m = empty_model({0, -9.81, 0});
    const int mass = add_rigid(m, "mass", {1, 0, 0}, 1, 1e-6 * Mat3::Identity());
    join(m, "hinge", JointKind::revolute, 0, mass, Vec3::Zero());
    finalize(m);
    Simulation run(m, fixed(h, 1));
    run_to_end(run);
    const double found = std::hypot(run.state().q[0] + 0.986291751, run.state().q[1] + 0.165010853);
    EXPECT_NEAR(found, error, 0.03 * error);
    if (last > 0) {
      EXPECT_NEAR(last / found, 2, 0.15);
    }
    last = found;
    // A step leaves along the tangent: ½ v² h² off the circle, v² = 2g at the lowest point.
    EXPECT_NEAR(run.checkpoint().worst_joint_error, 9.81 * h * h, 0.5 * h * h);
  }
}

TEST(DviJoint, ExtrapolatedAdaptiveStepsAreOfSecondOrder) {
  double last = 0;
  for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
    Model m = empty_model({0, -9.81, 0});
    const int mass = add_rigid(m, "mass", {1, 0, 0}, 1, 1e-10 * Mat3::Identity());
    join(m, "hinge", JointKind::revolute, 0, mass, Vec3::Zero());
    finalize(m);
    SimulationOptions o = fixed(1e-3, 1);
    o.adaptive = true;
    o.error_tolerance = tolerance;
    Simulation run(m, o);
    run_to_end(run);
    const double found = std::hypot(run.state().q[0] + 0.986291751, run.state().q[1] + 0.165010853);
    // The local error estimate is O(h²), so h falls by 10 for 100 in tolerance, and an error of
    // second order by 100.
    if (last > 0) {
      EXPECT_LT(found, last / 50);
    }
    last = found;
  }
  EXPECT_LT(last, 1e-7);
}

TEST(DviJoint, FreeAsymmetricBodyTumblesWithItsEnergy) {
  // Dzhanibekov: spin about the middle axis. Energy is kept; the drift of the angular
  // momentum (world) is O(h²), for bodies move with the mean velocity of the midpoint rule.
  double last_momentum = 0;
  for (const double h : {2e-3, 1e-3, 5e-4}) {
    Model m = empty_model(Vec3::Zero());
    const int body = add_rigid(m, "wing nut", Vec3::Zero(), 1, Vec3(1, 2, 2.8).asDiagonal());
    m.bodies[body].angular_velocity = {1e-3, 3, 1e-3};
    finalize(m);
    const Mat3 I = m.bodies[body].inertia;
    Simulation run(m, fixed(h, 10));
    run.start();
    const double energy = run.energy().start;
    const Vec3 momentum = I * m.bodies[body].angular_velocity;
    double least = 3;
    double drift = 0;
    double turn = 0;
    while (run.advance()) {
      const Vec3 omega = run.state().v.segment<3>(3);
      least = std::min(least, omega[1]);
      drift = std::max(drift, std::abs(run.energy().total() - energy) / energy);
      const Vec3 L = rotate(run.state().q.segment<4>(3), I * omega);
      turn = std::max(turn, (L - momentum).norm() / momentum.norm());
    }
    EXPECT_LT(least, -2.9) << "it must flip over";
    // Rounding: four units in the last place a step.
    EXPECT_LT(drift, 10 / h * 4 * std::numeric_limits<double>::epsilon());
    if (last_momentum > 0) {
      EXPECT_NEAR(last_momentum / turn, 4, 0.1);
    }
    last_momentum = turn;
  }
}

TEST(DviJoint, SpinningTopPrecessesSteadily) {
  // A gyroscope on a ball joint with its axis horizontal and the exact rate of steady precession:
  // spin ω_s about its axis, Ω = m g l / (I_a ω_s) holds exactly at 90° of tilt.
  const double mass = 1, l = 0.2, Ia = 0.01, It = 0.02, spin = 100;
  const double rate = mass * 9.81 * l / (Ia * spin);
  double last = 0;
  for (const double h : {2e-4, 1e-4}) {
    Model m = empty_model();
    // Axis along x; inertia about the centre of mass, It about the pivot is It + m l².
    const int top = add_rigid(m, "top", {l, 0, 0}, mass, Vec3(Ia, It, It).asDiagonal());
    m.bodies[top].angular_velocity = {spin, 0, rate};
    m.bodies[top].velocity = Vec3(0, 0, rate).cross(Vec3(l, 0, 0));
    join(m, "pivot", JointKind::spherical, 0, top, Vec3::Zero());
    finalize(m);
    Simulation run(m, fixed(h, 1));
    run_to_end(run);
    const Vec3 x = position(m, run.state(), top);
    const double error = std::abs(continued_angle(std::atan2(x[1], x[0]), rate) - rate);
    EXPECT_LT(std::abs(x[2]), 60 * h);
    if (last > 0) {
      EXPECT_NEAR(last / error, 2, 0.5);
    }
    last = error;
  }
  EXPECT_LT(last, 0.01);
}

TEST(DviJoint, SliderCrankFollowsItsClosedFormTo1e9) {
  // Crank r = 0.1, rod l = 0.3, offset e = 0.02, driven at ω = 20 rad/s: x = r cos φ + √(l² − (r
  // sin φ − e)²).
  const double r = 0.1, l = 0.3, e = 0.02, omega = 20;
  Model m = empty_model({0, -9.81, 0});
  const double phi0 = 0.3;
  const Vec3 pin(r * std::cos(phi0), r * std::sin(phi0), 0);
  const Vec3 slide(r * std::cos(phi0) + std::sqrt(l * l - std::pow(r * std::sin(phi0) - e, 2)), e,
                   0);
  const int crank = add_rigid(m, "crank", 0.5 * pin, 0.5, 1e-3 * Mat3::Identity());
  const int rod = add_rigid(m, "rod", 0.5 * (pin + slide), 0.8, 5e-3 * Mat3::Identity());
  const int block = add_rigid(m, "slider", slide, 1, 1e-3 * Mat3::Identity());
  const int main = join(m, "main bearing", JointKind::revolute, 0, crank, Vec3::Zero());
  join(m, "crank pin", JointKind::revolute, crank, rod, pin);
  join(m, "piston pin", JointKind::revolute, rod, block, slide);
  join(m, "guide", JointKind::prismatic, 0, block, slide, Vec3::UnitX());
  Motor motor;
  motor.name = "drive";
  motor.on = {main, find_coordinate(JointKind::revolute, "angle")};
  motor.value = PolynomialFunction{{0, omega}};
  m.motors.push_back(motor);
  finalize(m);
  SimulationOptions o = fixed(1e-3, 1);
  o.stepper.project_joints = true;
  Simulation run(m, o);
  const StartReport& start = run.start();
  // A planar loop in space: 18 velocities, 20 + 1 rows, three of them redundant, nothing left to
  // move.
  EXPECT_EQ(start.mobility(), 0);
  while (run.advance()) {
    const double phi = phi0 + omega * run.state().t;
    const double x = r * std::cos(phi) + std::sqrt(l * l - std::pow(r * std::sin(phi) - e, 2));
    ASSERT_NEAR(position(m, run.state(), block)[0], x, 1e-9);
    ASSERT_NEAR(position(m, run.state(), block)[1], e, 1e-9);
  }
  EXPECT_EQ(run.checkpoint().missed, 0);
}

TEST(DviJoint, FourBarReactionsEqualAnIndependentStatics) {
  // At rest, held by a motor: the crank torque and the ground reactions from plane statics (virtual
  // work and equilibrium), computed here.
  const Vec3 A(0, 0, 0), B(0.2, 0.4, 0), C(0.9, 0.6, 0), D(0.8, 0, 0);
  const double mass[3] = {1.0, 2.0, 1.5};
  const Vec3 ends[3][2] = {{A, B}, {B, C}, {C, D}};
  Model m = empty_model({0, -9.81, 0});
  int body[3];
  for (int k = 0; k < 3; ++k) {
    body[k] = add_rigid(m, "bar-" + std::to_string(k), 0.5 * (ends[k][0] + ends[k][1]), mass[k],
                        0.1 * Mat3::Identity());
  }
  const int crank = join(m, "A", JointKind::revolute, 0, body[0], A);
  join(m, "B", JointKind::revolute, body[0], body[1], B);
  join(m, "C", JointKind::spherical, body[1], body[2], C);
  join(m, "D", JointKind::cylindrical, 0, body[2], D);
  m.joints[3].kind = JointKind::revolute;
  Motor motor;
  motor.on = {crank, 0};
  motor.value = ConstantFunction{0};
  m.motors.push_back(motor);
  finalize(m);
  SimulationOptions o = fixed(1e-3, 0.05);
  o.solver.tolerance = 1e-12;
  Simulation run(m, o);
  run_to_end(run);
  // Plane statics: unknown forces on bar k at its first end (Ax, Ay, Bx, By, Cx, Cy), D by the last
  // bar, torque T on bar 0.
  Eigen::Matrix<double, 9, 9> S = Eigen::Matrix<double, 9, 9>::Zero();
  Eigen::Matrix<double, 9, 1> rhs = Eigen::Matrix<double, 9, 1>::Zero();
  for (int k = 0; k < 3; ++k) {
    // Forces in at end 0: unknowns 2k, 2k+1; out at end 1: minus unknowns of the next joint (D is
    // unknown 6, 7 on bar 2 with plus).
    const Vec3 c = 0.5 * (ends[k][0] + ends[k][1]);
    const Vec3 p0 = ends[k][0] - c, p1 = ends[k][1] - c;
    const double sign = k == 2 ? 1 : -1;
    const int next = 2 * k + 2;
    S(3 * k, 2 * k) = 1;
    S(3 * k, next) = sign;
    S(3 * k + 1, 2 * k + 1) = 1;
    S(3 * k + 1, next + 1) = sign;
    S(3 * k + 2, 2 * k) = -p0[1];
    S(3 * k + 2, 2 * k + 1) = p0[0];
    S(3 * k + 2, next) = -sign * p1[1];
    S(3 * k + 2, next + 1) = sign * p1[0];
    rhs[3 * k + 1] = mass[k] * 9.81;
  }
  S(2, 8) = 1;
  const Eigen::Matrix<double, 9, 1> f = S.fullPivLu().solve(rhs);
  for (int i = 0; i < run.rows().blocks(); ++i) {
    const RowOrigin origin = run.rows().origins[i];
    const int first = run.rows().J.row_start[i];
    if (origin.kind == Origin::motor) {
      EXPECT_NEAR(run.impulses()[first] / o.step, f[8], 1e-8 * std::abs(f[8]));
      continue;
    }
    // Force on body b: rows `along` have the gradient d on b's position.
    Vec3 force = Vec3::Zero();
    const Joint& joint = m.joints[origin.index];
    const int b = dof(m, m.markers[joint.marker_b].body);
    for (int e = run.rows().J.entry_start[i]; e < run.rows().J.entry_start[i + 1]; ++e) {
      const auto& entry = run.rows().J.entries[e];
      if (entry.column != b) continue;
      for (int row = 0; row < run.rows().laws[i].dim; ++row) {
        for (int k = 0; k < 3; ++k) {
          force[k] += run.rows().J.values[entry.offset + 6 * row + k] *
                      run.impulses()[first + row] / o.step;
        }
      }
    }
    const int unknown = origin.index == 3 ? 6 : 2 * origin.index;
    EXPECT_NEAR(force[0], f[unknown], 1e-6) << joint.name;
    EXPECT_NEAR(force[1], f[unknown + 1], 1e-6) << joint.name;
  }
}

TEST(DviJoint, WithoutStabilisationTheJointDriftsAway) {
  const Model m = rod_chain(1);
  SimulationOptions o = fixed(1e-3, 10);
  o.stepper.stabilise = false;
  Simulation run(m, o);
  run_to_end(run);
  // Every step leaves the circle by ½ v² h² outwards and nothing brings it back.
  EXPECT_GT(run.report().joint_error, 1e-2);
}

TEST(DviJoint, MechanismAtRestHangsOnItsReactions) {
  Model m = empty_model();
  const int bob = add_rigid(m, "bob", {0, 0, -1}, 2, 0.1 * Mat3::Identity());
  join(m, "pivot", JointKind::revolute, 0, bob, Vec3::Zero(), Vec3::UnitY());
  finalize(m);
  Simulation run(m, fixed(1e-3, 0.1));
  run_to_end(run);
  EXPECT_EQ(run.checkpoint().missed, 0);
  EXPECT_LT(run.state().v.norm(), 1e-12);
  EXPECT_NEAR(run.impulses().head<3>().norm() / 1e-3, 2 * 9.81, 1e-9);
}

TEST(DviJoint, StiffDamperIsAccountedWithItsOwnImpulse) {
  // Everything a damper takes, however stiff: the mass comes to rest and its kinetic energy is the
  // damping.
  for (const double c : {1.0, 1e3, 1e6}) {
    Model m = empty_model(Vec3::Zero());
    const int mass = add_rigid(m, "mass", Vec3::Zero(), 2, Mat3::Identity());
    m.bodies[mass].velocity = {3, 0, 0};
    m.forces.push_back(Drag{.name = "drag", .body = mass, .linear = c});
    finalize(m);
    Simulation run(m, fixed(1e-2, 1));
    run_to_end(run);
    EXPECT_NEAR(run.energy().numerical(), 0, 1e-8);  // of 9 J; P(v̄) and P(v) cancel for stiff ones
  }
}

TEST(DviJoint, MotorDrivenIntoALimitStopsAndTheReactionIsItsTorque) {
  Model m = empty_model(Vec3::Zero());
  const int arm = add_rigid(m, "arm", {0.5, 0, 0}, 2, 0.2 * Mat3::Identity());
  const int hinge = join(m, "hinge", JointKind::revolute, 0, arm, Vec3::Zero());
  Motor motor;
  motor.on = {hinge, 0};
  motor.mode = MotorMode::force;
  motor.value = ConstantFunction{3};
  m.motors.push_back(motor);
  m.limits.push_back({.name = "stop", .on = {hinge, 0}, .upper = 1});
  finalize(m);
  Simulation run(m, fixed(1e-3, 3));
  run_to_end(run);
  EXPECT_NEAR(coordinate_value(m, run.state(), {hinge, 0}), 1, 1e-9);
  EXPECT_LT(run.state().v.norm(), 1e-9);
  double reaction = 0;
  for (int i = 0; i < run.rows().blocks(); ++i) {
    if (run.rows().origins[i].kind == Origin::limit)
      reaction = run.impulses()[run.rows().J.row_start[i]] / 1e-3;
  }
  EXPECT_NEAR(reaction, 3, 1e-6);
  EXPECT_NEAR(run.energy().supplied, 3, 1e-2);  // torque × angle, all lost in the impact
  EXPECT_NEAR(run.energy().impact, 3, 1e-2);
}

TEST(DviJoint, BoundedSpeedMotorSlipsAtItsTorque) {
  // A winch of at most 2 N·m against 5 N·m of friction does not turn; at 1 N·m it keeps its speed.
  for (const double bound : {5.0, 1.0}) {
    Model m = empty_model(Vec3::Zero());
    const int arm = add_rigid(m, "arm", {0.5, 0, 0}, 2, 0.2 * Mat3::Identity());
    const int hinge = join(m, "hinge", JointKind::revolute, 0, arm, Vec3::Zero());
    Motor motor;
    motor.on = {hinge, 0};
    motor.mode = MotorMode::speed;
    motor.value = ConstantFunction{1.5};
    motor.max_force = 2;
    m.motors.push_back(motor);
    m.frictions.push_back({.name = "brake", .on = {hinge, 0}, .bound = bound});
    finalize(m);
    Simulation run(m, fixed(1e-3, 2));
    run_to_end(run);
    EXPECT_NEAR(coordinate_rate(m, run.state(), {hinge, 0}), bound > 2 ? 0 : 1.5, 1e-6);
  }
}

TEST(DviJoint, GearsTurnByTheirRatioForManyTurns) {
  Model m = empty_model(Vec3::Zero());
  const int wheel = add_rigid(m, "wheel", {0, 0, 0}, 1, 0.1 * Mat3::Identity());
  const int pinion = add_rigid(m, "pinion", {1, 0, 0}, 1, 0.01 * Mat3::Identity());
  const int a = join(m, "a", JointKind::revolute, 0, wheel, Vec3::Zero());
  const int b = join(m, "b", JointKind::revolute, 0, pinion, Vec3::UnitX());
  m.couplings.push_back({.name = "gear", .coordinates = {{a, 0}, {b, 0}}, .factors = {3, 1}});
  Motor motor;
  motor.on = {a, 0};
  motor.value = PolynomialFunction{{0, 2 * pi}};
  m.motors.push_back(motor);
  finalize(m);
  Simulation run(m, fixed(1e-2, 10));
  run_to_end(run);
  EXPECT_NEAR(coordinate_value(m, run.state(), {a, 0}), 20 * pi, 1e-6);
  EXPECT_NEAR(coordinate_value(m, run.state(), {b, 0}), -60 * pi, 1e-6);
}

TEST(DviJoint, ScrewAdvancesByItsPitch) {
  Model m = empty_model(Vec3::Zero());
  const int nut = add_rigid(m, "nut", Vec3::Zero(), 1, 0.01 * Mat3::Identity());
  const int screw = join(m, "screw", JointKind::screw, 0, nut, Vec3::Zero());
  m.joints[screw].pitch = 0.002;
  m.bodies[nut].angular_velocity = {0, 0, 4 * pi};
  finalize(m);
  Simulation run(m, fixed(1e-3, 5));
  const StartReport& start = run.start();
  EXPECT_EQ(start.mobility(), 1);
  while (run.advance()) {
  }
  // Ten turns but for what the thread's inertia takes of the spin at the start.
  const double turns =
      coordinate_value(m, run.state(), {screw, find_coordinate(JointKind::screw, "angle")}) /
      (2 * pi);
  EXPECT_NEAR(turns, 10, 1e-3);
  EXPECT_NEAR(run.state().q[2], 0.002 * turns, 1e-9);
}

TEST(DviJoint, DampingEntersOnceInTheLinearlyImplicitStep) {
  // Recipe 000 §2.7.6: mass–damper c/m = 2, T = 1: exact e⁻² = 0.1353; variant C gives 0.1356 at h
  // = 1e-3, variant A 0.0183.
  Model m = empty_model(Vec3::Zero());
  const int mass = add_rigid(m, "mass", {1, 0, 0}, 1, Mat3::Identity());
  m.bodies[mass].velocity = {1, 0, 0};
  m.forces.push_back(Drag{.name = "drag", .body = mass, .linear = 2});
  finalize(m);
  Simulation run(m, fixed(1e-3, 1));
  run_to_end(run);
  EXPECT_NEAR(run.state().v[0], 0.1356, 5e-5);
  EXPECT_NEAR(run.energy().damping, 0.5 * (1 - std::exp(-4)), 2e-3);
}

// Recipe 001 §2.5, checklist 8: H = M − h ∂f/∂v − h² ∂f/∂q of the forces themselves, by
// differences.
TEST(DviJoint, StepMatrixIsTheMassLessTheForcesDerivatives) {
  PointSystem points;
  State state;
  make_point_chain(4, 1, 2, Vec3(1, -0.5, 0.2), points, state);
  points.rods.clear();
  for (int k = 0; k < 4; ++k) {
    points.springs.push_back({.a = {.point = k - 1},
                              .b = {.point = k},
                              .length = 0.9,
                              .stiffness = 100.0 * (k + 1),
                              .damping = 0.5 * (k + 1)});
  }
  points.springs.push_back(
      {.a = {.point = 0}, .b = {.point = 3}, .length = 2, .stiffness = 50, .damping = 2});
  state.v = Vector::LinSpaced(12, -1, 1);
  const double h = 0.05;
  SimulationOptions o;
  o.stepper.implicit_forces = ImplicitForces::exact;
  const auto stepper = make_stepper(points, o);
  State stepped = state;
  StepMemory memory;
  StepReport report;
  stepper->step(stepped, h, memory, report);
  ASSERT_NE(stepper->problem(), nullptr);
  const Matrix H = sparse_mass(*stepper->problem());
  SystemAccess system(points);
  BlockMatrix M;
  system.mass(state, M);
  Matrix wanted = to_sparse(M);
  const double d = 1e-6;
  for (int k = 0; k < 12; ++k) {
    for (const bool position : {true, false}) {
      State up = state, down = state;
      (position ? up.q : up.v)[k] += d;
      (position ? down.q : down.v)[k] -= d;
      Vector f_up, f_down;
      system.force(up, f_up);
      system.force(down, f_down);
      wanted.col(k) -= (position ? h * h : h) * (f_up - f_down) / (2 * d);
    }
  }
  // The symmetric part: solvers want symmetry, and any tangent is consistent.
  const Matrix symmetric = 0.5 * (wanted + wanted.transpose());
  EXPECT_LT((H - symmetric).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_GT((H - Matrix(to_sparse(M))).cwiseAbs().maxCoeff(), 0.5) << "not the mass alone";
}

TEST(DviJoint, StiffSpringDecaysAtLargeSteps) {
  // Recipe 000 §2.7.6: k/m = 10⁶, h = 0.1: variant C is L-stable.
  Model m = empty_model(Vec3::Zero());
  const int mass = add_rigid(m, "mass", {1.01, 0, 0}, 1, Mat3::Identity());
  const int a = add_marker(m, "anchor", 0, {});
  const int b = add_marker(m, "end", mass, {});
  MeasureSpring spring;
  spring.marker_a = a;
  spring.marker_b = b;
  spring.rest = 1;
  spring.stiffness.slope = 1e6;
  m.forces.push_back(spring);
  finalize(m);
  for (const ImplicitForces kind :
       {ImplicitForces::automatic, ImplicitForces::semidefinite, ImplicitForces::exact}) {
    SimulationOptions o = fixed(0.1, 2);
    o.stepper.implicit_forces = kind;
    Simulation run(m, o);
    run_to_end(run);
    EXPECT_NEAR(run.state().q[0], 1, 1e-9);
    EXPECT_LT(run.state().v.norm(), 1e-9);
  }
}

TEST(DviJoint, SpringBetweenTwoBodiesOscillatesAtItsFrequency) {
  // ω² = k (1/m₁ + 1/m₂); H has a block outside its diagonal.
  Model m = empty_model(Vec3::Zero());
  const int left = add_rigid(m, "left", {0, 0, 0}, 1, Mat3::Identity());
  const int right = add_rigid(m, "right", {1.1, 0, 0}, 3, Mat3::Identity());
  MeasureSpring spring;
  spring.marker_a = add_marker(m, "l", left, {});
  spring.marker_b = add_marker(m, "r", right, {});
  spring.rest = 1;
  spring.stiffness.slope = 30;
  m.forces.push_back(spring);
  finalize(m);
  Simulation run(m, fixed(1e-4, 1));
  run_to_end(run);
  const double omega = std::sqrt(30 * (1 + 1.0 / 3));
  EXPECT_NEAR(run.state().q[7] - run.state().q[0] - 1, 0.1 * std::cos(omega), 5e-4);
  EXPECT_NEAR(run.state().v[0] + 3 * run.state().v[6], 0, 1e-10);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

TEST(DviJoint, SoftJointYieldsByForceOverStiffness) {
  Model m = empty_model();
  const int mass = add_rigid(m, "mass", {0, 0, 1}, 2, Mat3::Identity());
  const int weld = join(m, "mount", JointKind::fixed, 0, mass, {0, 0, 1});
  m.joints[weld].softness = {.stiffness = 1e4, .damping = 300};
  finalize(m);
  Simulation run(m, fixed(1e-3, 3));
  run_to_end(run);
  EXPECT_NEAR(run.state().q[2], 1 - 2 * 9.81 / 1e4, 1e-9);
}

TEST(DviJoint, LimitWithRestitutionBouncesBack) {
  Model m = empty_model(Vec3::Zero());
  const int cart = add_rigid(m, "cart", Vec3::Zero(), 1, Mat3::Identity());
  m.bodies[cart].velocity = {0, 0, 2};
  const int slide = join(m, "slide", JointKind::prismatic, 0, cart, Vec3::Zero());
  m.limits.push_back({.name = "buffer", .on = {slide, 0}, .upper = 1, .restitution = 0.5});
  finalize(m);
  Simulation run(m, fixed(1e-3, 1));
  run_to_end(run);
  EXPECT_NEAR(run.state().v[2], -1, 1e-9);
  EXPECT_NEAR(run.energy().impact, 1.5, 1e-9);
}

TEST(DviJoint, TurntableCarriesWhatStandsOnIt) {
  // A kinematic body: a ball sticks to a plate that moves as told.
  Model m = empty_model();
  Body plate;
  plate.name = "plate";
  plate.kind = BodyKind::kinematic;
  plate.motion.position[0] =
      HarmonicFunction{.amplitude = 0.01, .frequency = 1, .phase = -pi / 2, .offset = 0.01};
  const int body = add_body(m, plate);
  m.shapes.push_back(
      {.kind = ShapeKind::half_space, .size = Vec3::Zero(), .pose = {}, .body = body});
  add_cube(m, "cube", {0, 0, 0.05}, 0.1, 1);
  finalize(m);
  Simulation run(m, fixed(1e-3, 0.5));
  run_to_end(run);
  EXPECT_NEAR(run.state().q[0], 0.02, 5e-5);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

// A loop of six bodies whose joints nearly depend on each other in some positions, with a limit in
// reach: what is eliminated with the bodies came back with a momentum that was off by 2e-6 in a
// step that was said to have converged.
TEST(DviJoint, MechanismWithALimitMeetsTheToleranceNearItsDeadPoints) {
  const Model m = random_mechanism(105);
  Simulation run(m, {.duration = 0.44, .step = 1e-3});
  run_to_end(run);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

}  // namespace
}  // namespace urto
