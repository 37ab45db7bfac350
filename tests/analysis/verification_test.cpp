// Estimated errors of runs beside their true ones, on motions with closed forms or with converged
// references: within a factor of 2 where the motion is smooth, of 5 over impacts.
#include <cmath>
#include <numbers>
#include <random>

#include "analysis/verified_runs.h"
#include "oracles/pendulum.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double g = 9.81;

SimulationOptions settings(double duration, double step, const char* stepper = "dvi") {
  SimulationOptions o;
  o.duration = duration;
  o.step = step;
  o.stepper.name = stepper;
  return o;
}

Model one_ball(const Vec3& position, const Vec3& velocity, const Material& material = {}) {
  Model m = empty_model();
  m.bodies[add_ball(m, "ball", position, 0.1, 2)].velocity = velocity;
  m.materials[0] = material;
  return m;
}

// ---- Smooth motions: a factor of 2

TEST(Verification, OfFreeFallIsHalfGTimesTheStepTimesTheTime) {
  Model m = one_ball({0, 0, 0}, {0.3, 0, 1});
  finalize(m);
  const VerifiedRun run = verified(m, settings(1, 0.01));
  EXPECT_EQ(run.found.state, VerificationState::converges);
  const QuantityError& error = error_of(run, "position");
  EXPECT_NEAR(error.worst, 0.5 * g * 0.01 * 1, 1e-9);
  EXPECT_NEAR(error.worst_time, 1, 1e-12);
  EXPECT_EQ(error.worst_name, "ball");
  EXPECT_NEAR(error.order, 1, 1e-6);
  expect_within(1.001, error, position_error(run.motion, 1, [](double t) {
                  return Vec3(0.3 * t, 0, t - 0.5 * g * t * t);
                }));
}

struct Named {
  const char* stepper;
  double order;
};

TEST(Verification, OfAPendulumGoesByTheStepperItIsRunWith) {
  // A point mass on a massless rod of 1 m, released at 1 rad: a physical pendulum of the length
  // L + I / (m L).
  const double I = 0.01, L = 1, m0 = 2;
  for (const Named& by : {Named{"dvi", 1}, Named{"generalised-alpha", 2}, Named{"hht", 2}}) {
    Model m = empty_model();
    const double start = 1;
    Body bob{.name = "bob", .mass = m0, .inertia = I * Mat3::Identity()};
    bob.start.position = {L * std::sin(start), 0, -L * std::cos(start)};
    add_body(m, bob);
    join(m, "hinge", JointKind::revolute, 0, 1, Vec3::Zero(), Vec3::UnitY());
    finalize(m);
    const VerifiedRun run = verified(m, settings(3, 0.01, by.stepper));
    const auto angle = [&](double t) {
      return oracle::pendulum_angle(t, start, g, L + I / (m0 * L));
    };
    const TrueError truth = position_error(run.motion, 1, [&](double t) {
      return Vec3(L * std::sin(angle(t)), 0, -L * std::cos(angle(t)));
    });
    expect_within(2, error_of(run, "position"), truth, by.stepper);
    EXPECT_NEAR(error_of(run, "position").order, by.order, 0.3) << by.stepper;
    expect_within(2, error_of(run, "coordinate"),
                  true_error(run.motion,
                             [&](std::size_t s) {
                               return std::abs(std::abs(run.motion.coordinate[s]) -
                                               std::abs(angle(run.motion.time[s]) - start));
                             }),
                  by.stepper);
  }
}

TEST(Verification, OfASpinningTopWithoutGravityFindsTheErrorOfItsRotation) {
  // Steady precession: R(t) = exp(t L / I₁) R₀ exp(t Ω₃ (1 − I₃/I₁) e₃), L the angular momentum.
  const double I1 = 0.02, I3 = 0.01;
  for (const char* stepper : {"generalised-alpha", "hht", "newmark"}) {
    Model m = empty_model(Vec3::Zero());
    const int top = add_rigid(m, "top", Vec3::Zero(), 1, Vec3(I1, I1, I3).asDiagonal());
    const Vec3 omega(2, 0.5, 20);
    m.bodies[top].angular_velocity = omega;
    finalize(m);
    const VerifiedRun run = verified(m, settings(1, 0.002, stepper));
    const Vec3 L(I1 * omega[0], I1 * omega[1], I3 * omega[2]);
    const TrueError truth = rotation_error(run.motion, top, [&](double t) {
      return quaternion_product(quaternion_exp(t / I1 * L),
                                quaternion_exp({0, 0, t * omega[2] * (1 - I3 / I1)}));
    });
    expect_within(2, error_of(run, "rotation"), truth, stepper);
  }
}

/// A mass of 2 kg on a spring along z, its rest position the origin: x = A cos ωt.
Model oscillator(double omega, double amplitude, double damping = 0) {
  Model m = empty_model(Vec3::Zero());
  const int mass = add_rigid(m, "mass", {0, 0, amplitude}, 2, 0.1 * Mat3::Identity());
  MeasureSpring spring{.marker_a = add_marker(m, "a", 0, {}),
                       .marker_b = add_marker(m, "b", mass, {})};
  spring.measure = {MeasureKind::along, 2, 0};
  spring.stiffness.slope = 2 * omega * omega;
  spring.damping.slope = damping;
  m.forces.emplace_back(spring);
  finalize(m);
  return m;
}

TEST(Verification, OfAnOscillatorFindsWhatItsPhaseAndItsDampingHaveLost) {
  for (const char* stepper : {"dvi", "generalised-alpha"}) {
    const double omega = 6, A = 0.2;
    const Model m = oscillator(omega, A);
    const VerifiedRun run = verified(m, settings(4, 0.005, stepper));
    expect_within(2, error_of(run, "position"),
                  position_error(run.motion, 1,
                                 [&](double t) { return Vec3(0, 0, A * std::cos(omega * t)); }),
                  stepper);
    const TrueError energy =
        energy_error(run.motion, [&](double) { return omega * omega * A * A; });
    const QuantityError& estimate = error_of(run, "energy");
    // Of kinetic and potential energy, which swing, more than of both together.
    EXPECT_GT(estimate.worst, 0.5 * energy.worst) << stepper;
  }
}

TEST(Verification, OfARollingBallFindsWhereItStartsToRoll) {
  // A ball thrown with v along a floor slides until t = 2v / (7 μg), then rolls with 5v/7.
  const double mu = 0.3, v = 2;
  Model m = one_ball({0, 0, 0.1}, {v, 0, 0}, {.friction = mu});
  add_floor(m);
  finalize(m);
  const VerifiedRun run = verified(m, settings(1, 0.005));
  const double rolls = 2 * v / (7 * mu * g);
  expect_within(2, error_of(run, "position"), position_error(run.motion, 1, [&](double t) {
                  const double slid = std::min(t, rolls);
                  return Vec3(v * slid - 0.5 * mu * g * slid * slid + 5. / 7 * v * (t - slid), 0,
                              0.1);
                }));
}

TEST(Verification, OfASlidingBlockThatStopsFindsTheErrorOfItsWay) {
  const double mu = 0.2, v = 1.5;
  Model m = empty_model();
  m.bodies[add_cube(m, "block", {0, 0, 0.1}, 0.2, 3)].velocity = {v, 0, 0};
  m.materials[0].friction = mu;
  add_floor(m);
  finalize(m);
  const VerifiedRun run = verified(m, settings(1.5, 0.004));
  const double stops = v / (mu * g);
  expect_within(2, error_of(run, "position"), position_error(run.motion, 1, [&](double t) {
                  const double slid = std::min(t, stops);
                  return Vec3(v * slid - 0.5 * mu * g * slid * slid, 0, 0.1);
                }));
}

/// A crank of 0.2 m and a rod of 0.6 m that fall from 1 rad above the guide of a slider.
Model slider_crank() {
  Model m = empty_model();
  const double r = 0.2, l = 0.6, up = 1;
  const Vec3 pin(r * std::cos(up), 0, r * std::sin(up));
  const double lean = std::asin(pin[2] / l);
  const Vec3 end(pin[0] + l * std::cos(lean), 0, 0);
  const auto rod = [&](const char* name, const Vec3& a, const Vec3& b, double mass) {
    const double I = mass * (b - a).squaredNorm() / 12;
    return add_rigid(m, name, 0.5 * (a + b), mass, I * Mat3::Identity());
  };
  const int crank = rod("crank", Vec3::Zero(), pin, 1);
  const int link = rod("rod", pin, end, 1.5);
  const int slider = add_rigid(m, "slider", end, 1, 0.01 * Mat3::Identity());
  join(m, "main", JointKind::revolute, 0, crank, Vec3::Zero(), Vec3::UnitY());
  join(m, "pin", JointKind::spherical, crank, link, pin);
  join(m, "wrist", JointKind::revolute, link, slider, end, Vec3::UnitY());
  join(m, "guide", JointKind::prismatic, 0, slider, end, Vec3::UnitX());
  finalize(m);
  return m;
}

TEST(Verification, OfASliderCrankAgreesWithARunOfSteps64TimesAsShort) {
  const Model m = slider_crank();
  for (const char* stepper : {"dvi", "generalised-alpha"}) {
    const SimulationOptions o = settings(1.5, 0.004, stepper);
    const VerifiedRun run = verified(m, o);
    expect_within(2, error_of(run, "position"), error_against_fine(m, o, run.motion, 64), stepper);
  }
}

TEST(Verification, OfADoublePendulumAgreesWithARunOfSteps64TimesAsShort) {
  const Model m = rod_chain(2);
  for (const char* stepper : {"dvi", "generalised-alpha"}) {
    const SimulationOptions o = settings(1.5, 0.002, stepper);
    const VerifiedRun run = verified(m, o);
    expect_within(2, error_of(run, "position"), error_against_fine(m, o, run.motion, 64), stepper);
  }
}

/// What meets contacts besides dvi, on motions with closed forms: the estimate goes by the order of
/// each.
TEST(Verification, OfSmoothMotionsGoesByEveryStepperThatMeetsContacts) {
  const double L = 1, I = 0.01, start = 1, omega = 6, A = 0.2;
  for (const StepperInfo& by : steppers()) {
    if (!by.contacts || by.name == "dvi") continue;
    const char* const stepper = by.name.c_str();
    Model m = empty_model();
    Body bob{.name = "bob", .mass = 1, .inertia = I * Mat3::Identity()};
    bob.start.position = {L * std::sin(start), 0, -L * std::cos(start)};
    add_body(m, bob);
    join(m, "hinge", JointKind::revolute, 0, 1, Vec3::Zero(), Vec3::UnitY());
    finalize(m);
    VerifiedRun run = verified(m, settings(3, 0.01, stepper));
    const auto angle = [&](double t) { return oracle::pendulum_angle(t, start, g, L + I); };
    expect_within(2, error_of(run, "position"),
                  position_error(run.motion, 1,
                                 [&](double t) {
                                   return Vec3(L * std::sin(angle(t)), 0, -L * std::cos(angle(t)));
                                 }),
                  by.name + ", pendulum");
    m = oscillator(omega, A);
    run = verified(m, settings(4, 0.005, stepper));
    expect_within(2, error_of(run, "position"),
                  position_error(run.motion, 1,
                                 [&](double t) { return Vec3(0, 0, A * std::cos(omega * t)); }),
                  by.name + ", oscillator");
    const double mu = 0.2, v = 1.5;
    m = empty_model();
    m.bodies[add_cube(m, "block", {0, 0, 0.1}, 0.2, 3)].velocity = {v, 0, 0};
    m.materials[0].friction = mu;
    add_floor(m);
    finalize(m);
    run = verified(m, settings(1.5, 0.004, stepper));
    const double stops = v / (mu * g);
    expect_within(2, error_of(run, "position"),
                  position_error(run.motion, 1,
                                 [&](double t) {
                                   const double slid = std::min(t, stops);
                                   return Vec3(v * slid - 0.5 * mu * g * slid * slid, 0, 0.1);
                                 }),
                  by.name + ", block");
  }
}

// ---- Impacts: a factor of 5

/// Height and velocity of a ball dropped from rest on a floor that gives back e of its speed.
double bounced_height(double t, double height, double e) {
  double up = std::sqrt(2 * g * height);
  double start = -up / g;  // as if thrown up before
  for (; up > 1e-9; up *= e) {
    const double s = t - start, flight = 2 * up / g;
    if (s < flight) return up * s - 0.5 * g * s * s;
    start += flight;
  }
  return 0;  // after infinitely many bounces
}

TEST(Verification, OfABouncingBallIsWithinAFactorOfFive) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> unit(0, 1);
  for (int trial = 0; trial < 12; ++trial) {
    const double e = 0.5 + 0.5 * unit(random), height = 0.3 + unit(random);
    Model m = one_ball({0, 0, 0.1 + height}, Vec3::Zero(), {.friction = 0, .restitution = e});
    add_floor(m);
    finalize(m);
    const VerifiedRun run = verified(m, settings(2, 0.002 * (1 + unit(random))));
    expect_within(
        5, error_of(run, "position"),
        position_error(run.motion, 1,
                       [&](double t) { return Vec3(0, 0, 0.1 + bounced_height(t, height, e)); }),
        ::testing::PrintToString(std::pair(e, height)));
  }
}

// ---- Motions that the estimate was not made with, at random numbers

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double operator()(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }

 private:
  std::mt19937 engine_;
};

// What lands without a rebound stays: dvi-newton has no restitution.
TEST(Verification, OfABouncingBallGoesByEveryStepperThatMeetsContacts) {
  for (const StepperInfo& by : steppers()) {
    if (!by.contacts || by.name == "dvi") continue;
    Random between(11);
    for (int trial = 0; trial < 12; ++trial) {
      const double e = by.restitution ? between(0, 1) : 0, height = between(0.3, 1.3);
      Model m = one_ball({0, 0, 0.1 + height}, Vec3::Zero(), {.friction = 0, .restitution = e});
      add_floor(m);
      finalize(m);
      const VerifiedRun run = verified(m, settings(2, 0.002 * between(1, 2), by.name.c_str()));
      expect_within(
          5, error_of(run, "position"),
          position_error(run.motion, 1,
                         [&](double t) { return Vec3(0, 0, 0.1 + bounced_height(t, height, e)); }),
          by.name + ::testing::PrintToString(std::pair(e, height)));
    }
  }
}

TEST(Verification, OfABlockOnASlopeIsThatOfItsAcceleration) {
  Random between(1);
  for (int trial = 0; trial < 4; ++trial) {
    const double slope = between(0.3, 0.8), mu = between(0.05, 0.25);
    Model m = empty_model({g * std::sin(slope), 0, -g * std::cos(slope)});
    add_cube(m, "block", {0, 0, 0.1}, 0.2, 3);
    m.materials[0].friction = mu;
    add_floor(m);
    finalize(m);
    const VerifiedRun run = verified(m, settings(1, between(0.002, 0.01)));
    const double a = g * (std::sin(slope) - mu * std::cos(slope));
    expect_within(2, error_of(run, "position"), position_error(run.motion, 1, [&](double t) {
                    return Vec3(0.5 * a * t * t, 0, 0.1);
                  }));
  }
}

TEST(Verification, OfABlockThatABeltTakesAlong) {
  // It slides with μg until it has the belt's speed, and sticks from then on.
  Random between(2);
  for (int trial = 0; trial < 4; ++trial) {
    const double mu = between(0.1, 0.5), u = between(0.5, 2);
    Model m = empty_model();
    Body belt{.name = "belt", .kind = BodyKind::kinematic};
    belt.motion.position[0] = PolynomialFunction{{0, u}};
    const int b = add_body(m, belt);
    m.shapes.push_back({.kind = ShapeKind::half_space, .body = b});
    const int block = add_cube(m, "block", {0, 0, 0.1}, 0.2, 3);
    m.materials[0].friction = mu;
    finalize(m);
    const VerifiedRun run = verified(m, settings(2, between(0.002, 0.01)));
    const double sticks = u / (mu * g);
    expect_within(2, error_of(run, "position"), position_error(run.motion, block, [&](double t) {
                    const double slid = std::min(t, sticks);
                    return Vec3(0.5 * mu * g * slid * slid + u * (t - slid), 0, 0.1);
                  }));
  }
}

TEST(Verification, OfADampedOscillatorGoesByTheStepperItIsRunWith) {
  Random between(3);
  for (int trial = 0; trial < 4; ++trial) {
    const double omega = between(2, 20), zeta = between(0.01, 0.5);
    const Model m = oscillator(omega, 0.3, 2 * zeta * omega * 2);
    for (const char* stepper : {"dvi", "generalised-alpha", "newmark"}) {
      const VerifiedRun run = verified(m, settings(3, between(0.001, 0.005), stepper));
      const double d = omega * std::sqrt(1 - zeta * zeta);
      expect_within(2, error_of(run, "position"),
                    position_error(run.motion, 1,
                                   [&](double t) {
                                     const double swing =
                                         std::cos(d * t) + zeta * omega / d * std::sin(d * t);
                                     return Vec3(0, 0, 0.3 * std::exp(-zeta * omega * t) * swing);
                                   }),
                    stepper);
    }
  }
}

TEST(Verification, OfAHeavyTopAgreesWithARunOfSteps32TimesAsShort) {
  Random between(4);
  for (int trial = 0; trial < 2; ++trial) {
    Model m = empty_model();
    const int top = add_rigid(m, "top", {0.3, 0, 0.2}, 1, Vec3(0.01, 0.01, 0.02).asDiagonal());
    m.bodies[top].start.rotation = quaternion_exp({0, 0.98, 0});
    m.bodies[top].angular_velocity = {0, 0, between(50, 150)};
    join(m, "tip", JointKind::spherical, 0, top, Vec3::Zero());
    finalize(m);
    for (const char* stepper : {"dvi", "generalised-alpha"}) {
      const SimulationOptions o = settings(0.5, between(0.0005, 0.001), stepper);
      const VerifiedRun run = verified(m, o);
      expect_within(2, error_of(run, "position"), error_against_fine(m, o, run.motion, 32),
                    stepper);
    }
  }
}

TEST(Verification, OfAdaptiveStepsGoesByTheirTolerance) {
  Random between(5);
  const double L = 1, I = 0.01;
  for (int trial = 0; trial < 3; ++trial) {
    for (const char* stepper : {"dvi", "generalised-alpha"}) {
      const double start = between(0.5, 2);
      Model m = empty_model();
      Body bob{.name = "bob", .mass = 1, .inertia = I * Mat3::Identity()};
      bob.start.position = {L * std::sin(start), 0, -L * std::cos(start)};
      add_body(m, bob);
      join(m, "hinge", JointKind::revolute, 0, 1, Vec3::Zero(), Vec3::UnitY());
      finalize(m);
      SimulationOptions o = settings(3, 0.01, stepper);
      o.adaptive = true;
      o.error_tolerance = std::pow(10, between(-5.5, -3));
      const VerifiedRun run = verified(m, o);
      const auto angle = [&](double t) { return oracle::pendulum_angle(t, start, g, L + I); };
      expect_within(
          2, error_of(run, "position"),
          position_error(
              run.motion, 1,
              [&](double t) { return Vec3(L * std::sin(angle(t)), 0, -L * std::cos(angle(t))); }),
          stepper);
      EXPECT_EQ(run.found.find("contact_impulse"), nullptr) << "of a last half only";
    }
  }
}

TEST(Verification, OfAThrownRodAgreesWithARunOfSteps32TimesAsShort) {
  Random between(6);
  for (int trial = 0; trial < 4; ++trial) {
    Model m = empty_model();
    const int rod =
        add_rigid(m, "rod", {0, 0, between(0.8, 1.5)}, 1, Vec3(0.083, 0.083, 0.001).asDiagonal());
    m.bodies[rod].start.rotation = quaternion_exp({0, between(0.3, 1.2), 0});
    m.bodies[rod].velocity = {between(-1, 1), 0, 0};
    m.shapes.push_back({.kind = ShapeKind::capsule, .size = {0.05, 0.5, 0}, .body = rod});
    m.materials[0].friction = between(0, 0.6);
    m.materials[0].restitution = between(0, 0.8);
    add_floor(m);
    finalize(m);
    const SimulationOptions o = settings(0.7, between(0.001, 0.003));
    const VerifiedRun run = verified(m, o);
    expect_within(5, error_of(run, "position"), error_against_fine(m, o, run.motion, 32));
  }
}

TEST(Verification, OfARowOfBallsAgreesWithARunOfSteps64TimesAsShort) {
  Random between(7);
  for (int trial = 0; trial < 4; ++trial) {
    Model m = empty_model(Vec3::Zero());
    for (int k = 0; k < 4; ++k) add_ball(m, "ball-" + std::to_string(k), {0.25 * k, 0, 0}, 0.1, 1);
    m.bodies[1].velocity = {between(1, 3), 0, 0};
    m.materials[0].restitution = between(0.6, 1);
    finalize(m);
    const SimulationOptions o = settings(0.5, between(0.001, 0.005));
    const VerifiedRun run = verified(m, o);
    expect_within(5, error_of(run, "position"), error_against_fine(m, o, run.motion, 64));
  }
}

// One impact at a random moment of its step: where its true error happens to be small, nobody can
// know; it is never missed.
void expect_found(const QuantityError& estimate, const TrueError& truth, double step_of_jump) {
  EXPECT_GT(estimate.worst, truth.worst / 5);
  EXPECT_LT(estimate.worst, std::max(5 * truth.worst, step_of_jump));
}

TEST(Verification, OfTwoBallsThatMeetOnce) {
  // Masses 1 and 2, the second at rest: the first goes on with u (1 − 2e) / 3.
  Random between(8);
  for (int trial = 0; trial < 40; ++trial) {
    const double e = between(0, 1), u = between(0.5, 3), gap = between(0.1, 0.4);
    const double h = between(0.001, 0.01);
    Model m = empty_model(Vec3::Zero());
    const int a = add_ball(m, "a", {0, 0, 0}, 0.1, 1);
    add_ball(m, "b", {0.2 + gap, 0, 0}, 0.1, 2);
    m.bodies[a].velocity = {u, 0, 0};
    m.materials[0].restitution = e;
    finalize(m);
    const VerifiedRun run = verified(m, settings(1, h));
    const double hit = gap / u, after = u * (1 - 2 * e) / 3;
    const TrueError truth = position_error(run.motion, a, [&](double t) {
      return Vec3(t < hit ? u * t : gap + after * (t - hit), 0, 0);
    });
    expect_found(error_of(run, "position"), truth, h * (u - after));
  }
}

TEST(Verification, OfAnArmBetweenTwoStops) {
  Random between(9);
  for (int trial = 0; trial < 40; ++trial) {
    const double e = between(0, 1), w = between(0.5, 3), stop = between(0.1, 0.4);
    const double h = between(0.001, 0.01);
    Model m = empty_model(Vec3::Zero());
    const int arm = add_rigid(m, "arm", {0.5, 0, 0}, 1, 0.1 * Mat3::Identity());
    const int hinge = join(m, "hinge", JointKind::revolute, 0, arm, Vec3::Zero(), Vec3::UnitZ());
    m.bodies[arm].velocity = {0, 0.5 * w, 0};
    m.bodies[arm].angular_velocity = {0, 0, w};
    m.limits.push_back(
        {.name = "stop", .on = {hinge, 0}, .lower = -0.2, .upper = stop, .restitution = e});
    finalize(m);
    const VerifiedRun run = verified(m, settings(1, h));
    const auto angle = [&](double t) {
      double at = 0, rate = w;
      for (int k = 0; k < 100 && rate != 0; ++k) {
        const double wall = rate > 0 ? stop : -0.2;
        const double time = (wall - at) / rate;
        if (time > t) break;
        t -= time;
        at = wall;
        rate *= -e;
      }
      return at + rate * t;
    };
    const TrueError truth = true_error(run.motion, [&](std::size_t s) {
      return std::abs(run.motion.coordinate[s] - angle(run.motion.time[s]));
    });
    expect_found(error_of(run, "coordinate"), truth, h * 2 * w);
  }
}

// ---- Nothing to find

TEST(Verification, OfAStackAtRestGivesNoFalseAlarm) {
  Model m = empty_model();
  for (int k = 0; k < 4; ++k)
    add_cube(m, "cube-" + std::to_string(k), {0, 0, 0.1 + 0.2 * k}, 0.2, 1);
  add_floor(m);
  finalize(m);
  const VerifiedRun run = verified(m, settings(0.5, 0.002));
  EXPECT_EQ(run.found.state, VerificationState::exact);
  EXPECT_LT(error_of(run, "position").worst, 1e-8);
  EXPECT_LT(error_of(run, "energy").worst, 1e-8);
}

// ---- Chaos

TEST(Verification, OfAPileOfBallsSaysThatTheRunsPart) {
  Model m = empty_model();
  std::mt19937 random(3);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int k = 0; k < 30; ++k)
    add_ball(m, "ball-" + std::to_string(k),
             {0.05 * unit(random), 0.05 * unit(random), 0.2 + 0.12 * k}, 0.05, 0.5);
  add_floor(m);
  finalize(m);
  const VerifiedRun run = verified(m, settings(2, 0.004));
  EXPECT_EQ(run.found.state, VerificationState::parts);
  EXPECT_GT(run.found.until, 0.1);
  EXPECT_LT(run.found.until, 1.5);
}

TEST(Verification, OfAPileComparesWhatTheRunsHaveInCommon) {
  const SampledMotion run{.step = 1e-3, .statistics = {{"mean kinetic energy", "J", 3}}};
  SampledMotion half = run, quarter = run;
  half.statistics[0].value = 3.5;
  quarter.statistics[0].value = 2.75;
  const Verification found = verify_motions({run, half, &quarter, 1});
  ASSERT_EQ(found.statistics.size(), 1u);
  EXPECT_EQ(found.statistics[0].value, (std::array<double, 3>{3, 3.5, 2.75}));
  EXPECT_EQ(found.statistics[0].spread(), 0.75);
}

TEST(Verification, OfAnUnstableStepSaysSo) {
  // An explicit step of a spring beyond ωh = 2 grows without bound at h, and swings at h/2, h/4.
  const Model m = oscillator(100, 0.1);
  SimulationOptions o = settings(0.5, 0.021);
  o.stepper.implicit_forces = ImplicitForces::none;
  const VerifiedRun run = verified(m, o);
  EXPECT_GT(error_of(run, "position").worst, 1) << "of a swing of 0.1 m";
}

}  // namespace
}  // namespace urto
