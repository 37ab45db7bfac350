// Springs in the default stepper: which of them a step damps (docs/steppers/dvi.md, "Springs").
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

SimulationOptions resolving(double h, double duration) {
  SimulationOptions o;
  o.step = h;
  o.duration = duration;
  return o;
}

MeasureSpring spring_between(Model& m, int a, int b, double stiffness, double rest) {
  MeasureSpring spring;
  spring.marker_a = add_marker(m, "a", a, {});
  spring.marker_b = add_marker(m, "b", b, {});
  spring.rest = rest;
  spring.stiffness.slope = stiffness;
  return spring;
}

/// A mass on a spring along x.
struct Oscillator {
  Model model = empty_model(Vec3::Zero());
  Oscillator(double mass, double omega, double stretch, double speed) {
    const int body = add_rigid(model, "mass", {1 + stretch, 0, 0}, mass, Mat3::Identity());
    model.bodies[body].velocity = {speed, 0, 0};
    model.forces.push_back(spring_between(model, 0, body, mass * omega * omega, 1));
    finalize(model);
  }
  /// (stretch, speed) after one step, or several.
  Eigen::Vector2d step(double h, ImplicitForces kind = ImplicitForces::automatic,
                       int count = 1) const {
    SimulationOptions o = resolving(h, count * h);
    o.stepper.implicit_forces = kind;
    Simulation run(model, o);
    run_to_end(run);
    return {run.state().q[0] - 1, run.state().v[0]};
  }
};

TEST(Spring, AStepLosesWhatTheChapterSays) {
  // Determinant and trace of the map (x, v) → (x⁺, v⁺), in closed form.
  for (const double h_omega : {1e-3, 1e-2, .1, .3, 1., 3., 10., 100., 1000.}) {
    const double h = 1e-3, x = 1e-2;
    const double omega = h_omega / h, z = h_omega * h_omega;
    const Eigen::Vector2d a = Oscillator(2, omega, x, 0).step(h) / x;
    const Eigen::Vector2d b = Oscillator(2, omega, 0, x / h).step(h) / x;  // of hv
    const double share = z * z / (1 + z * z);
    const double left = 1 + (.25 + .75 * share) * z, right = 1 + .25 * (1 - share) * z;
    EXPECT_NEAR(a[0] * h * b[1] - h * a[1] * b[0], right / left, 1e-11) << h_omega;
    EXPECT_NEAR(a[0] + h * b[1], 1 + (right - z) / left, 1e-11) << h_omega;
  }
}

/// Mean energy of the last of `periods` periods, relative to that of the first.
double kept(const Model& m, double h, double omega, int periods, ImplicitForces kind) {
  const int steps = static_cast<int>(std::lround(2 * M_PI / (omega * h)));
  SimulationOptions o = resolving(h, periods * steps * h);
  o.stepper.implicit_forces = kind;
  Simulation run(m, o);
  run.start();
  double first = 0, last = 0;
  for (int k = 0; run.advance(); ++k) {
    if (k < steps) first += run.energy().total();
    if (k >= (periods - 1) * steps) last += run.energy().total();
  }
  return last / first;
}

TEST(Spring, ThatAStepResolvesKeepsItsEnergy) {
  // hω = 0.014: implicit Euler leaves e^(−hω²t) of it.
  const double h = 1e-3, omega = 14;
  const Oscillator spring(1, omega, .14, 0);
  const double period = std::lround(2 * M_PI / (omega * h)) * h;
  EXPECT_NEAR(kept(spring.model, h, omega, 20, ImplicitForces::automatic), 1, 1e-5);
  EXPECT_NEAR(kept(spring.model, h, omega, 20, ImplicitForces::semidefinite),
              std::exp(-h * omega * omega * 19 * period), 1e-3);
}

// Recipe 000 §4, 1: with ∇_q f and ∇_v f left out the steppers behave like explicit ones. The map
// is symplectic Euler's, v⁺ = v − hω² x, x⁺ = x + h v⁺, stable up to hω = 2.
TEST(Spring, WithoutTangentsAStepIsExplicit) {
  constexpr double h = 1e-3, x = 1e-2;
  for (const double h_omega : {.01, .3, 1.9, 2.1, 5.}) {
    const double omega = h_omega / h, z = h_omega * h_omega;
    const auto none = ImplicitForces::none;
    const Eigen::Vector2d a = Oscillator(2, omega, x, 0).step(h, none) / x;
    const Eigen::Vector2d b = Oscillator(2, omega, 0, x / h).step(h, none) / x;  // of hv
    EXPECT_NEAR(a[0], 1 - z, 1e-9 * (1 + z)) << h_omega;
    EXPECT_NEAR(h * a[1], -z, 1e-9 * (1 + z)) << h_omega;
    EXPECT_NEAR(b[0], 1, 1e-9) << h_omega;
    EXPECT_NEAR(h * b[1], 1, 1e-9) << h_omega;
  }
  // Below and above the limit, thirty steps, in which the spring stays far from its own length.
  const auto after = [&](double h_omega, ImplicitForces kind) {
    const Eigen::Vector2d end = Oscillator(2, h_omega / h, 1e-9, 0).step(h, kind, 30) / 1e-9;
    return std::hypot(end[0], h * end[1]);
  };
  EXPECT_LT(after(1.9, ImplicitForces::none), 10);
  const double half = .5 * 2.1 * 2.1 - 1;
  const double radius = half + std::sqrt(half * half - 1);
  EXPECT_GT(after(2.1, ImplicitForces::none), .5 * std::pow(radius, 30));
  EXPECT_LT(after(2.1, ImplicitForces::automatic), 1);
}

// The same of dampers: v⁺ = (1 − hd)v, stable up to hd = 2, instead of v/(1 + hd).
TEST(Spring, WithoutTangentsADamperIsExplicit) {
  constexpr double h = 1e-3;
  for (const double h_d : {.1, 1.5, 2.5}) {
    for (const auto kind : {ImplicitForces::none, ImplicitForces::automatic}) {
      Model m = empty_model(Vec3::Zero());
      const int body = add_rigid(m, "mass", {1, 0, 0}, 3, Mat3::Identity());
      m.bodies[body].velocity = {1e-3, 0, 0};
      MeasureSpring damper = spring_between(m, 0, body, 0, 1);
      damper.damping.slope = 3 * h_d / h;
      m.forces.push_back(damper);
      finalize(m);
      SimulationOptions o = resolving(h, 10 * h);
      o.stepper.implicit_forces = kind;
      Simulation run(m, o);
      run_to_end(run);
      const double factor = kind == ImplicitForces::none ? 1 - h_d : 1 / (1 + h_d);
      EXPECT_NEAR(run.state().v[0] / 1e-3, std::pow(factor, 10), 1e-9) << h_d;
    }
  }
}

TEST(Spring, OnAHingeIsJudgedByTheInertiaAboutTheHinge) {
  // A bob of next to no inertia of its own, 1 m from a hinge with a torsion spring: about its
  // centre alone ω would be 14 000.
  const double h = 1e-3, omega = 14;
  Model m = empty_model(Vec3::Zero());
  const int bob = add_rigid(m, "bob", {1, 0, 0}, 1, 1e-6 * Mat3::Identity());
  const int hinge = join(m, "hinge", JointKind::revolute, 0, bob, Vec3::Zero());
  MeasureSpring spring;
  spring.marker_a = m.joints[hinge].marker_a;
  spring.marker_b = m.joints[hinge].marker_b;
  spring.measure = coordinates(JointKind::revolute)[0].measure;
  spring.stiffness.slope = omega * omega;
  spring.rest = .1;
  m.forces.push_back(spring);
  finalize(m);
  EXPECT_NEAR(kept(m, h, omega, 20, ImplicitForces::automatic), 1, 1e-4);
  EXPECT_LT(kept(m, h, omega, 20, ImplicitForces::semidefinite), .5);
}

TEST(Spring, SystemsOfAnyStiffnessesAreStableAtAnyStep) {
  // Masses on a line, springs between any two of them with hω from 1e-3 to 1e3: from rest, neither
  // the kinetic energy nor the potential one at mid-step can exceed what there was.
  std::mt19937 engine(5);
  std::uniform_real_distribution<double> uniform;
  const auto between = [&](double a, double b) { return a * std::pow(b / a, uniform(engine)); };
  const double h = 1e-2;
  for (int k = 0; k < 40; ++k) {
    Model m = empty_model(Vec3::Zero());
    std::vector<int> bodies{0};
    for (int i = 1; i <= 5; ++i)
      bodies.push_back(
          add_rigid(m, "m" + std::to_string(i), {1. * i, 0, 0}, between(.1, 10), Mat3::Identity()));
    for (int i = 0; i <= 5; ++i) {
      for (int j = i + 1; j <= 5; ++j) {
        if (j > i + 1 && uniform(engine) < .5) continue;
        const double h_omega = between(1e-3, 1e3);
        m.forces.push_back(spring_between(m, bodies[i], bodies[j], std::pow(h_omega / h, 2),
                                          (j - i) * (1 + .02 * (uniform(engine) - .5))));
      }
    }
    finalize(m);
    Simulation run(m, resolving(h, 2000 * h));
    run.start();
    const double start = run.energy().start;
    double kinetic = 0, total = 0;
    while (run.advance()) {
      kinetic = std::max(kinetic, run.energy().kinetic);
      total = std::max(total, run.energy().total());
    }
    EXPECT_LT(kinetic, start * (1 + 1e-9)) << k;
    EXPECT_LT(total, 5 * start) << k;
  }
}

TEST(Spring, SharesAreOneAltogether) {
  for (const double omega : {0., 1e-3, 1., 30., 1e5, 1e100}) {
    const double squared = omega * omega;
    const StiffnessPart stiff{.kind = StiffnessPart::Kind::stiff, .h = .1};
    const StiffnessPart resolved{.kind = StiffnessPart::Kind::resolved, .h = .1};
    EXPECT_DOUBLE_EQ(stiff.weight(squared) + resolved.weight(squared), 1);
    EXPECT_EQ(StiffnessPart{}.weight(squared), 1);
  }
}

}  // namespace
}  // namespace urto
