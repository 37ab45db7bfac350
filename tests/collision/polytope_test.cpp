// Polytopes of hulls: Euler's formula, planes that hold all vertices below them, loops that are
// flat and convex, and climbing that arrives.
#include "urto/collision/polytope.h"

#include <set>

#include <gtest/gtest.h>

#include "model/mesh_samples.h"
#include "support/random_numbers.h"
#include "urto/math/rotation.h"
#include "urto/model/convex_hull.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace samples;

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vec3 vector() { return in_cube(); }
};

void expect_faces(const Polytope& p, double diagonal) {
  std::set<int> corners(p.loops.begin(), p.loops.end());
  EXPECT_EQ(static_cast<int>(corners.size()) - static_cast<int>(p.edges.size()) + p.face_count(),
            2);
  const double rounding = 1e-14 * diagonal, flatness = 4e-7 * diagonal;
  for (int f = 0; f < p.face_count(); ++f) {
    EXPECT_NEAR(p.normals[f].norm(), 1, 1e-14);
    for (const Vec3& x : p.vertices) EXPECT_LE(p.normals[f].dot(x), p.offsets[f] + rounding);
    const auto loop = p.loop(f);
    ASSERT_GE(loop.size(), 3U);
    EXPECT_EQ(loop[0], *std::min_element(loop.begin(), loop.end()));
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const Vec3& a = p.vertices[loop[k]];
      const Vec3& b = p.vertices[loop[(k + 1) % loop.size()]];
      const Vec3& c = p.vertices[loop[(k + 2) % loop.size()]];
      EXPECT_GE(p.normals[f].dot(a), p.offsets[f] - flatness);
      EXPECT_GE(p.normals[f].cross((b - a).normalized()).dot(c - b), -flatness);
    }
  }
}

void expect_edges(const Polytope& p) {
  for (const Polytope::Edge& e : p.edges) {
    EXPECT_LT(e.from, e.to);
    const auto runs = [&](int face, int from, int to) {
      const auto loop = p.loop(face);
      for (std::size_t k = 0; k < loop.size(); ++k) {
        if (loop[k] == from && loop[(k + 1) % loop.size()] == to) return true;
      }
      return false;
    };
    EXPECT_TRUE(runs(e.left, e.from, e.to));
    EXPECT_TRUE(runs(e.right, e.to, e.from));
    const auto near = p.neighbours_of(e.from);
    EXPECT_TRUE(std::binary_search(near.begin(), near.end(), e.to));
  }
}

void expect_climbing(const Polytope& p, Random& random, double diagonal) {
  for (int round = 0; round < 20; ++round) {
    const Vec3 d = random.vector().normalized();
    double best = d.dot(p.vertices[0]);
    for (const Vec3& x : p.vertices) best = std::max(best, d.dot(x));
    const int start = static_cast<int>(random.engine() % p.vertices.size());
    EXPECT_NEAR(d.dot(p.vertices[support(p, d, start)]), best, 1e-14 * diagonal);
  }
}

Polytope expect_polytope(const TriangleMesh& hull, Random& random) {
  const double diagonal = bounds(hull).diagonal().norm();
  const double reach = bounds(hull).center().norm() + diagonal;
  const Polytope p = polytope_of(hull);
  EXPECT_EQ(p.vertices, hull.vertices);
  expect_faces(p, reach);
  expect_edges(p);
  expect_climbing(p, random, reach);
  return p;
}

TEST(Polytope, ACubeHasSixQuads) {
  Random random(1);
  for (const double scale : {1e-3, 1., 1e3}) {
    const Polytope p = expect_polytope(box_mesh(scale * Vec3(1, 2, 3)), random);
    EXPECT_EQ(p.face_count(), 6);
    EXPECT_EQ(p.edges.size(), 12U);
    for (int f = 0; f < 6; ++f) {
      EXPECT_EQ(p.loop(f).size(), 4U);
      EXPECT_EQ(p.normals[f].cwiseAbs().maxCoeff(), 1);
      EXPECT_EQ(p.offsets[f], scale * p.normals[f].cwiseAbs().dot(Vec3(1, 2, 3)));
    }
    // Below is the first, seen from below.
    EXPECT_EQ(p.normals[0], Vec3(0, 0, -1));
    EXPECT_EQ((std::vector<int>(p.loop(0).begin(), p.loop(0).end())),
              (std::vector<int>{0, 2, 3, 1}));
  }
}

TEST(Polytope, ATetrahedronIsItsTriangles) {
  Random random(2);
  const Polytope p = expect_polytope(corner_mesh({1, 2, 3}), random);
  EXPECT_EQ(p.face_count(), 4);
  EXPECT_EQ(p.edges.size(), 6U);
  for (int v = 0; v < 4; ++v) EXPECT_EQ(p.neighbours_of(v).size(), 3U);
}

TEST(Polytope, RandomHullsAreSound) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    const double scale = std::pow(10, random.uniform(-3, 3));
    std::vector<Vec3> points;
    for (int k = 0; k < 12 + 5 * round; ++k) {
      Vec3 x = random.vector();
      if (round % 2 == 1) x.normalize();
      points.push_back(scale * x);
    }
    const Polytope p = expect_polytope(convex_hull(points), random);
    EXPECT_EQ(p.face_count(), static_cast<int>(2 * p.vertices.size() - 4));
  }
}

TEST(Polytope, FacesOfManyTrianglesAreOnePolygon) {
  Random random(4);
  for (int round = 0; round < 60; ++round) {
    // A prism of n sides, turned; its ends are regular polygons.
    const int n = 3 + round % 20;
    const double scale = std::pow(10, random.uniform(-3, 3));
    const Vec4 turn = quaternion_exp(3 * random.vector());
    std::vector<Vec3> points;
    for (int k = 0; k < 2 * n; ++k) {
      const double angle = 2 * M_PI * (k % n) / n;
      points.push_back(scale *
                       rotate(turn, Vec3(std::cos(angle), std::sin(angle), k < n ? 0 : 0.7)));
    }
    const Polytope p = expect_polytope(convex_hull(points), random);
    EXPECT_EQ(p.face_count(), n + 2);
    EXPECT_EQ(p.edges.size(), 3U * n);
  }
}

TEST(Polytope, CoordinatesInSinglePrecisionStillHaveFlatFaces) {
  Random random(5);
  for (int round = 0; round < 200; ++round) {
    const Vec4 turn = quaternion_exp(3 * random.vector());
    TriangleMesh box = box_mesh({1, random.uniform(0.2, 1), random.uniform(0.2, 1)});
    for (Vec3& x : box.vertices) x = rotate(turn, x).cast<float>().cast<double>();
    EXPECT_EQ(expect_polytope(convex_hull(box.vertices), random).face_count(), 6);
  }
}

TEST(Polytope, ShallowDomesNearTheToleranceStayConvex) {
  Random random(6);
  for (int round = 0; round < 60; ++round) {
    const double height = std::pow(10, random.uniform(-9, -4));
    std::vector<Vec3> points;
    for (int i = -4; i <= 4; ++i) {
      for (int j = -4; j <= 4; ++j) {
        points.emplace_back(i, j,
                            height * (32 - i * i - j * j) + 1e-3 * height * random.uniform(0, 1));
        points.emplace_back(i, j, -1);
      }
    }
    expect_polytope(convex_hull(points), random);
  }
}

TEST(Polytope, ThinPlatesKeepTheirSides) {
  Random random(7);
  for (const double thickness : {1e-2, 1e-4, 1e-5}) {
    const Polytope p = expect_polytope(convex_hull(box_mesh({1, 1, thickness}).vertices), random);
    EXPECT_EQ(p.face_count(), 6);
  }
}

}  // namespace
}  // namespace urto
