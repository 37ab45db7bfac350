// Solids on triangle meshes: gaps, normals and edges.
#include "urto/collision/mesh_surface.h"

#include <gtest/gtest.h>

#include "collision/pairs.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace urto::testing;

/// A box of triangles, two a side.
TriangleMesh box_mesh(const Vec3& h) {
  TriangleMesh mesh;
  for (int k = 0; k < 8; ++k) {
    mesh.vertices.emplace_back((k & 1) != 0 ? h[0] : -h[0], (k & 2) != 0 ? h[1] : -h[1],
                               (k & 4) != 0 ? h[2] : -h[2]);
  }
  mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return mesh;
}

std::vector<SurfacePointContact> meet(const Convex& a, const Place& at, const MeshSurface& mesh,
                                      double reach) {
  MeshPhase phase;
  std::vector<SurfacePointContact> out;
  phase.collide(a, at, mesh, {}, reach, out);
  return out;
}

double least_gap(const std::vector<SurfacePointContact>& contacts) {
  double least = 1e300;
  for (const auto& c : contacts) least = std::min(least, c.gap);
  return least;
}

// The box itself, by its own method, knows better.
TEST(MeshSurface, ABoxOfTrianglesIsABox) {
  const Vec3 half(1, 0.7, 0.4);
  const TriangleMesh mesh = box_mesh(half);
  check_mesh(mesh, "box", Surface::closed);
  const MeshSurface surface(mesh);
  const Convex solid = convex_of({.kind = ShapeKind::box, .size = half}, nullptr);
  constexpr std::array kinds{ShapeKind::sphere,   ShapeKind::capsule, ShapeKind::box,
                             ShapeKind::cylinder, ShapeKind::cone,    ShapeKind::ellipsoid,
                             ShapeKind::hull};
  Random random(1);
  int near = 0, unseen = 0, turned = 0;
  for (int k = 0; k < many_pairs; ++k) {
    const Convex a = random_convex(random, kinds[random.integer(0, 6)]);
    Place at{2 * random.normal(), random.rotation()};
    const Closest first = closest(a, at, solid, {});
    const double reach = 0.02 * a.extent;
    // To within the reach, or a little inside.
    at.x += (random.uniform(-0.3, 1) * reach - first.gap) * first.normal;
    const Closest c = closest(a, at, solid, {});
    if (c.gap > 0.99 * reach || c.gap < -0.3 * reach) continue;
    ++near;
    const auto found = meet(a, at, surface, reach);
    if (found.empty() && c.gap <= 0) {
      ++unseen;
      continue;
    }
    ASSERT_FALSE(found.empty()) << k;
    if (c.gap > 0) {
      ASSERT_NEAR(least_gap(found), c.gap, 1e-5 * (a.extent + 1)) << k;
    } else {
      // Triangles do not know the solid behind them: near edges and corners the depth is that of
      // one of the faces there.
      ASSERT_LT(least_gap(found), 0.1 * c.gap + 1e-9) << k;
      ASSERT_GT(least_gap(found), 10 * c.gap - 1e-5 * (a.extent + 1)) << k;
    }
    if (c.gap > 0.01 * reach) {
      double best = -1;
      for (const auto& contact : found) best = std::max(best, contact.normal.dot(c.normal));
      turned += best > 1 - 1e-5 ? 0 : 1;
    }
  }
  EXPECT_GT(near, many_pairs / 2);
  // A surface does not see a flat solid that lies wholly behind it.
  EXPECT_LE(unseen, 1 + near / 1000);
  // At edges, within the reach: the gap is right, the normal that of a neighbouring feature.
  EXPECT_LE(turned, 1 + near / 10000);
}

TEST(MeshSurface, EdgesInsideAFlatFaceAreNotThere) {
  const TriangleMesh mesh = box_mesh({1, 1, 1});
  const MeshSurface surface(mesh);
  const Convex ball = convex_of({.kind = ShapeKind::sphere, .size = {0.3, 0, 0}}, nullptr);
  Random random(2);
  for (int k = 0; k < 1000; ++k) {
    // Along the diagonal of the upper face, and beside it.
    const double s = random.uniform(-0.9, 0.9), off = random.integer(0, 1) * 1e-3;
    const auto found = meet(ball, {{s, s + off, 1.3 - 1e-4}}, surface, 0.01);
    ASSERT_EQ(found.size(), 1U) << k;
    ASSERT_EQ(found[0].normal, Vec3(0, 0, 1)) << k;
    ASSERT_NEAR(found[0].gap, -1e-4, 1e-14) << k;
  }
}

TEST(MeshSurface, ConcaveEdgesAreTouchedByFacesOnly) {
  // A valley of two planes at right angles.
  TriangleMesh valley;
  valley.vertices = {{-1, -1, 1}, {-1, 1, 1}, {0, -1, 0}, {0, 1, 0}, {1, -1, 1}, {1, 1, 1}};
  valley.triangles = {{0, 2, 1}, {2, 3, 1}, {2, 4, 3}, {4, 5, 3}};
  check_mesh(valley, "valley", Surface::open);
  const MeshSurface surface(valley);
  const Convex ball = convex_of({.kind = ShapeKind::sphere, .size = {0.2, 0, 0}}, nullptr);
  const auto found = meet(ball, {{0, 0, 0.2 * std::sqrt(2.0) - 1e-3}}, surface, 0.01);
  ASSERT_EQ(found.size(), 2U);
  for (const auto& c : found) {
    EXPECT_NEAR(std::abs(c.normal[0]), std::sqrt(0.5), 1e-12);
    EXPECT_NEAR(c.normal[2], std::sqrt(0.5), 1e-12);
    EXPECT_NEAR(c.gap, -1e-3 * std::sqrt(0.5), 1e-12);
  }
}

TEST(MeshSurface, ABoxOnManyTrianglesHasFourContacts) {
  const TriangleMesh field = height_field(std::vector<double>(41 * 41, 0.0), 41, 0.1, 0.1);
  const MeshSurface surface(field);
  const Convex box = convex_of({.kind = ShapeKind::box, .size = {0.55, 0.35, 0.2}}, nullptr);
  Random random(3);
  for (int k = 0; k < 200; ++k) {
    const Place at{{random.uniform(-1, 1), random.uniform(-1, 1), 0.2},
                   rotation_matrix(quaternion_exp({0, 0, random.uniform(0, 6)}))};
    const auto found = meet(box, at, surface, 0.01);
    ASSERT_EQ(found.size(), 4U) << k;
    for (const auto& c : found) {
      ASSERT_NEAR(c.gap, 0, 1e-14) << k;
      // The corners: 0.65 from the middle.
      ASSERT_NEAR((c.point - at.x).head<2>().norm(), std::hypot(0.55, 0.35), 1e-9) << k;
    }
  }
}

TEST(MeshSurface, DeepSolidsArePushedOutTheWayTheyCame) {
  const TriangleMesh field = height_field(std::vector<double>(21 * 21, 0.0), 21, 0.2, 0.2);
  const MeshSurface surface(field);
  const Convex ball = convex_of({.kind = ShapeKind::sphere, .size = {0.3, 0, 0}}, nullptr);
  for (const double depth : {0.05, 0.2, 0.3, 0.4, 0.5}) {
    const auto found = meet(ball, {{0.03, 0.02, 0.3 - depth}}, surface, 0.01);
    ASSERT_FALSE(found.empty()) << depth;
    for (const auto& c : found) EXPECT_GT(c.normal[2], 0.999) << depth;
    EXPECT_NEAR(least_gap(found), -depth, 1e-9) << depth;
  }
}

}  // namespace
}  // namespace urto
