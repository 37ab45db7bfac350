// A uniform rod, at 45° or any angle, whose lower end hits a floor obliquely, without gravity. Two
// equations of impact at the end, Δu = W p with W = [w_tt w_tn; w_tn w_nn], solve everything in
// closed form.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

struct RodImpact {
  double friction = 0, restitution = 0;
  double u_t = 0, u_n = 0;  ///< of the end, before
  double h = 1e-4;
  double gap = 0;
  double half_length = .5;
  double angle = std::numbers::pi / 4;  ///< of the rod with the floor
};

/// Δu = W p at the end, for a mass of 1: W = 1 + r̃ᵀI⁻¹r̃ with I = half_length²/3 about all axes.
struct EndInertia {
  double tt = 0, tn = 0, nn = 0;
  explicit EndInertia(double angle) {
    const double c = std::cos(angle), s = std::sin(angle);
    tt = 1 + 3 * s * s;
    tn = 3 * s * c;
    nn = 1 + 3 * c * c;
  }
};

/// Slip and normal velocity of the end after the impact; `limited`: how many rebounds were.
std::pair<double, double> after(const RodImpact& impact, int& limited) {
  constexpr double radius = 1e-6;
  const double length = impact.half_length;
  const Vec3 end(length * std::cos(impact.angle), 0, -length * std::sin(impact.angle));
  Model m = empty_model(Vec3::Zero());
  const int rod = add_rigid(m, "rod", {0, 0, -end[2] + radius + impact.gap}, 1,
                            length * length / 3 * Mat3::Identity());
  m.bodies[rod].velocity = {impact.u_t, 0, impact.u_n};
  m.shapes.push_back({.kind = ShapeKind::sphere,
                      .size = {radius, 0, 0},
                      .pose = {end, Pose{}.rotation},
                      .body = rod});
  add_floor(m);
  m.materials[0].friction = impact.friction;
  m.materials[0].restitution = impact.restitution;
  finalize(m);
  SimulationOptions o;
  o.step = impact.h;
  o.duration = 20 * impact.h;
  o.contact_envelope = 1e-3;
  o.solver.tolerance = 1e-12;
  Simulation run(m, o);
  run.start();
  limited = 0;
  while (run.advance()) limited += run.report().limited_rebounds;
  const Vec3 v = run.state().v.head<3>();
  const Vec3 omega = run.state().v.tail<3>();
  // Without forces both velocities are those after the impact. The rod does not turn before it, so
  // that is where its end was.
  const Vec3 u = v + omega.cross(end);
  return {u[0], u[2]};
}

TEST(RodImpact, ReboundsWithTheEnergyThatItHas) {
  // Newton's e = 1 and slip that turns round would gain. With the friction at its cone after the
  // turn, p = P(μ s, 1), the energy-neutral impulse has p·(u + ½Wp) = 0.
  for (const double mu : {.002, .01, .03, .1}) {
    int limited = 0;
    const RodImpact impact{.friction = mu, .restitution = 1, .u_t = -.4648, .u_n = -.4664};
    const auto [u_t, u_n] = after(impact, limited);
    const EndInertia W(impact.angle);
    const double w = W.nn, x = W.tn;
    double expected = 0;
    for (const double side : {-1.0, 1.0}) {
      const double t = side * mu;
      const double P = -2 * (impact.u_n + t * impact.u_t) / (w + 2 * x * t + w * t * t);
      const double slip = impact.u_t + P * (x + w * t);
      // Friction opposes the slip after the impact, which is what the step's law sees.
      if (slip * t < 0) expected = (impact.u_n + P * (w + x * t)) / -impact.u_n;
    }
    EXPECT_EQ(limited, 1);
    EXPECT_NEAR(u_n / -impact.u_n, expected, 1e-4) << mu << " slip " << u_t;
  }
}

/// Slip after an inelastic impact by Newton's law and Coulomb's for the whole of its impulse, whose
/// friction opposes the slip that is left: p_n and p_t with u_n = 0 and |p_t| ≤ μ p_n.
double slip_of_the_law(const RodImpact& impact) {
  const EndInertia W(impact.angle);
  const double determinant = W.tt * W.nn - W.tn * W.tn;
  const double stick_n = (W.tn * impact.u_t - W.tt * impact.u_n) / determinant;
  const double stick_t = (W.tn * impact.u_n - W.nn * impact.u_t) / determinant;
  if (std::abs(stick_t) <= impact.friction * stick_n) return 0;
  for (const double side : {-1.0, 1.0}) {
    const double t = -side * impact.friction;  // p_t = t p_n against a slip of this side
    const double p = -impact.u_n / (W.nn + W.tn * t);
    const double slip = impact.u_t + p * (W.tn + W.tt * t);
    if (p > 0 && slip * side > 0) return slip;
  }
  return std::nan("");
}

TEST(RodImpact, InelasticWithFrictionIsTheSameAtEveryPhaseOfTheStep) {
  // Routh's incremental law gives .371 here, two impacts in a row up to .370.
  RodImpact impact{.friction = .1, .u_t = -.2, .u_n = -1};
  ASSERT_NEAR(slip_of_the_law(impact), .332, .001);
  for (const double h : {1e-4, 1e-5}) {
    impact.h = h;
    for (int k = 0; k < 40; ++k) {
      impact.gap = (k + .5) / 10 * h;  // closes within the first four steps, at every phase
      int limited = 0;
      const auto [u_t, u_n] = after(impact, limited);
      EXPECT_NEAR(u_t, slip_of_the_law(impact), 20 * h) << h << " phase " << k;
      EXPECT_NEAR(u_n, 0, 20 * h) << h << " phase " << k;
    }
  }
}

TEST(RodImpact, AnyRodWithAnyFrictionKeepsToOneLawOfImpact) {
  std::mt19937 engine(7);
  std::uniform_real_distribution<double> uniform;
  const auto between = [&](double a, double b) { return a + (b - a) * uniform(engine); };
  double worst[2] = {0, 0};
  int sticks = 0, reverses = 0;
  for (int k = 0; k < 200; ++k) {
    RodImpact impact;
    impact.friction = between(0, .6);
    impact.half_length = between(.1, 2);
    impact.angle = between(.1, 1.4);
    impact.u_t = between(-.6, .6);
    impact.u_n = between(-2, -.2);
    const double law = slip_of_the_law(impact);
    ASSERT_TRUE(std::isfinite(law));
    sticks += law == 0 ? 1 : 0;
    reverses += law * impact.u_t < 0 ? 1 : 0;
    const double phase = uniform(engine);
    for (int fine = 0; fine < 2; ++fine) {
      impact.h = fine == 0 ? 1e-4 : 1e-5;
      impact.gap = (2 + phase) * impact.h * -impact.u_n;
      int limited = 0;
      const auto [u_t, u_n] = after(impact, limited);
      worst[fine] = std::max({worst[fine], std::abs(u_t - law), std::abs(u_n)});
    }
  }
  EXPECT_GT(sticks, 20);
  EXPECT_GT(reverses, 20);
  EXPECT_LT(worst[0], 20 * 1e-4);
  EXPECT_LT(worst[1], 20 * 1e-5);
}

/// Velocity of a block thrown flat onto the floor from a gap, after it hit.
Vector thrown(const Vec3& half, const Vec3& speed, double friction, double gap, double h,
              double* lowest) {
  Model m = empty_model();
  const Vec3 s = half.cwiseAbs2();
  const int block = add_rigid(m, "block", {0, 0, half[2] + gap}, 1,
                              (Vec3(s[1] + s[2], s[0] + s[2], s[0] + s[1]) / 3).asDiagonal());
  m.shapes.push_back({.kind = ShapeKind::box, .size = half, .pose = {}, .body = block});
  m.bodies[block].velocity = speed;
  add_floor(m);
  m.materials[0].friction = friction;
  finalize(m);
  SimulationOptions o;
  o.step = h;
  o.duration = 20 * h;
  o.solver.tolerance = 1e-12;
  Simulation run(m, o);
  run.start();
  while (run.advance()) {
    *lowest = std::min(*lowest, -run.report().penetration);
    EXPECT_TRUE(run.report().meets_tolerance);
  }
  return run.state().v;
}

TEST(BlockImpact, OnFourCornersIsTheSameAtEveryPhaseOfTheStep) {
  std::mt19937 engine(11);
  std::uniform_real_distribution<double> uniform;
  const auto between = [&](double a, double b) { return a + (b - a) * uniform(engine); };
  for (int k = 0; k < 20; ++k) {
    const Vec3 half(between(.05, .2), between(.05, .2), between(.05, .4));
    const Vec3 speed(between(-1, 1), between(-1, 1), between(-2, -.5));
    const double friction = between(.05, .8);
    double spread[2] = {0, 0};
    for (int fine = 0; fine < 2; ++fine) {
      const double h = fine == 0 ? 1e-4 : 1e-5;
      double lowest = 0;
      Vector first;
      for (int phase = 0; phase < 8; ++phase) {
        const double gap = (2 + (phase + uniform(engine)) / 8) * h * -speed[2];
        const Vector v = thrown(half, speed, friction, gap, h, &lowest);
        if (phase == 0) first = v;
        spread[fine] = std::max(spread[fine], (v - first).cwiseAbs().maxCoeff());
      }
      EXPECT_GT(lowest, -1e3 * h * h);  // curvature of corners that turn at some 10 rad/s
    }
    EXPECT_LT(spread[0], 200 * 1e-4) << k;
    EXPECT_LT(spread[1], 200 * 1e-5) << k;
  }
}

}  // namespace
}  // namespace urto
