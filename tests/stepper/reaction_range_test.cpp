// A ladder between floor and wall: the forces with which it can stand are a range.
#include "urto/analysis/reaction_range.h"

#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/model/rigid_system.h"

namespace urto {
namespace {

constexpr double foot = 1.2, top = 3.0, weight = 10 * 9.81;

/// Ten kilograms on two balls of one millimetre: one on the floor at x = foot, one against the wall x = 0 at the height top.
Model ladder(double friction, double center) {
  Model m = testing::empty_model();
  m.materials[0].friction = friction;
  constexpr double r = 1e-3;
  const Vec3 low(foot, 0, r), high(r, 0, top);
  const Vec3 middle = low + center * (high - low);
  const int body = testing::add_rigid(m, "ladder", middle, 10, Mat3::Identity());
  for (const Vec3& end : {low, high}) {
    Shape ball{.kind = ShapeKind::sphere, .size = {r, 0, 0}, .pose = {}, .body = body};
    ball.pose.position = end - middle;
    m.shapes.push_back(ball);
  }
  testing::add_floor(m);
  Pose wall;
  wall.rotation = quaternion_exp(Vec3(0, M_PI / 2, 0));  // z along x
  testing::add_floor(m, wall);
  finalize(m);
  return m;
}

struct Wall {
  double low = 0, high = 0;
};

/// Friction F of the wall, upwards: moments about the foot give its normal force N = (A − foot F)/top, A = (foot − x_c) weight.
Wall closed_form(double mu, double center) {
  const double xc = foot + center * (1e-3 - foot);
  const double A = (foot - xc) * weight;
  Wall w{-mu * A / (top - mu * foot), mu * A / (top + mu * foot)};
  const double slope = mu - foot / top;
  const double bound = (mu * weight - A / top) / slope;
  if (slope > 0) {
    w.high = std::min(w.high, bound);
  } else {
    w.low = std::max(w.low, bound);
  }
  return w;
}

TEST(ReactionRange, ALadderStandsWithARangeOfForces) {
  for (const double mu : {0.3, 0.5, 0.8}) {
    for (const double center : {0.3, 0.5, 0.7}) {
      const Model m = ladder(mu, center);
      RigidSystem system(m);
      const ReactionRange range = reaction_range(system, initial_state(m));
      EXPECT_TRUE(range.balanced);
      EXPECT_EQ(range.freedom, 1);
      const Wall exact = closed_form(mu, center);
      EXPECT_EQ(range.possible, exact.low <= exact.high) << mu << ' ' << center;
      if (!range.possible) continue;
      // The wall's rows are those whose normal force is not the weight less the friction.
      ASSERT_EQ(range.rows.blocks(), 2);
      const double xc = foot + center * (1e-3 - foot);
      const auto normal = [&](double F) { return ((foot - xc) * weight - foot * F) / top; };
      int wall = 0;
      if (std::abs(range.high[0] - normal(exact.low)) > std::abs(range.high[3] - normal(exact.low)))
        wall = 3;
      EXPECT_NEAR(range.high[wall], normal(exact.low), 1e-4 * weight) << mu << ' ' << center;
      EXPECT_NEAR(range.low[wall], normal(exact.high), 1e-4 * weight) << mu << ' ' << center;
      EXPECT_NEAR(range.high[3 - wall], weight - exact.low, 1e-4 * weight);
      EXPECT_NEAR(range.low[3 - wall], weight - exact.high, 1e-4 * weight);
    }
  }
}

TEST(ReactionRange, ASlipperyLadderCannotStand) {
  const Model m = ladder(0.1, 0.5);
  RigidSystem system(m);
  const ReactionRange range = reaction_range(system, initial_state(m));
  EXPECT_TRUE(range.balanced);
  EXPECT_FALSE(range.possible);
}

TEST(ReactionRange, JointsAloneHaveOneAnswer) {
  Model m = testing::rod_chain(1);
  m.bodies[1].start.position = {0, -0.5, 0};
  m.bodies[1].start.rotation = quaternion_exp(Vec3(0, 0, -M_PI / 2));
  finalize(m);
  RigidSystem system(m);
  const ReactionRange range = reaction_range(system, initial_state(m));
  EXPECT_TRUE(range.possible);
  EXPECT_EQ(range.freedom, 0);
  EXPECT_EQ(range.low, range.high);
  EXPECT_NEAR(range.low.head<3>().norm(), 9.81, 1e-9);
}

}  // namespace
}  // namespace urto
