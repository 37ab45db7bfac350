// Contact manifolds: how many points, where, and what they are called.
#include <set>

#include <gtest/gtest.h>

#include "collision/pairs.h"

namespace urto {
namespace {

using namespace urto::testing;

Convex box(double x, double y, double z, double margin = 0) {
  return convex_of({.kind = ShapeKind::box, .size = {x, y, z}, .margin = margin}, nullptr);
}

Convex round_shape(ShapeKind kind, double radius, double half) {
  return convex_of({.kind = kind, .size = {radius, half, 0}}, nullptr);
}

Manifold meet(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b,
              double reach) {
  NarrowPhase narrow;
  Manifold out;
  narrow.collide(a, at_a, b, at_b, reach, out);
  return out;
}

Mat3 turned(const Vec3& axis_angle) {
  return rotation_matrix(quaternion_exp(axis_angle));
}

std::multiset<std::uint32_t> names(const Manifold& m) {
  std::multiset<std::uint32_t> out;
  for (int k = 0; k < m.count; ++k) out.insert(m.points[k].feature);
  return out;
}

// Area spanned by the points, across the normal.
double area(const Manifold& m) {
  if (m.count < 3) return 0;
  double best = 0;
  for (int i = 0; i < m.count; ++i) {
    for (int j = i + 1; j < m.count; ++j) {
      double left = 0, right = 0;
      for (int k = 0; k < m.count; ++k) {
        const Vec3 edge = m.points[j].point - m.points[i].point;
        const double twice = m.normal.dot(edge.cross(m.points[k].point - m.points[i].point));
        left = std::max(left, twice);
        right = std::max(right, -twice);
      }
      best = std::max(best, 0.5 * (left + right));
    }
  }
  return best;
}

TEST(Manifold, BoxOnBoxHasFourCornersWithTheirGaps) {
  for (const double gap : {1e-3, 1e-9, 0.0, -1e-9, -1e-3}) {
    const Manifold m = meet(box(1, 1, 1), {{0.2, 0.3, 2 + gap}}, box(3, 3, 1), {}, 0.01);
    ASSERT_EQ(m.count, 4) << gap;
    EXPECT_EQ(m.normal, Vec3(0, 0, 1)) << gap;
    for (int k = 0; k < 4; ++k) {
      EXPECT_NEAR(m.points[k].gap, gap, 1e-15);
      EXPECT_NEAR(std::abs(m.points[k].point[0] - 0.2), 1, 1e-14);
      EXPECT_NEAR(std::abs(m.points[k].point[1] - 0.3), 1, 1e-14);
      EXPECT_NEAR(m.points[k].point[2], 1 + 0.5 * gap, 1e-14);
    }
  }
}

TEST(Manifold, TheGapOfEachCornerIsItsOwn) {
  // Leaning by 0.01 about y: one edge 0.02 higher than the other.
  const Mat3 R = turned({0, 0.01, 0});
  const double lift = std::cos(0.01) + std::sin(0.01);
  const Manifold m = meet(box(1, 1, 1), {{0, 0, 1 + lift}, R}, box(3, 3, 1), {}, 0.1);
  ASSERT_EQ(m.count, 4);
  EXPECT_LT((m.normal - Vec3(0, 0, 1)).norm(), 1e-14);
  for (int k = 0; k < 4; ++k) {
    const double expected = m.points[k].point[0] > 0 ? 0 : 2 * std::sin(0.01);
    EXPECT_NEAR(m.points[k].gap, expected, 1e-14);
  }
}

TEST(Manifold, EightCornersAreReducedToFourThatHoldTheBox) {
  // An octagon of circumradius ρ = 1/cos(π/8): four of its corners hold 2ρ² of its 2√2ρ².
  const Manifold m =
      meet(box(1, 1, 1), {{0, 0, 2}, turned({0, 0, M_PI / 4})}, box(1, 1, 1), {}, 0.01);
  ASSERT_EQ(m.count, 4);
  const double rho = 1 / std::cos(M_PI / 8);
  EXPECT_GT(area(m), 1.8 * rho * rho);
  const auto all = names(m);
  EXPECT_EQ(std::set<std::uint32_t>(all.begin(), all.end()).size(), 4U);
}

TEST(Manifold, NamesStayWhileABoxSettles) {
  Random random(3);
  const Convex upper = box(1, 1, 1), lower = box(1, 1, 1);
  const auto expected = names(meet(upper, {{0, 0, 2}}, lower, {}, 0.05));
  for (int k = 0; k < 1000; ++k) {
    const double noise = 1e-7;
    const Place at{Vec3(0, 0, 2) + noise * random.normal(), turned(noise * random.normal())};
    EXPECT_EQ(names(meet(upper, at, lower, {}, 0.05)), expected) << k;
  }
}

TEST(Manifold, CrossingEdgesTouchInOnePoint) {
  // Both on edge, crosswise.
  const Mat3 upper = turned({M_PI / 4, 0, 0}), lower = turned({0, M_PI / 4, 0});
  const double half = std::sqrt(2.0);
  for (const double gap : {1e-3, 0.0, -1e-3}) {
    const Manifold m = meet(box(1, 1, 1), {{0.1, 0.2, 2 * half + gap}, upper}, box(1, 1, 1),
                            {Vec3::Zero(), lower}, 0.01);
    ASSERT_EQ(m.count, 1) << gap;
    EXPECT_LT((m.normal - Vec3(0, 0, 1)).norm(), 1e-9) << gap;
    EXPECT_NEAR(m.points[0].gap, gap, 1e-12);
    EXPECT_LT((m.points[0].point - Vec3(0, 0.2, half + 0.5 * gap)).norm(), 1e-9) << gap;
  }
}

TEST(Manifold, ABoxOnItsEdgeTouchesWithBothEnds) {
  const Manifold m = meet(box(1, 1, 1), {{0, 0, 1 + std::sqrt(2.0)}, turned({M_PI / 4, 0, 0})},
                          box(3, 3, 1), {}, 0.01);
  ASSERT_EQ(m.count, 2);
  EXPECT_NEAR(std::abs(m.points[0].point[0] - m.points[1].point[0]), 2, 1e-9);
}

TEST(Manifold, CylindersStandOnFourAndLieOnTwoPoints) {
  const Convex cylinder = round_shape(ShapeKind::cylinder, 0.5, 1);
  const Manifold standing = meet(cylinder, {{0, 0, 2}}, box(3, 3, 1), {}, 0.01);
  ASSERT_EQ(standing.count, 4);
  for (int k = 0; k < 4; ++k) {
    EXPECT_NEAR(standing.points[k].point.head<2>().norm(), 0.5, 1e-14);
    EXPECT_NEAR(standing.points[k].gap, 0, 1e-14);
  }
  EXPECT_NEAR(area(standing), 2 * 0.5 * 0.5, 1e-12);
  const Manifold lying =
      meet(cylinder, {{0, 0, 1.5}, turned({M_PI / 2, 0, 0})}, box(3, 3, 1), {}, 0.01);
  ASSERT_EQ(lying.count, 2);
  EXPECT_NEAR((lying.points[0].point - lying.points[1].point).norm(), 2, 1e-9);
  EXPECT_LT((lying.normal - Vec3(0, 0, 1)).norm(), 1e-12);
  const Manifold overhanging = meet(cylinder, {{2.8, 0, 2}}, box(3, 3, 1), {}, 0.01);
  ASSERT_GE(overhanging.count, 3);
  for (int k = 0; k < overhanging.count; ++k) EXPECT_LE(overhanging.points[k].point[0], 3 + 1e-5);
}

TEST(Manifold, ASmallBoxStandsOnALargeCylinderWithItsCorners) {
  const Manifold m =
      meet(box(0.1, 0.1, 1), {{0.3, 0.2, 2}}, round_shape(ShapeKind::cylinder, 1, 1), {}, 0.01);
  ASSERT_EQ(m.count, 4);
  EXPECT_NEAR(area(m), 0.04, 1e-12);
}

TEST(Manifold, AxialDiscsShareTheSmallerOne) {
  const Manifold m = meet(round_shape(ShapeKind::cylinder, 0.3, 1), {{0.1, 0, 2}},
                          round_shape(ShapeKind::cylinder, 1, 1), {}, 0.01);
  ASSERT_EQ(m.count, 4);
  EXPECT_NEAR(area(m), 2 * 0.09, 1e-3);
}

TEST(Manifold, CapsulesLieOnTwoPoints) {
  const Convex capsule = round_shape(ShapeKind::capsule, 0.2, 1);
  const Mat3 flat = turned({0, M_PI / 2, 0});
  const Manifold m = meet(capsule, {{0, 0, 1.2}, flat}, box(3, 3, 1), {}, 0.01);
  ASSERT_EQ(m.count, 2);
  const Manifold pair = meet(capsule, {{0.5, 0, 0.4}, flat}, capsule, {{0, 0, 0}, flat}, 0.01);
  ASSERT_EQ(pair.count, 2);
  EXPECT_NEAR((pair.points[0].point - pair.points[1].point).norm(), 1.5, 1e-9);
}

TEST(Manifold, HalfSpacesMeetWhatIsLowest) {
  NarrowPhase narrow;
  Manifold m;
  const auto on_floor = [&](const Convex& c, const Place& at) {
    narrow.collide_half_space(c, at, Vec3::UnitZ(), 0, 0.01, m);
    return m.count;
  };
  EXPECT_EQ(on_floor(box(1, 2, 3), {{0, 0, 3}}), 4);
  EXPECT_EQ(on_floor(box(1, 1, 1), {{0, 0, std::sqrt(2.0)}, turned({M_PI / 4, 0, 0})}), 2);
  EXPECT_EQ(on_floor(round_shape(ShapeKind::cylinder, 0.5, 1), {{0, 0, 1}}), 4);
  EXPECT_EQ(
      on_floor(round_shape(ShapeKind::cylinder, 0.5, 1), {{0, 0, 0.5}, turned({M_PI / 2, 0, 0})}),
      2);
  EXPECT_EQ(on_floor(round_shape(ShapeKind::cone, 0.5, 1), {{0, 0, 1}}), 4);
  EXPECT_EQ(on_floor(round_shape(ShapeKind::cone, 0.5, 1), {{0, 0, 1}, turned({M_PI, 0, 0})}), 1);
  EXPECT_EQ(
      on_floor(round_shape(ShapeKind::capsule, 0.2, 1), {{0, 0, 0.2}, turned({M_PI / 2, 0, 0})}),
      2);
  EXPECT_EQ(
      on_floor(convex_of({.kind = ShapeKind::ellipsoid, .size = {1, 2, 3}}, nullptr), {{0, 0, 3}}),
      1);
  const Convex margin = box(1, 1, 1, 0.1);
  EXPECT_EQ(on_floor(margin, {{0, 0, 1}}), 4);
  EXPECT_NEAR(m.points[0].gap, 0, 1e-14);
  EXPECT_NEAR(area(m), 1.8 * 1.8, 1e-12);  // the corners of the core
}

// The lowest point of a leaning coin is not one of four fixed ones.
TEST(Manifold, LeaningRimsTouchWithTheirLowestPoint) {
  NarrowPhase narrow;
  Manifold m;
  Random random(8);
  for (int k = 0; k < 1000; ++k) {
    const Convex coin = round_shape(ShapeKind::cylinder, 1, 0.1);
    const Place at{{0, 0, 0.5}, random.rotation()};
    narrow.collide_half_space(coin, at, Vec3::UnitZ(), 0, 2, m);
    double least = 1e300;
    for (int j = 0; j < m.count; ++j) least = std::min(least, m.points[j].gap);
    EXPECT_NEAR(least, 0.5 - extreme(coin, -at.R.transpose().col(2)), 1e-12);
  }
}

// Manifolds never lie: a point's gap is at least the pair's, and the pair's is among them.
TEST(Manifold, TheNearestPointIsAmongThem) {
  constexpr std::array kinds{ShapeKind::capsule, ShapeKind::box,       ShapeKind::cylinder,
                             ShapeKind::cone,    ShapeKind::ellipsoid, ShapeKind::hull,
                             ShapeKind::sphere};
  Random random(9);
  for (int k = 0; k < many_pairs; ++k) {
    const PlacedPair p =
        random_pair(random, kinds[random.integer(0, 6)], kinds[random.integer(0, 6)]);
    const double reach = 0.05 * p.size();
    const Closest c = closest(p.a, p.at_a, p.b, p.at_b);
    const Manifold m = meet(p.a, p.at_a, p.b, p.at_b, reach);
    if (c.gap > reach + 1e-9 * p.size()) {
      ASSERT_EQ(m.count, 0) << k;
      continue;
    }
    if (c.gap > reach - 1e-9 * p.size()) continue;
    ASSERT_GT(m.count, 0) << k;
    double least = 1e300;
    for (int j = 0; j < m.count; ++j) least = std::min(least, m.points[j].gap);
    // Names are kept for corners up to 1e-6 of the size outside a face; where both lean, heights
    // differ by as much again.
    ASSERT_NEAR(least, c.gap, 1e-5 * p.size()) << k;
    ASSERT_NEAR(m.normal.norm(), 1, 1e-12);
  }
}

}  // namespace
}  // namespace urto
