// Distance, rays and overlaps against formulas and brute force.
#include "urto/collision/queries.h"

#include <gtest/gtest.h>

#include "collision/pairs.h"
#include "stepper/scenes.h"
#include "urto/error.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace urto::testing;

Queries at_start(const Model& m) {
  Queries q(m);
  q.update(initial_state(m));
  return q;
}

TEST(Queries, DistanceIsBetweenTheNearestShapes) {
  Model m = empty_model();
  add_floor(m);
  const int ball = add_ball(m, "ball", {0, 0, 2}, 0.5, 1);
  const int crate = add_cube(m, "crate", {3, 0, 2}, 1, 1);
  // A second shape of the ball's body, nearer to the crate.
  m.shapes.push_back(
      {.kind = ShapeKind::sphere, .size = {0.1, 0, 0}, .pose = {{1, 0, 0}}, .body = ball});
  finalize(m);
  const Queries q = at_start(m);
  const auto d = q.distance(ball, crate);
  ASSERT_TRUE(d);
  EXPECT_NEAR(d->closest.gap, 3 - 0.5 - 1.1, 1e-14);
  EXPECT_LT((d->closest.normal - Vec3(-1, 0, 0)).norm(), 1e-14);
  EXPECT_NEAR(q.distance(0, ball)->closest.gap, 1.5, 1e-14);
  EXPECT_NEAR(q.distance(ball, 0)->closest.gap, 1.5, 1e-14);
  EXPECT_LT((q.distance(ball, 0)->closest.normal - Vec3(0, 0, 1)).norm(), 1e-14);
  EXPECT_FALSE(q.distance(0, 0).has_value());
}

TEST(Queries, DistanceToAMeshIsToItsNearestTriangle) {
  Model m = empty_model();
  std::vector<double> heights;
  for (int j = 0; j < 21; ++j) {
    for (int i = 0; i < 21; ++i) heights.push_back(0.2 * std::sin(0.7 * i) * std::cos(0.5 * j));
  }
  m.meshes.push_back(height_field(heights, 21, 0.1, 0.1));
  m.shapes.push_back({.kind = ShapeKind::height_field, .pose = {}, .body = 0, .geometry = 0});
  const int ball = add_ball(m, "ball", {0.13, -0.21, 0.8}, 0.2, 1);
  finalize(m);
  const Queries q = at_start(m);
  double least = 1e300;
  const MeshSurface surface(m.meshes[0]);
  for (int t = 0; t < static_cast<int>(m.meshes[0].triangles.size()); ++t) {
    const Convex solid = convex_of(m.shapes[1], nullptr);
    least = std::min(
        least, closest(solid, {{0.13, -0.21, 0.8}}, surface.triangle(t), {surface.center(t)}).gap);
  }
  EXPECT_NEAR(q.distance(ball, 0)->closest.gap, least, 1e-12);
}

TEST(Queries, RaysHitWhatIsFirst) {
  Model m = empty_model();
  add_floor(m);
  const int crate = add_cube(m, "crate", {0, 0, 1}, 1, 1);
  const int ball = add_ball(m, "ball", {0, 0, 4}, 0.5, 1);
  finalize(m);
  const Queries q = at_start(m);
  const auto from_above = q.cast_ray({0.3, 0, 10}, {0, 0, -2}, 100);
  ASSERT_TRUE(from_above);
  EXPECT_EQ(from_above->body, ball);
  EXPECT_NEAR(from_above->distance, 6 - 0.4, 1e-10);
  EXPECT_LT((from_above->normal - Vec3(0.6, 0, 0.8)).norm(), 1e-9);
  const auto beside = q.cast_ray({0.45, 0.45, 3}, {0, 0, -1}, 100);
  ASSERT_TRUE(beside);
  EXPECT_EQ(beside->body, crate);
  EXPECT_NEAR(beside->distance, 1.5, 1e-12);
  const auto ground = q.cast_ray({3, 0, 3}, {1, 0, -1}, 100);
  ASSERT_TRUE(ground);
  EXPECT_EQ(ground->body, 0);
  EXPECT_NEAR(ground->distance, 3 * std::sqrt(2.0), 1e-12);
  EXPECT_FALSE(q.cast_ray({3, 0, 3}, {1, 0, -1}, 4).has_value());
  EXPECT_FALSE(q.cast_ray({3, 0, 3}, {1, 0, 1}, 1e9).has_value());
  EXPECT_EQ(q.cast_ray({0, 0, 1}, {1, 0, 0}, 9)->distance, 0);
  EXPECT_THROW(static_cast<void>(q.cast_ray({0, 0, 1}, {0, 0, 0}, 9)), InputError);
}

// A point just before the hit is outside of everything, one just after it inside of the body that
// was hit.
TEST(Queries, RandomRaysStopAtSurfaces) {
  constexpr std::array kinds{ShapeKind::sphere,   ShapeKind::capsule, ShapeKind::box,
                             ShapeKind::cylinder, ShapeKind::cone,    ShapeKind::ellipsoid};
  Random random(4);
  Model m = empty_model();
  for (int k = 0; k < 40; ++k) {
    const int body = add_rigid(m, "", 8 * random.normal(), 1, Mat3::Identity());
    m.bodies[body].start.rotation = quaternion_exp(random.normal());
    m.shapes.push_back(random.shape(kinds[k % 6]));
    m.shapes.back().body = body;
  }
  finalize(m);
  const Queries q = at_start(m);
  int hits = 0;
  for (int k = 0; k < many_pairs / 20; ++k) {
    const Vec3 from = 20 * random.unit(), direction = random.normal() - 0.1 * from;
    const auto hit = q.cast_ray(from, direction, 100);
    const Convex probe = convex_of({.kind = ShapeKind::sphere, .size = {1e-9, 0, 0}}, nullptr);
    const Vec3 unit = direction.normalized();
    if (!hit) {
      for (int s = 0; s < 20; ++s)
        ASSERT_TRUE(q.overlaps(probe, {from + 5.0 * s * unit}).empty()) << k;
      continue;
    }
    if (hit->distance == 0) continue;
    ++hits;
    ASSERT_TRUE(q.overlaps(probe, {from + (hit->distance - 1e-6) * unit}).empty()) << k;
    const auto inside = q.overlaps(probe, {hit->point - 1e-7 * hit->normal});
    ASSERT_TRUE(std::find(inside.begin(), inside.end(), hit->shape) != inside.end()) << k;
    ASSERT_LE(hit->normal.dot(unit), 1e-6) << k;
  }
  EXPECT_GT(hits, many_pairs / 200);
}

TEST(Queries, RaysDoNotSlipBetweenTriangles) {
  Model m = empty_model();
  m.meshes.push_back(height_field(std::vector<double>(11 * 11, 0.5), 11, 1, 1));
  m.shapes.push_back({.kind = ShapeKind::height_field, .pose = {}, .body = 0, .geometry = 0});
  finalize(m);
  const Queries q = at_start(m);
  for (int k = -4; k <= 4; ++k) {  // onto edges, diagonals and vertices
    for (const double y : {0.0, 0.5, 1.0 * k}) {
      const auto hit = q.cast_ray({1.0 * k, y, 3}, {0, 0, -1}, 10);
      ASSERT_TRUE(hit) << k << " " << y;
      EXPECT_NEAR(hit->distance, 2.5, 1e-12);
    }
  }
}

}  // namespace
}  // namespace urto
