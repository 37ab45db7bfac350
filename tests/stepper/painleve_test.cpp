// Painlevé's rod: a uniform rod slides on a rough floor with its lower end ahead. With θ its angle
// with the floor and t = tan θ, friction drives the end into the floor faster than the floor pushes
// it out where t² − 3μt + 4 < 0, which needs μ > 4/3: no contact force at all satisfies the laws of
// motion, Coulomb's and Signorini's. A step with impulses has a solution: the end is stopped at
// once, by a blow without a collision (recipe 000 §§6–7; D. Stewart, SIAM Review 42 (2000) 3–39;
// F. Génot and B. Brogliato, Eur. J. Mech. A 18 (1999) 653–677).
#include <cmath>
#include <numbers>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double g = 9.81;
constexpr double half_length = 0.5;
constexpr double radius = 1e-7;  ///< of the ball at the end, to collide with
constexpr double degree = std::numbers::pi / 180;

/// Of 1 kg in the x–z plane; its lower end, ahead of the centre, touches the floor.
struct Rod {
  Model model = empty_model({0, 0, -g});
  Vec3 end;  ///< from the centre, at the start
  Rod(double angle, double mu, double slip) {
    end = {half_length * std::cos(angle), 0, -half_length * std::sin(angle)};
    const int rod = add_rigid(model, "rod", {0, 0, -end.z() + radius}, 1,
                              half_length * half_length / 3 * Mat3::Identity());
    model.bodies[rod].velocity = {slip, 0, 0};
    model.shapes.push_back({.kind = ShapeKind::sphere,
                            .size = {radius, 0, 0},
                            .pose = {end, Pose{}.rotation},
                            .body = rod});
    add_floor(model);
    model.materials[0].friction = mu;
    finalize(model);
  }
  Vec3 end_velocity(const State& s, const Vec3& arm) const {
    const Mat3 A = rotation_matrix(rotation(model, s, 1));
    return linear_velocity(model, s, 1) + (A * angular_velocity(model, s, 1)).cross(arm);
  }
};

SimulationOptions steps_of(double h, double duration) {
  SimulationOptions o;
  o.step = h;
  o.duration = duration;
  o.contact_envelope = 1e-3;
  o.solver.tolerance = 1e-12;
  return o;
}

/// Of the first step: the normal impulse [N·s], and the velocity of the end after it.
std::pair<double, Vec3> first_step(double angle, double mu, double slip, double h) {
  const Rod rod(angle, mu, slip);
  Simulation run(rod.model, steps_of(h, h));
  run_to_end(run);
  EXPECT_TRUE(run.report().meets_tolerance);
  const double impulse = run.impulses().size() > 0 ? run.impulses()[0] : 0;
  return {impulse, rod.end_velocity(run.state(), rod.end)};
}

// Δu = W p at the end with w_tt = 1 + 3 sin²θ, w_tn = 3 sin θ cos θ, w_nn = 1 + 3 cos²θ. The blow
// that stops it has W p = (−u, 0): p_n = w_tn u/det W, however small the step.
TEST(Painleve, InTheParadoxTheEndIsStoppedByABlow) {
  constexpr double mu = 2, slip = 1.5;
  for (const double angle : {40.0, 60.0, 75.0}) {
    const double s = std::sin(angle * degree), c = std::cos(angle * degree);
    ASSERT_LT(1 + 3 * c * c, mu * 3 * s * c) << "in the paradox";
    const double determinant = (1 + 3 * s * s) * (1 + 3 * c * c) - 9 * s * s * c * c;
    const double blow = 3 * s * c * slip / determinant;
    std::array<double, 3> off{};
    for (int k = 0; k < 3; ++k) {
      const double h = 1e-3 * std::pow(10, -k);
      const auto [impulse, u] = first_step(angle * degree, mu, slip, h);
      off[k] = std::abs(impulse - blow) + u.norm();
    }
    EXPECT_LT(off[0], 0.05) << angle;
    EXPECT_NEAR(off[0] / off[1], 10, 1.5) << angle << ": first order";
    EXPECT_NEAR(off[1] / off[2], 10, 1.5) << angle;
  }
}

// Outside it there is a force: N = m g/(w_nn − μ w_tn) while the end slides, from rest of the
// rotation.
TEST(Painleve, OutsideTheEndSlidesOnWithAForce) {
  constexpr double mu = 2, slip = 1.5;
  for (const double angle : {20.0, 35.0, 82.0}) {
    const double s = std::sin(angle * degree), c = std::cos(angle * degree);
    const double resistance = 1 + 3 * c * c - mu * 3 * s * c;
    ASSERT_GT(resistance, 0);
    for (const double h : {1e-4, 1e-5}) {
      const auto [impulse, u] = first_step(angle * degree, mu, slip, h);
      EXPECT_NEAR(impulse / h, g / resistance, 2e-5 * g / resistance) << angle;
      EXPECT_NEAR(u.x(), slip, 1000 * h);
    }
  }
}

/// The angle at which the impulse of a tiny step stops being one of a force, between two.
double critical_angle(double in, double out, double mu) {
  constexpr double h = 1e-7, slip = 1.5;
  for (int k = 0; k < 30; ++k) {
    const double middle = 0.5 * (in + out);
    (first_step(middle, mu, slip, h).first > 0.01 ? in : out) = middle;
  }
  return 0.5 * (in + out);
}

// Benchmarks README: for μ = 2 the paradox is at θ in (37.38°, 79.19°).
TEST(Painleve, TheBordersOfTheParadoxAreThoseOfItsQuadratic) {
  for (const double mu : {1.4, 2.0, 3.0}) {
    const double root = std::sqrt(9 * mu * mu - 16);
    const double low = std::atan(0.5 * (3 * mu - root)), high = std::atan(0.5 * (3 * mu + root));
    if (mu == 2) {
      EXPECT_NEAR(low / degree, 37.38, 0.005);
      EXPECT_NEAR(high / degree, 79.19, 0.005);
    }
    const double middle = 0.5 * (low + high);
    EXPECT_NEAR(critical_angle(middle, 5 * degree, mu), low, 1e-3) << mu;
    EXPECT_NEAR(critical_angle(middle, 89 * degree, mu), high, 1e-3) << mu;
  }
  // Friction of 4/3 and less has none.
  for (double angle = 5; angle < 89; angle += 4)
    EXPECT_LT(first_step(angle * degree, 1.3, 1.5, 1e-7).first, 1e-3) << angle;
}

// Time stepping passes through: rods that start anywhere, and turn into the paradox while they
// slide, go on; nothing penetrates by more than what a step turns, no energy is made.
TEST(Painleve, RodsSlideThroughTheParadox) {
  std::mt19937 random(5);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int blows = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const double mu = uniform(1.4, 4);
    const Rod rod(uniform(15, 85) * degree, mu, uniform(0.5, 6));
    constexpr double h = 5e-4;
    SimulationOptions o = steps_of(h, 0.4);
    o.solver.tolerance = 1e-10;
    Simulation run(rod.model, o);
    run.start();
    const double start = run.energy().start;
    double energy = start;
    while (run.advance()) {
      EXPECT_TRUE(run.report().meets_tolerance) << trial;
      EXPECT_LE(run.energy().total(), energy + 1e-6 * start) << trial;
      energy = run.energy().total();
      if (run.impulses().size() > 0 && run.impulses()[0] > 50 * h * g) ++blows;
    }
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_LT(run.checkpoint().worst_penetration, 2e-4) << trial;
  }
  EXPECT_GT(blows, 10);
}

}  // namespace
}  // namespace urto
