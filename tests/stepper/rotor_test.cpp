// Fast rotors on joints without gravity: nothing does work, so the kinetic energy of the start is
// the closed form of every moment. The credit of the stepper (dvi.cpp) is 1e-3 of it.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double credit = 1e-3;

struct Rotor {
  double mass = 1;
  Mat3 inertia = Vec3(.01, .01, .005).asDiagonal();
  Vec3 arm = {0, 0, .1};  ///< from the joint to the centre
  Vec3 spin = {1, 0, 300};
};

/// Largest kinetic energy of a run relative to that of its start.
double highest(const Rotor& r, double h, int steps, double* end = nullptr) {
  Model m = empty_model(Vec3::Zero());
  const int body = add_rigid(m, "rotor", r.arm, r.mass, r.inertia);
  m.bodies[body].angular_velocity = r.spin;
  m.bodies[body].velocity = r.spin.cross(r.arm);
  join(m, "ball", JointKind::spherical, 0, body, Vec3::Zero());
  finalize(m);
  SimulationOptions o;
  o.step = h;
  o.duration = steps * h;
  Simulation run(m, o);
  run.start();
  const double start = run.energy().start;
  double most = start;
  while (run.advance()) most = std::max(most, run.energy().total());
  if (end != nullptr) *end = run.energy().total() / start;
  return most / start;
}

TEST(Rotor, OnABallJointKeepsItsEnergy) {
  for (const double h : {1e-3, 2e-4}) {
    double end = 0;
    EXPECT_LT(highest({}, h, static_cast<int>(std::lround(5 / h)), &end), 1 + credit);
    EXPECT_NEAR(end, 1, 1e-4);  // not by dissipation either
  }
}

/// Ellipsoids of all proportions (so that inertias are possible ones), on their axes or anywhere.
Rotor random_rotor(std::mt19937& engine, bool on_axis) {
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  const auto between = [&](double a, double b) { return a * std::pow(b / a, uniform(engine)); };
  const auto vector = [&] {
    const double x = normal(engine), y = normal(engine), z = normal(engine);
    return Vec3(x, y, z);
  };
  const Vec3 axes(between(.02, .3), between(.02, .3), between(.02, .3));
  const Vec3 s = axes.cwiseAbs2();
  Rotor r;
  r.mass = between(.4, 2.5);
  r.inertia =
      (r.mass / 5 * Vec3(s[1] + s[2], s[0] + s[2], s[0] + s[1])).asDiagonal().toDenseMatrix();
  const double spin = between(10, 1000);
  if (on_axis) {
    const Vec3 axis = Vec3::Unit(static_cast<int>(3 * uniform(engine)));
    r.arm = between(.02, .3) * axis;
    r.spin = spin * (axis + .01 * vector());
  } else {
    r.arm = .1 * vector();
    r.spin = spin * vector().normalized();
  }
  return r;
}

double highest_of(int rotors, int steps) {
  std::mt19937 engine(1);
  double worst = 0;
  for (int k = 0; k < rotors; ++k) {
    const Rotor r = random_rotor(engine, k % 2 == 0);
    const double found = highest(r, 1e-3, steps);
    EXPECT_LT(found, 1 + 1.001 * credit) << k << " spin " << r.spin.transpose();
    worst = std::max(worst, found);
  }
  return worst;
}

TEST(Rotor, OfAnyShapeAndSpinGainsNoMoreThanTheCredit) {
  EXPECT_GT(highest_of(150, 10000), 1 + .9 * credit);  // some use it: the limit is at work
}

TEST(Rotor, OfAnyShapeAndSpinIsBoundedOverAMillionSteps) {
  highest_of(20, 1000000);
}

}  // namespace
}  // namespace urto
