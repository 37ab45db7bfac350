// Solids on a half-space. The lowest point of each is known by a formula of its own.
#include <gtest/gtest.h>

#include "collision/pairs.h"

namespace urto {
namespace {

using namespace urto::testing;

/// Largest d·x over the sharp shape, d in its axes.
double reach_along(const Shape& s, const Polytope* stone, const Vec3& d) {
  const double across = std::hypot(d[0], d[1]);
  switch (s.kind) {
    case ShapeKind::sphere:
      return s.size[0] * d.norm();
    case ShapeKind::capsule:
      return s.size[0] * d.norm() + s.size[1] * std::abs(d[2]);
    case ShapeKind::box:
      return s.size.dot(d.cwiseAbs());
    case ShapeKind::cylinder:
      return s.size[0] * across + s.size[1] * std::abs(d[2]);
    case ShapeKind::cone:
      return std::max(s.size[1] * d[2], s.size[0] * across - s.size[1] * d[2]);
    case ShapeKind::ellipsoid:
      return s.size.cwiseProduct(d).norm();
    default: {
      double most = -1e300;
      for (const Vec3& v : stone->vertices) most = std::max(most, d.dot(v));
      return most;
    }
  }
}

class OnHalfSpace : public ::testing::TestWithParam<ShapeKind> {};

// Apart, touching, deep; leaning, and flat on a face, side or edge.
TEST_P(OnHalfSpace, GapIsThatOfTheLowestPoint) {
  Random random(41);
  NarrowPhase narrow;
  Manifold found;
  int touching = 0;
  for (int k = 0; k < many_pairs; ++k) {
    Shape shape = random.shape(GetParam());
    shape.margin = 0;
    const Polytope* stone =
        GetParam() == ShapeKind::hull ? &stones()[2 * random.integer(0, 6)] : nullptr;
    const Convex a = convex_of(shape, stone);
    const Vec3 n =
        random.integer(0, 2) == 0 ? Vec3(Vec3::Unit(random.integer(0, 2))) : random.unit();
    const Place at{random.normal(),
                   random.integer(0, 1) == 0 ? Mat3(Mat3::Identity()) : random.rotation()};
    const double lowest = n.dot(at.x) - reach_along(shape, stone, -(at.R.transpose() * n));
    const double wanted = random.integer(0, 3) == 0 ? 0 : random.uniform(-1.5, 0.5) * a.extent;
    const double offset = lowest - wanted, reach = 0.1 * a.extent;
    narrow.collide_half_space(a, at, n, offset, reach, found);
    if (std::abs(wanted - reach) < 1e-9 * a.extent) continue;
    ASSERT_EQ(found.count > 0, wanted < reach) << k << ": gap " << wanted;
    if (found.count == 0) continue;
    ++touching;
    ASSERT_EQ(found.normal, n) << k;
    double least = 1e300;
    for (int c = 0; c < found.count; ++c) {
      const ManifoldPoint& point = found.points[c];
      least = std::min(least, point.gap);
      // Midway between the solid and the plane.
      ASSERT_NEAR(n.dot(point.point) - offset, 0.5 * point.gap, 1e-9 * (a.extent + at.x.norm()))
          << k;
    }
    ASSERT_NEAR(least, wanted, 1e-9 * (a.extent + at.x.norm())) << k;
  }
  EXPECT_GT(touching, many_pairs / 2);
}

// As a half-space cannot turn, its gap moves with the point of the solid.
TEST_P(OnHalfSpace, GradientOfTheGapIsTheNormalAtThePoint) {
  Random random(42);
  NarrowPhase narrow;
  Manifold found;
  int smooth = 0;
  for (int k = 0; k < many_pairs / 10; ++k) {
    const Convex a = random_convex(random, GetParam());
    const Place at{random.normal(), random.rotation()};
    const Vec3 n = random.unit();
    const double offset = n.dot(at.x) - 0.5 * a.extent;
    const double step = 1e-6 * a.extent;
    const Vec3 shift = random.unit(), turn = random.unit() / a.extent;
    const auto lowest = [&](double s) {
      const Place moved{at.x + s * shift, rotation_matrix(quaternion_exp(s * turn)) * at.R};
      narrow.collide_half_space(a, moved, n, offset, 3 * a.extent, found);
      const auto* best = std::min_element(
          found.points.begin(), found.points.begin() + found.count,
          [](const ManifoldPoint& x, const ManifoldPoint& y) { return x.gap < y.gap; });
      return *best;
    };
    const ManifoldPoint after = lowest(step), before = lowest(-step), now = lowest(0);
    const double ahead = (after.gap - now.gap) / step, behind = (now.gap - before.gap) / step;
    if (std::abs(ahead - behind) > 1e-4) continue;  // from one corner to the next
    ++smooth;
    const Vec3 touched = now.point + 0.5 * now.gap * n;
    ASSERT_NEAR(n.dot(shift + turn.cross(touched - at.x)), 0.5 * (ahead + behind), 1e-4) << k;
  }
  EXPECT_GT(smooth, many_pairs / 20);
}

INSTANTIATE_TEST_SUITE_P(HalfSpace, OnHalfSpace,
                         ::testing::Values(ShapeKind::sphere, ShapeKind::capsule, ShapeKind::box,
                                           ShapeKind::cylinder, ShapeKind::cone,
                                           ShapeKind::ellipsoid, ShapeKind::hull),
                         [](const auto& of) { return std::string(to_string(of.param)); });

}  // namespace
}  // namespace urto
