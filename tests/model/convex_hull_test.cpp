#include "urto/model/convex_hull.h"

#include <limits>

#include <gtest/gtest.h>

#include "mesh_samples.h"
#include "support/random_numbers.h"
#include "urto/math/rotation.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace samples;

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vec3 vector() { return in_cube(); }
};

double extent(const std::vector<Vec3>& points) {
  Box3 box;
  for (const Vec3& x : points) box.extend(x);
  return box.diagonal().norm();
}

// Closed, outside out, and all points on or below every triangle, within `noise` of the extent.
void expect_hull(const TriangleMesh& hull, const std::vector<Vec3>& points, double noise = 0) {
  ASSERT_NO_THROW(check_mesh(hull, "hull", Surface::closed));
  EXPECT_TRUE(is_convex(hull, "hull"));
  EXPECT_EQ(hull.triangles.size(), 2 * hull.vertices.size() - 4);  // Euler
  const double rounding = 1e-13 * extent(points);
  for (const auto& t : hull.triangles) {
    const Vec3& a = hull.vertices[t[0]];
    const Vec3 normal = (hull.vertices[t[1]] - a).cross(hull.vertices[t[2]] - a);
    // The height of a point above a sliver is only as good as the sliver's own height.
    double longest = 0;
    for (int e = 0; e < 3; ++e) {
      longest = std::max(longest, (hull.vertices[t[(e + 1) % 3]] - hull.vertices[t[e]]).norm());
    }
    const double worst =
        rounding * extent(points) * longest + noise * normal.norm() * extent(points);
    for (const Vec3& x : points) EXPECT_LE(normal.dot(x - a), worst);
  }
}

TEST(ConvexHull, OfACubesPointsIsTheCubeWhateverIsInsideAndOnIt) {
  std::vector<Vec3> points;
  for (int i = 0; i <= 4; ++i) {
    for (int j = 0; j <= 4; ++j) {
      for (int k = 0; k <= 4; ++k) points.emplace_back(i - 2, j - 2, k - 2);
    }
  }
  points.insert(points.end(), points.begin(), points.end());
  const TriangleMesh hull = convex_hull(points);
  EXPECT_EQ(hull.vertices.size(), 8U);
  EXPECT_EQ(hull.triangles.size(), 12U);
  EXPECT_EQ(hull.vertices[0], Vec3(-2, -2, -2));
  EXPECT_EQ(hull.vertices[7], Vec3(2, 2, 2));
  EXPECT_DOUBLE_EQ(signed_volume(hull), 64);
  expect_hull(hull, points);
}

TEST(ConvexHull, OfATetrahedronIsTheTetrahedron) {
  const TriangleMesh corner = corner_mesh({1, 2, 3});
  const TriangleMesh hull = convex_hull(corner.vertices);
  EXPECT_EQ(hull.vertices, corner.vertices);
  const std::vector<std::array<int, 3>> expected{{0, 1, 3}, {0, 2, 1}, {0, 3, 2}, {1, 2, 3}};
  EXPECT_EQ(hull.triangles, expected);
  EXPECT_DOUBLE_EQ(inner_radius(hull), 1. / 4 * 6 / 7);  // centre (1/4, 1/2, 3/4), plane 6x+3y+2z=6
}

TEST(ConvexHull, EnclosesRandomPointsAtEveryScale) {
  Random random(1);
  for (const double scale : {1e-3, 1., 1e3}) {
    for (int round = 0; round < 30; ++round) {
      const int count = 4 + 7 * round;
      const Vec3 middle = scale * 10 * random.vector();
      std::vector<Vec3> points;
      for (int k = 0; k < count; ++k) {
        Vec3 x = random.vector();
        if (round % 3 == 1) x.normalize();                             // all on the hull
        if (round % 3 == 2) x = (2 * x).array().round().matrix() / 2;  // many in planes and lines
        points.push_back(middle + scale * x);
      }
      const std::string said = message_of([&] { convex_hull(points); });
      if (said != "no error") {
        EXPECT_NE(said.find("points in a plane"), std::string::npos) << said;
        continue;
      }
      expect_hull(convex_hull(points), points);
    }
  }
}

TEST(ConvexHull, TakesTurnedLatticesWithFlatFaces) {
  Random random(2);
  for (int round = 0; round < 40; ++round) {
    const Vec4 turn = quaternion_exp(3 * random.vector());
    const double scale = std::pow(10, random.uniform(-3, 3));
    std::vector<Vec3> points;
    const int n = 2 + round % 5;
    for (int i = 0; i <= n; ++i) {
      for (int j = 0; j <= n; ++j) {
        for (int k = 0; k <= 1; ++k) points.push_back(scale * rotate(turn, Vec3(i, j, 0.3 * k)));
      }
    }
    const TriangleMesh hull = convex_hull(points);
    expect_hull(hull, points);
    EXPECT_NEAR(signed_volume(hull), 0.3 * n * n * std::pow(scale, 3),
                1e-12 * std::pow(scale, 3) * n * n);
  }
}

TEST(ConvexHull, TakesLatticesWithNoiseOfAnySize) {
  Random random(4);
  for (int round = 0; round < 400; ++round) {
    const double noise = std::pow(10, random.uniform(-17, -2));
    const Vec4 turn = quaternion_exp(3 * random.vector());
    std::vector<Vec3> points;
    const int n = 1 + round % 4;
    for (int k = 0; k < 3 * (n + 1) * (n + 1) * (n + 1); ++k) {
      const Vec3 lattice(k % (n + 1), k / (n + 1) % (n + 1), k / ((n + 1) * (n + 1)) % (n + 1));
      points.push_back(rotate(turn, lattice) + noise * random.vector());
    }
    SCOPED_TRACE(noise);
    expect_hull(convex_hull(points), points, 2e-8);
  }
}

TEST(ConvexHull, IsThatOfItsOwnVertices) {
  Random random(3);
  std::vector<Vec3> points;
  for (int k = 0; k < 500; ++k) points.push_back(random.vector());
  const TriangleMesh hull = convex_hull(points);
  const TriangleMesh again = convex_hull(hull.vertices);
  EXPECT_EQ(again.vertices, hull.vertices);
  EXPECT_EQ(again.triangles, hull.triangles);
}

TEST(ConvexHull, RefusesWhatHasNoInside) {
  const auto message = [](const std::vector<Vec3>& points) {
    return message_of([&] { convex_hull(points, "stone"); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message({}), "stone: found 0 points, expected at least four, the corners of a solid");
  EXPECT_EQ(message({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}),
            "stone: found 3 points, expected at least four, the corners of a solid");
  EXPECT_EQ(message({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, nan, 1}}),
            "stone: point 3: found (0, nan, 1), expected finite coordinates");
  EXPECT_EQ(message(std::vector<Vec3>(5, Vec3(1, 2, 3))),
            "stone: found points that are all the same, expected points that span a solid");
  EXPECT_EQ(message({{0, 1, 2}, {1, 1, 2}, {2, 1, 2}, {4, 1, 2}, {3, 1, 2}}),
            "stone: found points on a line (width 0 m), expected points that span a solid");
  EXPECT_EQ(message({{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}}),
            "stone: found points in a plane (thickness 0 m), expected points that span a solid");
  EXPECT_EQ(message({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 1e-7}}),
            "stone: found points in a plane (thickness 1e-07 m), expected points that span a "
            "solid");
  EXPECT_EQ(message({{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 1e-4}}), "no error");
}

TEST(ConvexHull, NothingReachesTheTerminal) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  convex_hull(box_mesh({1, 1, 1e-5}).vertices);
  message_of([] { convex_hull(std::vector<Vec3>(10, Vec3::Ones())); });
  EXPECT_EQ(testing::internal::GetCapturedStdout() + testing::internal::GetCapturedStderr(), "");
}

TEST(ConvexHull, NotEverySurfaceIsConvex) {
  EXPECT_TRUE(is_convex(box_mesh({1, 2, 3}), "box"));
  TriangleMesh dented = ball_mesh(2);
  dented.vertices[0] *= 0.9;
  EXPECT_FALSE(is_convex(dented, "dented"));
  TriangleMesh open = box_mesh({1, 2, 3});
  open.triangles.pop_back();
  EXPECT_FALSE(is_convex(open, "open"));
}

}  // namespace
}  // namespace urto
