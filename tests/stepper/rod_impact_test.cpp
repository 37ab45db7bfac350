// A uniform rod at 45° whose lower end hits a floor obliquely, without gravity. Two equations of
// impact at the end, Δu = W p with W = [w_tt w_tn; w_tn w_nn], solve everything in closed form.
#include <cmath>
#include <utility>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double half_length = .5;

struct RodImpact {
  double friction = 0, restitution = 0;
  double u_t = 0, u_n = 0;  ///< of the end, before
  double h = 1e-4;
  double gap = 0;
};

/// Slip and normal velocity of the end after the impact; `limited`: how many rebounds were.
std::pair<double, double> after(const RodImpact& impact, int& limited) {
  constexpr double radius = 1e-6;
  const double c = half_length / std::sqrt(2.0);
  Model m = empty_model(Vec3::Zero());
  const int rod = add_rigid(m, "rod", {0, 0, c + radius + impact.gap}, 1,
                            half_length * half_length / 3 * Mat3::Identity());
  m.bodies[rod].velocity = {impact.u_t, 0, impact.u_n};
  const Vec3 end(c, 0, -c);
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
  // Turns by 1e-3 rad at most: the end is where it was.
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
    // Uniform rod: 1/m + c²/I on the diagonal, c·c/I beside it, with c² = ½ half_length².
    const double w = 1 + 1.5, x = 1.5;
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

}  // namespace
}  // namespace urto
