// Every account of the energy audit against a closed form.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/stepper/projection.h"

namespace urto {
namespace {

using namespace urto::testing;

SimulationOptions options(double step, double duration, const std::string& stepper = "dvi") {
  SimulationOptions o;
  o.step = step;
  o.duration = duration;
  o.stepper.name = stepper;
  o.solver.tolerance = 1e-10;
  return o;
}

EnergyAudit audit_of(const Model& m, const SimulationOptions& o) {
  Simulation run(m, o);
  run_to_end(run);
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  return run.energy();
}

// ---- Drives

constexpr double inertia = 2;

/// A wheel of the inertia 2 kg m² on a hinge, at rest, with one motor.
Model driven_wheel(Motor motor) {
  Model m = empty_model(Vec3::Zero());
  const int wheel = add_rigid(m, "wheel", Vec3::Zero(), 1, inertia * Mat3::Identity());
  motor.on = {join(m, "hinge", JointKind::revolute, 0, wheel, Vec3::Zero()), 0};
  m.motors.push_back(motor);
  finalize(m);
  return m;
}

// The shaft gives its moment times its own speed, I ω · ω; half of it arrives (inelastic clutch).
TEST(EnergyAudit, MotorThatStartsWithAJumpLosesHalfOfWhatItGives) {
  const double omega = 10;
  const Model m = driven_wheel({.mode = MotorMode::speed, .value = ConstantFunction{omega}});
  for (const char* stepper :
       {"dvi", "implicit-euler", "linear-implicit-euler", "trapezoidal", "newmark"}) {
    const EnergyAudit e = audit_of(m, options(1e-2, 0.1, stepper));
    EXPECT_NEAR(e.kinetic, 0.5 * inertia * omega * omega, 1e-9) << stepper;
    EXPECT_NEAR(e.supplied, inertia * omega * omega, 1e-9) << stepper;
    EXPECT_NEAR(e.drive, 0.5 * inertia * omega * omega, 1e-9) << stepper;
    EXPECT_NEAR(e.numerical(), 0, 1e-9) << stepper;
    EXPECT_NEAR(e.unexplained(), 0, 1e-10) << stepper;
  }
}

TEST(EnergyAudit, PositionMotorWhoseSpeedJumpsLosesTheSameInItsCorner) {
  const double omega = 10;
  const Model m = driven_wheel(
      {.mode = MotorMode::position, .value = make_table({0, 0.0505, 1}, {0, 0, 0.9495 * omega})});
  const EnergyAudit e = audit_of(m, options(1e-3, 0.2));
  EXPECT_NEAR(e.supplied, inertia * omega * omega, 1e-6);
  EXPECT_NEAR(e.drive, 0.5 * inertia * omega * omega, 1e-6);
  EXPECT_NEAR(e.unexplained(), 0, 1e-10);
}

TEST(EnergyAudit, MotorThatGainsItsSpeedSmoothlyLosesNothing) {
  const double T = 0.5;
  Model m = driven_wheel({.mode = MotorMode::speed, .value = PolynomialFunction{{0, 20}}});
  EnergyAudit e = audit_of(m, options(1e-3, T));
  EXPECT_NEAR(e.supplied, 0.5 * inertia * 100, 1e-8);
  EXPECT_NEAR(e.drive, 0, 1e-8);
  EXPECT_NEAR(e.numerical(), 0, 1e-8);
  // x(t) = 5 t²: the speed 10 T.
  m = driven_wheel({.mode = MotorMode::position, .value = PolynomialFunction{{0, 0, 5}}});
  e = audit_of(m, options(1e-3, T));
  EXPECT_NEAR(e.supplied, 0.5 * inertia * 25, 0.05);  // of first order in h
  EXPECT_NEAR(e.drive, 0, 1e-8);
  // ω = 10 (1 − cos 2πt)/2 along a curve: of second order.
  std::array<double, 2> lost{};
  for (int k = 0; k < 2; ++k) {
    m = driven_wheel({.mode = MotorMode::speed,
                      .value = HarmonicFunction{
                          .amplitude = 5, .frequency = 1, .phase = -M_PI / 2, .offset = 5}});
    e = audit_of(m, options(2e-3 / (k + 1), T));
    EXPECT_NEAR(e.supplied, 0.5 * inertia * 100, 1e-2);
    lost[k] = std::abs(e.drive);
  }
  EXPECT_LT(lost[0], 1e-2);
  EXPECT_GT(order(lost[0], lost[1]), 1.7);
}

// A carriage that jumps to V at 0.0505 s, within a step, takes what is joined to it along as an
// inelastic clutch does: it gives m V · V, of which half arrives. m is what the joint makes of the
// body: a rod hung by its end on a ball is (1/m + r²/I)⁻¹ heavy across it.
TEST(EnergyAudit, KinematicBodyThatJumpsInVelocityLosesHalfOfWhatItGivesInItsJoints) {
  const double V = 3, mass = 2, I = 0.5, r = 0.7;
  const Function corner = make_table({0, 0.0505, 1}, {0, 0, 0.9495 * V});
  const std::vector<std::pair<JointKind, double>> cases{
      {JointKind::fixed, mass},
      {JointKind::revolute, mass},  // about the way, which lets nothing give way
      {JointKind::spherical, 1 / (1 / mass + r * r / I)}};
  for (const auto& [kind, heavy] : cases) {
    Model m = empty_model(Vec3::Zero());
    Body carriage{.name = "carriage", .kind = BodyKind::kinematic};
    carriage.motion.position[0] = corner;
    const int base = add_body(m, carriage);
    const int rod = add_rigid(m, "rod", {0, 0, -r}, mass, Vec3(I, I, 0.3).asDiagonal());
    const bool hinge = kind == JointKind::revolute;
    join(m, "j", kind, base, rod, Vec3::Zero(), hinge ? Vec3(1, 0, 0) : Vec3(1, 2, 3));
    finalize(m);
    const EnergyAudit e = audit_of(m, options(1e-3, 0.055));
    const double given = heavy * V * V;
    EXPECT_NEAR(e.supplied, given, 1e-3 * given) << to_string(kind);
    EXPECT_NEAR(e.drive, 0.5 * given, 1e-3 * given) << to_string(kind);
    EXPECT_NEAR(e.numerical(), 0, 1e-3 * given) << to_string(kind);
    EXPECT_NEAR(e.unexplained(), 0, 1e-9) << to_string(kind);
  }
}

// The same about an axis: a turntable that is put to ω at once with a body welded to it at R, of
// which m R² + I is turned. And one that gains the same speed along a smooth step loses nothing.
TEST(EnergyAudit, TurntableThatJumpsLosesHalfAndOneThatDoesNotLosesNothing) {
  const double omega = 8, R = 0.4, mass = 2, I = 0.3;
  const double turned = mass * R * R + I;
  const auto audit = [&](const Function& angle, double step, double duration) {
    Model m = empty_model(Vec3::Zero());
    Body table{.name = "table", .kind = BodyKind::kinematic};
    table.motion.axis = Vec3(1, 2, 2) / 3;
    table.motion.angle = angle;
    const int base = add_body(m, table);
    const Vec3 across = Vec3(2, -1, 0).normalized();
    const int body = add_rigid(m, "body", R * across, mass, I * Mat3::Identity());
    join(m, "weld", JointKind::fixed, base, body, R * across, {3, 1, 2});
    finalize(m);
    return audit_of(m, options(step, duration));
  };
  const EnergyAudit jump = audit(make_table({0, 0.01003, 1}, {0, 0, 0.98997 * omega}), 1e-4, 0.012);
  const double given = turned * omega * omega;
  EXPECT_NEAR(jump.supplied, given, 2e-3 * given);
  EXPECT_NEAR(jump.drive, 0.5 * given, 2e-3 * given);
  EXPECT_NEAR(jump.unexplained(), 0, 1e-9);
  std::array<double, 2> lost{};
  for (int half = 0; half < 2; ++half) {
    const EnergyAudit e =
        audit(SmoothStepFunction{.t0 = 0, .t1 = 0.4, .y0 = 0, .y1 = 1}, 1e-3 / (half + 1), 0.2);
    EXPECT_GT(e.kinetic, 2);  // half way: at its fastest, 15/8 of 1 rad in 0.4 s
    lost[half] = std::abs(e.drive);
  }
  EXPECT_LT(lost[0], 1e-4);
  EXPECT_GT(order(lost[0], lost[1]), 1.5);
}

// F (ω − F t/I) while it slips: the moment times the slip, which is no friction.
TEST(EnergyAudit, SaturatedMotorLosesItsMomentTimesItsSlip) {
  const double F = 3, omega = 10, T = 2;
  const Model m =
      driven_wheel({.mode = MotorMode::speed, .value = ConstantFunction{omega}, .max_force = F});
  EnergyAudit e = audit_of(m, options(1e-3, T));
  EXPECT_NEAR(e.supplied, F * omega * T, 1e-7);
  EXPECT_NEAR(e.drive, F * omega * T - F * F * T * T / (2 * inertia), 1e-7);
  EXPECT_NEAR(e.friction, 0, 1e-12);
  EXPECT_NEAR(e.numerical(), 0, 1e-8);
  e = audit_of(m, options(1e-3, 8));  // at its speed after 6.67 s
  EXPECT_NEAR(e.drive, 0.5 * inertia * omega * omega, 1e-6);
}

// ---- Springs and dampers in rows

constexpr double k_row = 100, c_row = 2, stretch = 0.1;

/// ½ m ẋ² + ½ k x² of m = 1 let go at `stretch` (damped oscillator, ω₀ = 10, ζ = 0.1).
double oscillator_energy(double t) {
  const double w0 = 10, zeta = 0.1, w = w0 * std::sqrt(1 - zeta * zeta);
  const double decay = std::exp(-zeta * w0 * t);
  const double x = stretch * decay * (std::cos(w * t) + zeta * w0 / w * std::sin(w * t));
  const double v = -stretch * decay * w0 * w0 / w * std::sin(w * t);
  return 0.5 * v * v + 0.5 * k_row * x * x;
}

enum class Row { joint, motor, coupling };

/// A mass of 1 kg beside where a soft row wants it.
Model soft_row(Row kind) {
  Model m = empty_model(Vec3::Zero());
  const int mass = add_rigid(m, "mass", {0, 0, stretch}, 1, Mat3::Identity());
  const Softness soft{.stiffness = k_row, .damping = c_row};
  Joint joint{.name = "j", .kind = JointKind::prismatic};
  joint.marker_a = add_marker(m, "a", 0, {});
  joint.marker_b = add_marker(m, "b", mass, {});
  if (kind == Row::joint) {
    joint.kind = JointKind::fixed;
    joint.softness = soft;
  }
  const int j = add_joint(m, joint);
  if (kind == Row::motor)
    m.motors.push_back({.on = {j, 0}, .mode = MotorMode::position, .value = {}, .softness = soft});
  if (kind == Row::coupling)
    m.couplings.push_back({.coordinates = {{j, 0}}, .factors = {1}, .softness = soft});
  finalize(m);
  return m;
}

TEST(EnergyAudit, SoftRowsStoreAndDampTheirEnergy) {
  const double T = 0.3, start = 0.5 * k_row * stretch * stretch;
  const double damped = start - oscillator_energy(T);
  for (const Row kind : {Row::joint, Row::motor, Row::coupling}) {
    const Model m = soft_row(kind);
    for (const auto& [stepper, p] :
         {std::pair{"dvi", 1}, std::pair{"linear-implicit-euler", 1}, std::pair{"trapezoidal", 2},
          std::pair{"hht", 2}, std::pair{"generalised-alpha", 2}}) {
      std::array<double, 2> error{}, numerical{};
      for (int half = 0; half < 2; ++half) {
        const EnergyAudit e = audit_of(m, options(1e-3 / (half + 1), T, stepper));
        EXPECT_NEAR(e.start, start, 1e-12) << stepper;
        EXPECT_NEAR(e.unexplained(), 0, 1e-12) << stepper;
        error[half] = std::abs(e.damping - damped);
        EXPECT_LT(error[half], p == 1 ? 0.02 * damped : 1e-4 * damped) << stepper;
        numerical[half] = std::abs(e.numerical());
        EXPECT_LT(numerical[half], p == 1 ? 0.03 * start : 1e-4 * start) << stepper;
      }
      EXPECT_NEAR(order(error[0], error[1]), p, 0.35) << stepper << " " << static_cast<int>(kind);
      // The trapezoidal rule keeps the energy of what is linear but for its damper.
      if (numerical[0] > 1e-12) {
        EXPECT_NEAR(order(numerical[0], numerical[1]), p, 0.35) << stepper;
      }
    }
  }
}

// A damper so stiff that it stops the mass in one step takes its kinetic energy, no more.
TEST(EnergyAudit, StiffDamperOfASoftJointTakesTheKineticEnergy) {
  Model m = soft_row(Row::joint);
  m.joints[0].softness = {.stiffness = 1e-3, .damping = 1e6};
  m.bodies[1].velocity = {0, 0, 3};
  for (const char* stepper : {"dvi", "implicit-euler", "linear-implicit-euler"}) {
    const EnergyAudit e = audit_of(m, options(1e-2, 0.1, stepper));
    EXPECT_NEAR(e.damping, 0.5 * 9, 1e-3) << stepper;
    EXPECT_NEAR(e.numerical(), 0, 1e-3) << stepper;
  }
}

// A ball that leaves a damped floor before the surfaces have sprung back: they relax by
// themselves, and what they had stored is lost in the damper too.
TEST(EnergyAudit, SoftContactLosesInItsDamperAllThatTheBallDoesNotGetBack) {
  const double R = 0.1, mass = 2, v = 1, k = 2e4, c = 0.6 * std::sqrt(k * mass);
  Model m = empty_model(Vec3::Zero());
  m.materials[0] = {.friction = 0, .stiffness = 2 * k, .damping = 2 * c};
  add_floor(m);
  m.bodies[add_ball(m, "ball", {0, 0, R}, R, mass)].velocity = {0, 0, -v};
  finalize(m);
  std::array<double, 2> left{};
  for (int half = 0; half < 2; ++half) {
    const EnergyAudit e = audit_of(m, options(1e-5 / (half + 1), 0.08));
    EXPECT_GT(e.kinetic, 0.1);  // it is on its way back
    EXPECT_EQ(e.potential, 0);
    EXPECT_NEAR(e.damping, 0.5 * mass * v * v - e.kinetic, 2e-3);
    EXPECT_NEAR(e.unexplained(), 0, 1e-11);
    left[half] = std::abs(e.numerical());
  }
  EXPECT_LT(left[0], 2e-3);
  EXPECT_LT(left[1], 0.7 * left[0]);
}

// ---- Impacts

TEST(EnergyAudit, InelasticBallLosesTheEnergyOfItsFall) {
  const double R = 0.1, mass = 2, height = 0.3;
  for (const double e : {0.0, 0.5}) {
    Model m = empty_model();
    m.materials[0].restitution = e;
    add_floor(m);
    add_ball(m, "ball", {0, 0, R + height}, R, mass);
    finalize(m);
    // One bounce: the fall takes 0.247 s, the next flight as long with e = ½.
    const EnergyAudit a = audit_of(m, options(1e-5, 0.35));
    EXPECT_NEAR(a.impact, (1 - e * e) * mass * 9.81 * height, 1e-3);
    EXPECT_LT(a.recovery, 1e-6);
    EXPECT_NEAR(a.numerical(), 0, 1e-3);
  }
}

TEST(EnergyAudit, LimitThatStopsAWheelTakesItsEnergyAsAnImpact) {
  Model m = empty_model(Vec3::Zero());
  const int wheel = add_rigid(m, "wheel", Vec3::Zero(), 1, inertia * Mat3::Identity());
  m.bodies[wheel].angular_velocity = {0, 0, 4};
  const int hinge = join(m, "hinge", JointKind::revolute, 0, wheel, Vec3::Zero());
  m.limits.push_back({.name = "stop", .on = {hinge, 0}, .upper = 0.5});
  finalize(m);
  const EnergyAudit e = audit_of(m, options(1e-3, 0.3));
  EXPECT_NEAR(e.impact, 0.5 * inertia * 16, 1e-9);
  EXPECT_NEAR(e.numerical(), 0, 1e-9);
}

// A velocity along its arm, which a hinge does not allow and nothing assembled away.
TEST(EnergyAudit, JointThatBeginsWithAVelocityItDoesNotAllowIsAnImpact) {
  Model m = empty_model(Vec3::Zero());
  const int bob = add_rigid(m, "bob", {1, 0, 0}, 2, 0.1 * Mat3::Identity());
  m.bodies[bob].velocity = {3, 0, 0};
  join(m, "pivot", JointKind::revolute, 0, bob, Vec3::Zero());
  finalize(m);
  SimulationOptions o = options(1e-3, 0.1);
  o.assemble = false;
  const EnergyAudit e = audit_of(m, o);
  EXPECT_NEAR(e.impact, 0.5 * 2 * 9, 1e-9);
  EXPECT_NEAR(e.numerical(), 0, 1e-9);
}

// An ellipsoid that rolls: where its curvature grows the gap closes by itself, step by step, and is
// pushed open again. Nothing is lost or given by either.
TEST(EnergyAudit, RollingOfCurvedBodiesIsNoImpactAndNoRecovery) {
  const Vec3 axes(0.15, 0.1, 0.1);
  Model m = empty_model();
  m.materials[0].friction = 5;
  add_floor(m);
  const double mass = 3;
  const Vec3 s = axes.cwiseAbs2();
  const int body = add_rigid(
      m, "egg", {0, 0, axes[2]}, mass,
      (mass / 5 * Vec3(s[1] + s[2], s[0] + s[2], s[0] + s[1])).asDiagonal().toDenseMatrix());
  m.shapes.push_back({.kind = ShapeKind::ellipsoid, .size = axes, .pose = {}, .body = body});
  m.bodies[body].angular_velocity = {0, 5, 0};
  m.bodies[body].velocity = {5 * axes[2], 0, 0};
  finalize(m);
  Simulation run(m, options(5e-4, 2));
  run.start();
  double pushed = 0;
  while (run.advance()) {
    for (int i = 0; i < run.rows().blocks(); ++i) {
      const int row = run.rows().J.row_start[i];
      pushed += run.impulses()[row] * std::max(0.0, -run.rows().g[row]) / run.report().h;
    }
  }
  EXPECT_GT(pushed, 1e-2);  // what each of the two accounts would show
  EXPECT_LT(run.energy().recovery, 0.02 * pushed);
  EXPECT_LT(run.energy().impact, 0.02 * pushed);
  EXPECT_NEAR(run.energy().unexplained(), 0, 1e-10);
}

// ---- Contacts as springs

TEST(EnergyAudit, FrictionOfPenaltyContactsIsFriction) {
  const double mass = 2, v = 1;
  for (const double tangential : {0.0, 2e5}) {
    Model m = empty_model();
    m.materials[0].friction = 0.4;
    add_floor(m);
    const double sink = mass * 9.81 / 4 / 1e5;
    m.bodies[add_cube(m, "box", {0, 0, 0.1 - sink}, 0.2, mass)].velocity = {v, 0, 0};
    finalize(m);
    SimulationOptions o = options(1e-4, 0.4, "leapfrog");  // it stands after 0.25 s
    o.stepper.penalty_contact = true;
    o.stepper.penalty = {.stiffness = 1e5, .exponent = 1, .damping = 0.1};
    o.stepper.penalty.tangential_stiffness = tangential;
    o.stepper.penalty.tangential_damping = tangential > 0 ? 200 : 0;
    const EnergyAudit e = audit_of(m, o);
    EXPECT_NEAR(e.friction, 0.5 * mass * v * v, 0.02) << tangential;
    EXPECT_LT(std::abs(e.damping), 0.02) << tangential;
    EXPECT_NEAR(e.unexplained(), 0, 1e-10) << tangential;
  }
}

// ---- One moment

TEST(EnergyAudit, JointErrorIsThatOfTheStateWhereTheStepEnded) {
  const Model m = rod_chain(3);
  for (const char* stepper : {"dvi", "leapfrog", "hht"}) {
    Simulation run(m, options(1e-3, 0.5, stepper));
    run.start();
    const RigidSystem system(m);
    SystemAccess access(system);
    Interactions rows;
    while (run.advance()) {
      access.interactions(run.state(), {.equalities_only = true}, rows);
      EXPECT_NEAR(run.report().joint_error, joint_error(rows), 1e-15) << stepper;
    }
  }
}

TEST(EnergyAudit, ExtrapolatedStepsAreAccountedToRounding) {
  Model m = rod_chain(2);
  m.joints[0].softness = {.stiffness = 1e4, .damping = 10};
  SimulationOptions o = options(1e-3, 1);
  o.adaptive = true;
  o.error_tolerance = 1e-6;
  const EnergyAudit e = audit_of(m, o);
  EXPECT_GT(e.damping, 0);
  EXPECT_NEAR(e.unexplained(), 0, 1e-11);
}

}  // namespace
}  // namespace urto
