// Where things rest on each other: equilibria with hard contacts against closed forms.
#include "urto/analysis/contact_statics.h"

#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

constexpr double g = 9.81;

Model smooth_model() {
  Model m = testing::empty_model();
  m.materials[0].friction = 0;
  return m;
}

/// A half-space whose outward normal is (sin a, 0, cos a), through the point.
void add_slope(Model& m, double a, const Vec3& through = Vec3::Zero()) {
  Pose pose;
  pose.rotation = quaternion_exp(Vec3(0, a, 0));
  pose.position = through;
  testing::add_floor(m, pose);
}

/// Normal force of the contact of two bodies, all its points together.
double normal_force(const StaticsReport& r, const std::string& name) {
  double sum = 0;
  for (int i = 0; i < r.rows.blocks(); ++i) {
    if (r.names[i] == name) sum += r.lambda[r.rows.J.row_start[i]];
  }
  return sum;
}

void expect_certified(const StaticsReport& r) {
  EXPECT_TRUE(r.with_contact);
  EXPECT_LT(r.residual, 1e-8);
  EXPECT_LT(r.gap_error, 1e-9);
  EXPECT_LT(r.cone_error, 1e-8);
  EXPECT_LT(r.joint_error, 1e-9);
}

TEST(ContactStatics, ABallInAGrooveHasTheForcesOfTheTriangle) {
  const double a = 0.4, b = 0.9, weight = 2 * g;
  Model m = smooth_model();
  const int ball = testing::add_ball(m, "ball", {0.02, 0, 0.2}, 0.1, 2);
  add_slope(m, a);
  add_slope(m, -b);
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s);
  ASSERT_TRUE(r.converged) << r.message;
  expect_certified(r);
  EXPECT_EQ(r.unique, true);
  // Both distances are the radius.
  const Vec3 at = testing::position(m, s, ball);
  EXPECT_NEAR(at.x() * std::sin(a) + at.z() * std::cos(a), 0.1, 1e-8);
  EXPECT_NEAR(-at.x() * std::sin(b) + at.z() * std::cos(b), 0.1, 1e-8);
  ASSERT_EQ(r.rows.rows(), 2);
  std::array<double, 2> expected{weight * std::sin(b) / std::sin(a + b),
                                 weight * std::sin(a) / std::sin(a + b)};
  Vector found = r.lambda;
  std::sort(found.begin(), found.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_NEAR(found[0], expected[0], 1e-6 * weight);
  EXPECT_NEAR(found[1], expected[1], 1e-6 * weight);
}

TEST(ContactStatics, ABoxLetGoAboveTheFloorStandsOnIt) {
  Model m = testing::empty_model();
  m.materials[0].friction = 0.4;
  const int box = testing::add_cube(m, "box", {0, 0, 0.13}, 0.2, 3);
  testing::add_floor(m);
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s);
  ASSERT_TRUE(r.converged) << r.message;
  expect_certified(r);
  EXPECT_NEAR(testing::position(m, s, box).z(), 0.1, 1e-9);
  EXPECT_NEAR(normal_force(r, "contact of 'box' and 'world'"), 3 * g, 1e-6 * 3 * g);
  // Four corners with friction: twelve numbers in six equations.
  EXPECT_EQ(r.freedom, 6);
  EXPECT_EQ(r.unique, false);
}

TEST(ContactStatics, EveryBoxOfAStackCarriesWhatIsAboveIt) {
  Model m = testing::empty_model();
  m.materials[0].friction = 0.5;
  double above = 0;
  for (int k = 0; k < 4; ++k)
    testing::add_cube(m, "box-" + std::to_string(k), {0, 0, 0.1 + 0.2 * k}, 0.2, 4.0 - k);
  testing::add_floor(m);
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s);
  ASSERT_TRUE(r.converged) << r.message;
  expect_certified(r);
  double total = 0;
  for (int k = 3; k >= 0; --k) {
    above += (4.0 - k) * g;
    double found = 0;
    const std::string name = "'box-" + std::to_string(k) + "'";
    const std::string below = k > 0 ? "'box-" + std::to_string(k - 1) + "'" : "'world'";
    for (int i = 0; i < r.rows.blocks(); ++i) {
      if (r.names[i].find(name) == std::string::npos || r.names[i].find(below) == std::string::npos)
        continue;
      found += r.lambda[r.rows.J.row_start[i]];
    }
    EXPECT_NEAR(found, above, 1e-6 * above) << k;
    total += found;
  }
  EXPECT_GT(total, 0);
}

/// Of recipe and test ReactionRange: balls of one millimetre at its ends, on the floor at x = 1.2 m
/// and on the wall at 3 m.
Model ladder(double friction) {
  Model m = testing::empty_model();
  m.materials[0].friction = friction;
  constexpr double r = 1e-3;
  const Vec3 low(1.2, 0, r), high(r, 0, 3.0);
  const Vec3 middle = 0.5 * (low + high);
  const int body = testing::add_rigid(m, "ladder", middle, 10, Mat3::Identity());
  for (const Vec3& end : {low, high}) {
    Shape ball{.kind = ShapeKind::sphere, .size = {r, 0, 0}, .pose = {}, .body = body};
    ball.pose.position = end - middle;
    m.shapes.push_back(ball);
  }
  testing::add_floor(m);
  add_slope(m, M_PI / 2);
  finalize(m);
  return m;
}

// With the centre in the middle it stands if tan(angle from the wall) ≤ 2μ/(1 − μ²): μ = 0.1926
// for 1.2 to 3.
TEST(ContactStatics, ALadderStandsAboveItsLimitOfFrictionAndSlidesBelow) {
  for (const double mu : {0.20, 0.5}) {
    const Model m = ladder(mu);
    RigidSystem system(m);
    State s = initial_state(m);
    const StaticsReport r = find_equilibrium(system, s);
    ASSERT_TRUE(r.converged) << mu << ": " << r.message;
    expect_certified(r);
    EXPECT_LT(r.move, 1e-6);
    EXPECT_EQ(r.freedom, 1);
    EXPECT_EQ(r.unique, false);
  }
  const Model m = ladder(0.18);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s);
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.message.find("contact of 'ladder' and 'world' slides"), std::string::npos)
      << r.message;
  EXPECT_GT(r.slide, 0.1);
}

TEST(ContactStatics, ASpringPressesABlockAgainstAWall) {
  Model m = smooth_model();
  const int ball = testing::add_ball(m, "ball", {0.105, 0, 0.1}, 0.1, 2);
  MeasureSpring spring;
  spring.name = "spring";
  spring.marker_a = add_marker(m, "anchor", 0, {.position = {1.0, 0, 0.1}});
  spring.marker_b = add_marker(m, "end", ball, {});
  spring.rest = 1.2;
  spring.stiffness.slope = 1000;
  m.forces.push_back(spring);
  testing::add_floor(m);
  add_slope(m, M_PI / 2);
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s);
  ASSERT_TRUE(r.converged) << r.message;
  expect_certified(r);
  EXPECT_NEAR(testing::position(m, s, ball).x(), 0.1, 1e-9);
  ASSERT_EQ(r.rows.rows(), 2);
  EXPECT_NEAR(r.lambda.maxCoeff(), 1000 * (1.2 - 0.9), 1e-5);
  EXPECT_NEAR(r.lambda.minCoeff(), 2 * g, 1e-5);
}

// A bob on an arm of length L leans on a wall at x = d: sin θ = (d + r)/L and N = W tan θ.
TEST(ContactStatics, APendulumLeansOnAWall) {
  const double length = 1, wall = 0.3, radius = 0.05, mass = 2;
  Model m = smooth_model();
  const double start = 0.5;
  const int bob = testing::add_ball(
      m, "bob", {length * std::sin(start), 0, -length * std::cos(start)}, radius, mass);
  testing::join(m, "hinge", JointKind::revolute, 0, bob, Vec3::Zero(), Vec3::UnitY());
  add_slope(m, M_PI / 2, {wall, 0, 0});
  m.joints[0].collide = true;
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s);
  ASSERT_TRUE(r.converged) << r.message;
  expect_certified(r);
  const double sine = (wall + radius) / length;
  EXPECT_NEAR(testing::position(m, s, bob).x(), wall + radius, 1e-8);
  EXPECT_NEAR(normal_force(r, "contact of 'bob' and 'world'"),
              mass * g * sine / std::sqrt(1 - sine * sine), 1e-6);
}

TEST(ContactStatics, ABallOnASmoothSlopeHasNoPlaceToRest) {
  Model m = smooth_model();
  testing::add_ball(m, "ball", {0, 0, 0.11}, 0.1, 2);
  add_slope(m, 0.2);
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s, {.max_iterations = 20});
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.message.find("no equilibrium in 200 steps"), std::string::npos) << r.message;
}

// Shorter steps push them apart as far as longer ones: five thousand were tried, of which each took
// the solvers minutes where a wall of bricks of 1e55 m left no digits for its gaps.
TEST(ContactStatics, BodiesThatAreInEachOtherHaveNoRestNearby) {
  Model m = smooth_model();
  testing::add_ball(m, "ball", {0, 0, 0.05}, 0.1, 2);
  add_slope(m, 0);
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  const StaticsReport r = find_equilibrium(system, s);
  EXPECT_FALSE(r.converged);
  EXPECT_NE(r.message.find("bodies are in each other"), std::string::npos) << r.message;
  EXPECT_LT(r.iterations, 20);
}

TEST(ContactStatics, IsInterruptedWithinASolve) {
  Model m = smooth_model();
  testing::add_ball(m, "ball", {0, 0, 0.11}, 0.1, 2);
  add_slope(m, 0.2);
  finalize(m);
  RigidSystem system(m);
  State s = initial_state(m);
  int asked = 0;
  const StaticsReport r = find_equilibrium(system, s, {.stop = [&] { return ++asked > 3; }});
  EXPECT_EQ(r.message, search_stopped);
  EXPECT_LE(r.iterations, 3) << "asked before every step and in its solve";
}

}  // namespace
}  // namespace urto
