// A ladder between floor and wall: the forces with which it can stand are a range.
#include "urto/analysis/reaction_range.h"

#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/mechanics/rigid_system.h"

namespace urto {
namespace {

constexpr double foot = 1.2, top = 3.0, weight = 10 * 9.81;

/// Ten kilograms on two balls of one millimetre: one on the floor at x = foot, one against the wall
/// x = 0 at the height top.
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

/// Friction F of the wall, upwards: moments about the foot give its normal force N = (A − foot
/// F)/top, A = (foot − x_c) weight.
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

/// Ten kilograms on four legs with balls of one millimetre under them, half a metre from the middle
/// each way.
Model table(double friction, const Vec3& gravity) {
  Model m = testing::empty_model(gravity);
  m.materials[0].friction = friction;
  constexpr double r = 1e-3;
  const int body = testing::add_rigid(m, "table", {0, 0, 0.8}, 10, Mat3::Identity());
  for (const double x : {-0.5, 0.5}) {
    for (const double y : {-0.5, 0.5}) {
      Shape ball{.kind = ShapeKind::sphere, .size = {r, 0, 0}, .pose = {}, .body = body};
      ball.pose.position = {x, y, r - 0.8};
      m.shapes.push_back(ball);
    }
  }
  testing::add_floor(m);
  finalize(m);
  return m;
}

// Moments leave two pairs of opposite legs, and either pair may carry all: from 0 to W/2 each.
// Friction adds five freedoms and changes nothing, because it acts in the plane of the feet.
TEST(ReactionRange, ATableOnFourLegsCarriesUpToHalfItsWeightOnEach) {
  for (const double mu : {0.0, 0.5}) {
    const Model m = table(mu, {0, 0, -9.81});
    RigidSystem system(m);
    const ReactionRange range = reaction_range(system, initial_state(m));
    ASSERT_TRUE(range.exact && range.possible) << mu;
    EXPECT_EQ(range.freedom, mu > 0 ? 6 : 1);
    ASSERT_EQ(range.rows.blocks(), 4);
    for (int i = 0; i < 4; ++i) {
      const int row = range.rows.J.row_start[i];
      EXPECT_NEAR(range.low[row], 0, 1e-6 * weight) << mu;
      EXPECT_NEAR(range.high[row], weight / 2, 1e-6 * weight) << mu;
    }
  }
}

// On a slope of tan α = 0.4 with the weight at height H above the feet.
TEST(ReactionRange, ATableOnASlopeStandsUpToTheAngleOfFriction) {
  const double angle = std::atan(0.4);
  const Vec3 gravity = 9.81 * Vec3(std::sin(angle), 0, -std::cos(angle));
  for (const double mu : {0.39, 0.41}) {
    const Model m = table(mu, gravity);
    RigidSystem system(m);
    const ReactionRange range = reaction_range(system, initial_state(m));
    EXPECT_TRUE(range.exact && range.balanced);
    EXPECT_EQ(range.possible, mu > 0.4);
  }
  // The lower two legs carry W cos α/2 + W sin α H/(2 · 0.5) together, each any part of it that the
  // upper two can balance.
  const Model m = table(0.8, gravity);
  RigidSystem system(m);
  const ReactionRange range = reaction_range(system, initial_state(m));
  const double lower = weight * (std::cos(angle) / 2 + std::sin(angle) * 0.8);
  const double upper = weight * std::cos(angle) - lower;
  double highest = 0, lowest = weight;
  for (int i = 0; i < 4; ++i) {
    highest = std::max(highest, range.high[range.rows.J.row_start[i]]);
    lowest = std::min(lowest, range.low[range.rows.J.row_start[i]]);
  }
  // Equal moments about the line of slope: what one lower leg has more, the upper leg behind the
  // other must have too.
  EXPECT_NEAR(highest, (lower + upper) / 2, 1e-6 * weight);
  EXPECT_NEAR(lowest, 0, 1e-6 * weight);
}

// Three ball joints can strain the plate between them as they like, but each carries a third of the
// weight.
TEST(ReactionRange, RedundantJointsHaveNoBoundWhereTheyPullAtEachOther) {
  Model m = testing::empty_model();
  const int plate = testing::add_rigid(m, "plate", Vec3::Zero(), 10, Mat3::Identity());
  for (int k = 0; k < 3; ++k) {
    const double angle = 0.3 + 2 * M_PI * k / 3;
    testing::join(m, "ball-" + std::to_string(k), JointKind::spherical, 0, plate,
                  {0.5 * std::cos(angle), 0.5 * std::sin(angle), 0});
  }
  finalize(m);
  RigidSystem system(m);
  const ReactionRange range = reaction_range(system, initial_state(m));
  ASSERT_TRUE(range.exact && range.possible);
  EXPECT_EQ(range.freedom, 3);
  int bounded = 0;
  for (int r = 0; r < 9; ++r) {
    if (std::isfinite(range.high[r])) {
      ++bounded;
      EXPECT_NEAR(std::abs(range.high[r]), weight / 3, 1e-8 * weight);
      EXPECT_NEAR(range.low[r], range.high[r], 1e-8 * weight);
    } else {
      EXPECT_EQ(range.low[r], -range.high[r]);
    }
  }
  EXPECT_EQ(bounded, 3);
}

}  // namespace
}  // namespace urto
