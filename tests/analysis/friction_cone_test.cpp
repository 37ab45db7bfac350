// The generalised friction cone and whether it is pointed (recipe 000 §11, (205)-(206)), on
// configurations where both are known by hand.
#include "urto/analysis/friction_cone.h"

#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/scene/scene.h"

namespace urto {
namespace {

using namespace urto::testing;

FrictionCone cone_of(const Model& m, double touching = 1e-6) {
  const RigidSystem system(m);
  SystemAccess access(system);
  Interactions rows;
  const State state = initial_state(m);
  access.interactions(state, {.h = 1e-3, .envelope = 0.01}, rows);
  const FrictionCone out = friction_cone(system, state, rows, touching);
  EXPECT_TRUE(out.known);
  EXPECT_EQ(out.jammed.empty(), out.pointed);
  return out;
}

/// A ball between two half-spaces that open towards +z, each leaning by `half` from the vertical.
Model ball_in_groove(double half, double mu, double size = 0.1) {
  Model m = empty_model();
  m.materials[0].friction = mu;
  for (const double side : {-1.0, 1.0}) {
    const Vec3 normal(side * std::cos(half), 0, std::sin(half));
    const Mat3 frame = contact_frame(normal);
    Mat3 axes;
    axes << frame.col(1), frame.col(2), frame.col(0);
    m.shapes.push_back({.kind = ShapeKind::half_space,
                        .size = Vec3::Zero(),
                        .pose = {-size * normal, quaternion_from_matrix(axes)},
                        .body = 0});
  }
  add_ball(m, "ball", Vec3::Zero(), size, 1);
  finalize(m);
  return m;
}

// The source says that a body on three points of a table has no pointed cone. It has: all normals
// point upwards. Its forces are not unique for another reason, the rank.
TEST(FrictionCone, OfABoxOnATableIsPointedAndItsForcesAreNotUnique) {
  Model m = empty_model();
  add_floor(m);
  add_cube(m, "box", {0, 0, 0.05}, 0.1, 3);
  finalize(m);
  const FrictionCone cone = cone_of(m);
  EXPECT_EQ(cone.touching, 4);
  EXPECT_TRUE(cone.pointed);
  EXPECT_EQ(cone.freedom, 12 - 6);
}

TEST(FrictionCone, OfABallOnATableHasUniqueForces) {
  Model m = empty_model();
  add_floor(m);
  add_ball(m, "ball", {0, 0, 0.1}, 0.1, 1);
  finalize(m);
  const FrictionCone cone = cone_of(m);
  EXPECT_EQ(cone.touching, 1);
  EXPECT_TRUE(cone.pointed);
  EXPECT_EQ(cone.freedom, 0);
}

// Two walls that lean by β: their forces can be opposite, along the line of the contacts, where
// that line is inside both cones: tan β ≤ μ.
TEST(FrictionCone, OfABallInAGrooveJamsAtTheAngleOfFriction) {
  for (const double mu : {0.2, 0.5, 1.0}) {
    for (const double size : {1e-3, 0.1, 10.0}) {
      for (const double share : {0.0, 0.5, 0.98, 1.02, 1.5}) {
        const FrictionCone cone = cone_of(ball_in_groove(share * std::atan(mu), mu, size));
        EXPECT_EQ(cone.touching, 2);
        EXPECT_EQ(cone.pointed, share > 1) << mu << ' ' << share << ' ' << size;
        EXPECT_EQ(cone.jammed.size(), share > 1 ? 0U : 2U);
        EXPECT_EQ(cone.freedom, 1) << "along the line of the contacts";
      }
    }
  }
}

TEST(FrictionCone, WithoutFrictionOnlyOppositeNormalsJam) {
  EXPECT_FALSE(cone_of(ball_in_groove(0, 0)).pointed);
  EXPECT_TRUE(cone_of(ball_in_groove(0.01, 0)).pointed);
}

// A stack jams nowhere, however high and whatever its masses; the peg beside it does, and is named.
TEST(FrictionCone, NamesWhatJamsAndNothingElse) {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 6; ++k)
    add_cube(m, fmt::format("cube {}", k), {0, 0, 0.5 + k}, 1, std::pow(10, k - 2));
  for (const double side : {-1.0, 1.0}) {
    const int wall = add_body(m, {.name = "wall", .kind = BodyKind::fixed});
    m.shapes.push_back({.kind = ShapeKind::box,
                        .size = {0.5, 0.5, 2},
                        .pose = {{5 + 0.7 * side, 0, 2}, identity_quaternion()},
                        .body = wall});
  }
  const int peg = add_ball(m, "peg", {5, 0, 2}, 0.2, 1);
  finalize(m);
  const RigidSystem system(m);
  SystemAccess access(system);
  Interactions rows;
  const State state = initial_state(m);
  access.interactions(state, {.h = 1e-3, .envelope = 0.01}, rows);
  const FrictionCone cone = friction_cone(system, state, rows, 1e-6);
  ASSERT_TRUE(cone.known);
  EXPECT_FALSE(cone.pointed);
  EXPECT_EQ(cone.jammed.size(), 2U);
  for (const int i : cone.jammed) {
    const Contact& c = rows.contacts[rows.origins[i].index];
    EXPECT_TRUE(c.body_a == peg || c.body_b == peg);
  }
  EXPECT_EQ(cone.touching, 6 * 4 + 2);
}

// A joint bears any force: a door against its frame is jammed where the frame stands against the
// hinge, and not where it stands across.
TEST(FrictionCone, CountsJointsAsRowsWithoutASign) {
  for (const bool across : {false, true}) {
    Model m = empty_model(Vec3::Zero());
    const int arm = add_ball(m, "arm", {0, 0, 0}, 0.1, 1);
    join(m, "hinge", JointKind::revolute, 0, arm, {-1, 0, 0});
    const int frame_body = add_body(m, {.name = "frame", .kind = BodyKind::fixed});
    m.materials[0].friction = 0;
    const Vec3 normal = across ? Vec3(0, 1, 0) : Vec3(-1, 0, 0);
    const Mat3 frame = contact_frame(normal);
    Mat3 axes;
    axes << frame.col(1), frame.col(2), frame.col(0);
    m.shapes.push_back({.kind = ShapeKind::half_space,
                        .size = Vec3::Zero(),
                        .pose = {-0.1 * normal, quaternion_from_matrix(axes)},
                        .body = frame_body});
    finalize(m);
    const FrictionCone cone = cone_of(m);
    EXPECT_EQ(cone.touching, 1);
    EXPECT_EQ(cone.pointed, across);
  }
}

TEST(FrictionCone, LeavesOutWhatIsSoftOrApart) {
  Model m = ball_in_groove(0, 0.5);
  EXPECT_FALSE(cone_of(m).pointed);
  m.materials[0].stiffness = 1e5;
  finalize(m);
  EXPECT_EQ(cone_of(m).touching, 0);
  Model apart = ball_in_groove(0, 0.5);
  apart.bodies[1].start.position = {1e-4, 0, 0};
  finalize(apart);
  EXPECT_TRUE(cone_of(apart).pointed);
  EXPECT_FALSE(cone_of(apart, 2e-4).pointed);
}

// By the definition itself: forces of random directions in their cones, against plane geometry. A
// point held by contacts of known normals in the plane is jammed if the cones, arcs of directions
// of ± atan μ about the normals, do not fit into a half-plane.
TEST(FrictionCone, OfRandomContactsOfABallInThePlaneIsThatOfTheirArcs) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0, 1);
  int jammed = 0, free = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const double mu = uniform(random), half = std::atan(mu);
    std::vector<double> angles(2 + trial % 3);
    for (double& a : angles) a = 2 * M_PI * uniform(random);
    // The largest gap between the edges of neighbouring arcs: π and more is a half-plane free of
    // them.
    std::vector<double> sorted = angles;
    std::sort(sorted.begin(), sorted.end());
    double gap = 0;
    for (std::size_t k = 0; k < sorted.size(); ++k) {
      const double next = k + 1 < sorted.size() ? sorted[k + 1] : sorted[0] + 2 * M_PI;
      gap = std::max(gap, next - sorted[k] - 2 * half);
    }
    if (std::abs(gap - M_PI) < 0.02) continue;
    Model m = empty_model();
    m.materials[0].friction = mu;
    for (const double a : angles) {
      const Vec3 normal(std::cos(a), std::sin(a), 0);
      const Mat3 frame = contact_frame(normal);
      Mat3 axes;
      axes << frame.col(1), frame.col(2), frame.col(0);
      m.shapes.push_back({.kind = ShapeKind::half_space,
                          .size = Vec3::Zero(),
                          .pose = {-0.1 * normal, quaternion_from_matrix(axes)},
                          .body = 0});
    }
    add_ball(m, "ball", Vec3::Zero(), 0.1, 1);
    finalize(m);
    const FrictionCone cone = cone_of(m);
    ASSERT_EQ(cone.touching, static_cast<int>(angles.size()));
    // A ball turns freely about its contacts: forces that cancel must not turn it either. In the
    // plane, tangential forces of one sense do; so the arcs alone do not decide with three
    // contacts.
    if (angles.size() == 2 || gap > M_PI) {
      EXPECT_EQ(cone.pointed, gap > M_PI) << trial << ' ' << gap;
    }
    (cone.pointed ? free : jammed) += 1;
  }
  EXPECT_GT(jammed, 5);
  EXPECT_GT(free, 5);
}

}  // namespace
}  // namespace urto
