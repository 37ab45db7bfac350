// Lines that lie along each other: every end is a contact of its own, and what they bear does not
// jump as one turns on the other.
#include <limits>

#include <gtest/gtest.h>

#include "collision/lying_pairs.h"

namespace urto {
namespace {

using namespace urto::testing;

struct LinePair {
  Lying line, support;
};

std::vector<LinePair> line_pairs() {
  std::vector<LinePair> out;
  for (const Lying line : lying_lines) {
    for (const Lying support : lying_supports) {
      if (bears(line, support)) out.push_back({line, support});
    }
  }
  return out;
}

std::string name_of(const ::testing::TestParamInfo<LinePair>& info) {
  return to_string(info.param.line) + "_on_" + to_string(info.param.support);
}

bool tapers(const LinePair& pair) {
  return pair.line == Lying::cone || pair.support == Lying::cone;
}

class LineOn : public ::testing::TestWithParam<LinePair> {};

Manifold meet(const PlacedPair& p, double reach) {
  NarrowPhase narrow;
  Manifold out;
  narrow.collide(p.a, p.at_a, p.b, p.at_b, reach, out);
  return out;
}

// How low the load at x may come when A may fall and tilt along x: the least height there of a line
// that stays above −gap at every contact, which is their upper hull. Minus infinity where nothing
// bears on one side.
double resting_height(const Manifold& m, double x) {
  double height = -std::numeric_limits<double>::infinity();
  for (int i = 0; i < m.count; ++i) {
    for (int j = 0; j < m.count; ++j) {
      const double xi = m.points[i].point[0], xj = m.points[j].point[0];
      if (xi > x || xj < x || xi == xj) continue;
      const double share = (x - xi) / (xj - xi);
      height = std::max(height, -(1 - share) * m.points[i].gap - share * m.points[j].gap);
    }
  }
  return height;
}

// As it would come to rest: lifted until the nearest points are `gap` apart. Returns by how much.
double lift_to(double gap, PlacedPair& p) {
  const Closest nearest = closest(p.a, p.at_a, p.b, p.at_b);
  const double lift = (gap - nearest.gap) / nearest.normal[2];
  p.at_a.x[2] += lift;
  return lift;
}

// A turns by yaw and tilt through the parallel position and slides a little, in steps so small that
// its surface moves by `way` at most; apart, at touching and a little overlapping.
TEST_P(LineOn, CarriesALoadWithoutAJumpThroughParallel) {
  Random random(41);
  for (int k = 0; k < 30; ++k) {
    const LyingPair pair(random, GetParam().line, GetParam().support);
    const double half = pair.shared(), reach = 0.1 * half,
                 gap = std::array{1e-3, 0.0, -1e-5}[k % 3];
    // The tip of a cone slides off at once.
    const double narrow = tapers(GetParam()) ? 0.1 : 1;
    const double yaw = narrow * random.uniform(-0.02, 0.02), tilt = random.uniform(-0.02, 0.02);
    const Vec3 slide(random.uniform(-0.05, 0.05), narrow * random.uniform(-0.01, 0.01), 0);
    const double where = tapers(GetParam()) ? 0.4 : 0.7;
    const int steps = 200;
    const double way = 5 * (std::abs(yaw) + std::abs(tilt) + slide.norm()) / steps;
    std::array<double, 3> before{};
    for (int s = -steps; s <= steps; ++s) {
      const double t = static_cast<double>(s) / steps;
      PlacedPair p = pair.placed({0, t * tilt, t * yaw}, t * slide);
      const double lift = lift_to(gap, p);
      const Manifold m = meet(p, reach);
      for (int i = 0; i < 3; ++i) {
        const double height = lift + resting_height(m, (i - 1) * where * half);
        ASSERT_TRUE(std::isfinite(height)) << k << " step " << s << " load " << i;
        if (s > -steps) {
          ASSERT_NEAR(height, before[i], way) << k << " step " << s << " load " << i;
        }
        before[i] = height;
      }
    }
  }
}

// An end is a ball, a corner or a rim of its solid: its gap is the distance of that alone.
double gap_of_end(const PlacedPair& p, const ManifoldPoint& end) {
  const bool of_a = end.feature >> 30 == 1;
  const Convex& solid = of_a ? p.a : p.b;
  const Place& at = of_a ? p.at_a : p.at_b;
  // From the surface back to the core.
  const double sign = of_a ? 1 : -1;
  const Vec3 surface = end.point + 0.5 * sign * end.gap * end.normal;
  const Vec3 core = at.R.transpose() * (surface + sign * solid.radius * end.normal - at.x);
  Convex part;
  part.radius = part.extent = solid.radius;
  Place there = at;
  const bool apex = std::hypot(core[0], core[1]) < 1e-6;
  if ((solid.core == CoreKind::cylinder || solid.core == CoreKind::cone) && !apex) {
    part.core = CoreKind::cylinder;
    part.size = {std::hypot(core[0], core[1]), 0, 0};
    part.extent += part.size[0];
    there.x += at.R * Vec3(0, 0, core[2]);
  } else {
    there.x += at.R * core;
  }
  return of_a ? closest(part, there, p.b, p.at_b).gap : closest(p.a, p.at_a, part, there).gap;
}

TEST_P(LineOn, EndsAreAsFarAsTheirBallsCornersAndRims) {
  Random random(42);
  int own = 0;
  for (int k = 0; k < 300; ++k) {
    const LyingPair pair(random, GetParam().line, GetParam().support);
    const double angle = std::pow(10, random.uniform(-7, -1));
    const PlacedPair p = pair.placed(
        angle * random.normal(), {random.uniform(-0.3, 0.3), 0.01 * random.uniform(-1, 1), 0.02});
    const double reach = 0.3;
    const Closest nearest = closest(p.a, p.at_a, p.b, p.at_b);
    if (nearest.gap < 1e-4) continue;
    const Manifold m = meet(p, reach);
    ASSERT_GT(m.count, 0) << k;
    double least = reach;
    for (int i = 0; i < m.count; ++i) {
      const ManifoldPoint& q = m.points[i];
      least = std::min(least, q.gap);
      ASSERT_NEAR(q.normal.norm(), 1, 1e-12) << k;
      if (!q.own_normal) continue;
      ++own;
      ASSERT_NEAR(gap_of_end(p, q), q.gap, 1e-9 * p.size()) << k << " " << i;
      ASSERT_GE(q.gap, nearest.gap - 1e-11 * p.size()) << k;
    }
    ASSERT_NEAR(least, nearest.gap, 1e-9 * p.size()) << k;
  }
  const bool on_face =
      GetParam().support == Lying::face || GetParam().support == Lying::rounded_face;
  if (!on_face) {
    EXPECT_GT(own, 200);
  }
}

// d gap = n·(δx_a + δθ_a × r_a): the row of an end is the derivative of its gap, also where solids
// overlap.
TEST_P(LineOn, GradientOfAnEndsGapIsItsNormalAtItsPoint) {
  Random random(43);
  int compared = 0;
  for (int k = 0; k < 200; ++k) {
    const LyingPair pair(random, GetParam().line, GetParam().support);
    const double angle = std::pow(10, random.uniform(-7, -1.3));
    const Vec3 turn = angle * random.normal();
    const Vec3 shift(random.uniform(-0.2, 0.2), 0.005, random.uniform(-0.002, 0.01));
    const double step = 1e-6;
    const Vec3 dx = random.unit(), dr = random.unit();
    const auto beside = [&](double s) {
      PlacedPair p = pair.placed(turn, shift);
      p.at_a.x += s * step * dx;
      p.at_a.R = LyingSolid::turn(s * step * dr) * p.at_a.R;
      return p;
    };
    const PlacedPair here = beside(0);
    const Manifold now = meet(here, 0.3), ahead = meet(beside(1), 0.3),
                   back = meet(beside(-1), 0.3);
    for (int i = 0; i < now.count; ++i) {
      const ManifoldPoint& q = now.points[i];
      if (!q.own_normal) continue;
      const auto gap_in = [&](const Manifold& m) {
        for (int j = 0; j < m.count; ++j) {
          if (m.points[j].feature == q.feature && m.points[j].own_normal) return m.points[j].gap;
        }
        return std::numeric_limits<double>::quiet_NaN();
      };
      const double rate = (gap_in(ahead) - gap_in(back)) / (2 * step);
      // An end of the other line may have come to lie outermost.
      if (std::isnan(rate)) continue;
      ++compared;
      const double predicted = q.normal.dot(dx + dr.cross(q.point - here.at_a.x));
      ASSERT_NEAR(predicted, rate, 1e-5) << k << " " << i << " gap " << q.gap;
    }
  }
  const bool on_face =
      GetParam().support == Lying::face || GetParam().support == Lying::rounded_face;
  if (!on_face) {
    EXPECT_GT(compared, 100);
  }
}

TEST_P(LineOn, EndsKeepTheirNamesWhileTheyRollAndTurn) {
  Random random(44);
  const LyingPair pair(GetParam().line, GetParam().support, 0.2, 0.8, 0.3, 1.2);
  std::array<int, 2> seen{};
  std::array<std::uint32_t, 2> expected{};
  for (int k = 0; k < 200; ++k) {
    const double yaw = random.uniform(-0.03, 0.03), tilt = 1e-3 * random.normal()[0];
    const Vec3 rolled(0, k * 1e-6, 1e-4);
    const Manifold m = meet(pair.placed({1e-3 * random.uniform(-1, 1), tilt, yaw}, rolled), 0.2);
    ASSERT_GE(m.count, 2) << k;
    for (int end = 0; end < 2; ++end) {
      // The nearest points have no name.
      double far = 0;
      std::uint32_t outer = 0;
      for (int i = 0; i < m.count; ++i) {
        const double x = (end == 0 ? -1 : 1) * m.points[i].point[0];
        if (m.points[i].feature == 0 || x < far) continue;
        far = x;
        outer = m.points[i].feature;
      }
      if (seen[end]++ == 0) expected[end] = outer;
      EXPECT_NE(outer, 0U) << k << " end " << end;
      EXPECT_EQ(outer, expected[end]) << k << " end " << end;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(LineContact, LineOn, ::testing::ValuesIn(line_pairs()), name_of);

TEST(LineContact, EqualCapsulesOnEachOtherHaveTwoPointsOfOneName) {
  Random random(45);
  const LyingPair pair(Lying::capsule, Lying::capsule, 0.2, 1, 0.2, 1);
  for (int k = 0; k < 100; ++k) {
    const Manifold m = meet(pair.placed(1e-9 * random.normal(), 1e-9 * random.normal()), 0.01);
    ASSERT_EQ(m.count, 2) << k;
    for (int i = 0; i < 2; ++i) EXPECT_EQ(m.points[i].feature >> 30, 1U) << k;
  }
}

// Twisted by φ at the middle: the ends at s are √(4r² + s² sin²φ) − 2r apart, the middle touches.
TEST(LineContact, TwistedCapsulesTouchInTheMiddleAndTheirEndsAreTheirDistanceApart) {
  const double r = 0.2, h = 1;
  const LyingPair pair(Lying::capsule, Lying::capsule, r, h, r, 3);
  for (const double twist : {1e-3, 1e-2, 0.1, 0.3}) {
    const Manifold m = meet(pair.placed({0, 0, twist}, Vec3::Zero()), 0.5);
    ASSERT_EQ(m.count, 3) << twist;
    int ends = 0;
    for (int i = 0; i < 3; ++i) {
      const bool end = m.points[i].own_normal;
      const double across = h * std::sin(twist);
      ends += end ? 1 : 0;
      EXPECT_NEAR(m.points[i].gap, end ? std::hypot(2 * r, across) - 2 * r : 0, 1e-14) << twist;
    }
    EXPECT_EQ(ends, 2);
  }
}

}  // namespace
}  // namespace urto
