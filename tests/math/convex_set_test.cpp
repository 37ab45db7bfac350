#include "urto/math/convex_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "support/random_numbers.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double eps = std::numeric_limits<double>::epsilon();

// Everything is checked in long double: it has the digits to see rounding and the range to square
// 10¹⁵⁰.
using Long = long double;
using LongVector = Eigen::Matrix<Long, Eigen::Dynamic, 1>;

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vector vector(int size) {
    return Vector::NullaryExpr(size, [&] { return normal(); });
  }
};

LongVector wide(const Vector& x) {
  return x.cast<Long>();
}

std::vector<ConvexSet> cones() {
  std::vector<ConvexSet> sets{ConvexSet::free(1), ConvexSet::free(6), ConvexSet::nonnegative(),
                              ConvexSet::nonnegative(4)};
  for (const double mu : {0., 1e-6, 0.3, 1., 2.5, 1e6}) {
    for (const int dim : {2, 3, 4, 6}) sets.push_back(ConvexSet::cone(mu, dim));
  }
  for (const double mu : {0., 0.4, 1e6}) {
    for (const double rolling : {0., 1e-3, 0.4, 1e6}) {
      sets.push_back(ConvexSet::rolling_cone(mu, rolling));
      for (const double spinning : {0., 0.02, 0.4, 1e6})
        sets.push_back(ConvexSet::rolling_cone(mu, rolling, spinning));
    }
    for (const double spinning : {0., 1e-3, 0.4, 1e6})
      sets.push_back(ConvexSet::spinning_cone(mu, spinning));
  }
  return sets;
}

std::vector<ConvexSet> boxes() {
  return {ConvexSet::box(-1, 2, 3),        ConvexSet::box(0, 1, 2),
          ConvexSet::box(-1e-3, 1e-3, 1),  ConvexSet::box(0, infinity, 2),
          ConvexSet::box(-infinity, 3, 2), ConvexSet::box(-infinity, infinity, 6),
          ConvexSet::box(1.5, 1.5, 2),     ConvexSet::box(0, 0, 1),
          ConvexSet::box(-5, -2, 3)};
}

std::vector<ConvexSet> all_sets() {
  std::vector<ConvexSet> sets = cones();
  for (const ConvexSet& box : boxes()) sets.push_back(box);
  return sets;
}

std::string describe(const ConvexSet& set, const Vector& z) {
  std::ostringstream out;
  out << "kind " << static_cast<int>(set.kind) << " dim " << set.dim << " mu " << set.mu << " mu_r "
      << set.mu_rolling << " mu_s " << set.mu_spinning << " box [" << set.lo << ", " << set.hi
      << "] at " << z.transpose();
  return out.str();
}

// The moments of a rolling cone, by the definition of its rows: (n, t, m), (n, t, s) or (n, t, m,
// s).
bool rolls(const ConvexSet& set) {
  return set.dim != 4;
}
bool spins(const ConvexSet& set) {
  return set.dim != 5;
}
int spin_row(const ConvexSet& set) {
  return set.dim - 1;
}
double sum_of_bounds(const ConvexSet& set) {
  return set.mu + set.mu_rolling + set.mu_spinning;
}

Vector projected(const ConvexSet& set, const Vector& z) {
  Vector out(set.dim);
  project(set, z.data(), out.data());
  return out;
}

Vector projected_dual(const ConvexSet& set, const Vector& z) {
  Vector out(set.dim);
  project_dual(set, z.data(), out.data());
  return out;
}

// How far outside the set, measured across each bound that is broken; written from the definition.
Long violation(const ConvexSet& set, const Vector& z) {
  const LongVector x = wide(z);
  const auto across = [](Long excess, Long slope) {
    return std::max(excess, Long(0)) / std::sqrt(1 + slope * slope);
  };
  switch (set.kind) {
    case SetKind::free:
      return 0;
    case SetKind::nonnegative:
      return std::max(-x.minCoeff(), Long(0));
    case SetKind::cone:
      return std::max(-x[0], across(x.tail(set.dim - 1).norm() - set.mu * x[0], set.mu));
    case SetKind::rolling_cone: {
      Long worst = std::max(-x[0], across(x.segment(1, 2).norm() - set.mu * x[0], set.mu));
      if (rolls(set)) {
        worst =
            std::max(worst, across(x.segment(3, 2).norm() - set.mu_rolling * x[0], set.mu_rolling));
      }
      if (spins(set)) {
        worst = std::max(
            worst, across(std::abs(x[spin_row(set)]) - set.mu_spinning * x[0], set.mu_spinning));
      }
      return worst;
    }
    case SetKind::box:
      return std::max({Long(0), x.maxCoeff() - set.hi, set.lo - x.minCoeff()});
  }
  return 0;
}

// A point of the set of about the size `scale`; on its boundary as often as not.
Vector member(const ConvexSet& set, Random& random, double scale) {
  const auto fraction = [&] { return random.integer(0, 1) == 0 ? 1. : random.uniform(0, 1); };
  Vector y = random.vector(set.dim);
  switch (set.kind) {
    case SetKind::free:
      break;
    case SetKind::nonnegative:
      for (double& c : y) c = random.integer(0, 2) == 0 ? 0 : std::abs(c);
      break;
    case SetKind::cone:
      y[0] = std::abs(y[0]) / (1 + set.mu);
      y.tail(set.dim - 1) *= fraction() * set.mu * y[0] / y.tail(set.dim - 1).norm();
      break;
    case SetKind::rolling_cone:
      y[0] = std::abs(y[0]) / (1 + sum_of_bounds(set));
      y.segment(1, 2) *= fraction() * set.mu * y[0] / y.segment(1, 2).norm();
      if (rolls(set)) {
        y.segment(3, 2) *= fraction() * set.mu_rolling * y[0] / y.segment(3, 2).norm();
      }
      if (spins(set)) {
        double& spin = y[spin_row(set)];
        spin = std::copysign(fraction() * set.mu_spinning * y[0], spin);
      }
      break;
    case SetKind::box:
      for (double& c : y) {
        const double lo = std::isinf(set.lo) ? std::min(-scale, set.hi - scale) : set.lo;
        const double hi = std::isinf(set.hi) ? std::max(scale, set.lo + scale) : set.hi;
        const int end = random.integer(0, 2);
        c = end == 0 ? lo : end == 1 ? hi : std::clamp(random.uniform(lo, hi), lo, hi);
      }
      return y;
  }
  return scale * y;
}

// The member of a cone (of unit normal part) that has the least inner product with u: the hardest
// test of the dual.
LongVector hardest_member(const ConvexSet& set, const Vector& u) {
  const LongVector x = wide(u);
  LongVector y = LongVector::Zero(set.dim);
  const auto against = [&](int first, int count, Long length) {
    const Long norm = x.segment(first, count).norm();
    if (norm > 0) y.segment(first, count) = -length / norm * x.segment(first, count);
  };
  switch (set.kind) {
    case SetKind::free:
      against(0, set.dim, 1);
      break;
    case SetKind::nonnegative: {
      int least = 0;
      x.minCoeff(&least);
      y[least] = 1;
      break;
    }
    case SetKind::cone:
      y[0] = 1;
      against(1, set.dim - 1, set.mu);
      break;
    case SetKind::rolling_cone:
      y[0] = 1;
      against(1, 2, set.mu);
      if (rolls(set)) against(3, 2, set.mu_rolling);
      if (spins(set)) against(spin_row(set), 1, set.mu_spinning);
      break;
    case SetKind::box:
      ADD_FAILURE() << "a box has no dual cone";
  }
  return y.norm() > 0 ? LongVector(y / y.norm()) : y;
}

// Random points of every size, and the places where projections go wrong.
std::vector<Vector> points(const ConvexSet& set, Random& random) {
  std::vector<Vector> result{Vector::Zero(set.dim)};
  for (const double scale : {1e-200, 1e-8, 1., 1e8, 1e150}) {
    for (int i = 0; i < 6; ++i) result.push_back(scale * random.vector(set.dim));
    for (int i = 0; i < set.dim; ++i) {
      result.push_back(scale * Vector::Unit(set.dim, i));
      result.push_back(-scale * Vector::Unit(set.dim, i));
    }
    for (int i = 0; i < 4; ++i) result.push_back(member(set, random, scale));
    if (!set.has_friction()) continue;
    // On the boundaries of the cone and of its polar, and just beside them.
    Vector edge = member(set, random, scale);
    edge[0] = edge.segment(1, set.kind == SetKind::cone ? set.dim - 1 : 2).norm() /
              std::max(set.mu, 1e-3);
    Vector polar = edge;
    polar[0] = -set.mu * edge.segment(1, set.kind == SetKind::cone ? set.dim - 1 : 2).norm();
    if (set.kind == SetKind::rolling_cone) {
      if (rolls(set)) polar[0] -= set.mu_rolling * edge.segment(3, 2).norm();
      if (spins(set)) polar[0] -= set.mu_spinning * std::abs(edge[spin_row(set)]);
    }
    for (const Vector& p : {edge, polar}) {
      result.push_back(p);
      Vector beside = p;
      beside[0] *= 1 + 1e-15;
      result.push_back(beside);
      beside[0] = p[0] * (1 - 1e-15);
      result.push_back(beside);
    }
    // A tangential part that is zero, or vanishes beside the normal part.
    for (const double normal : {scale, -scale}) {
      Vector p = Vector::Zero(set.dim);
      p[0] = normal;
      p[1] = 1e-20 * scale;
      result.push_back(p);
    }
  }
  return result;
}

double size_of(const ConvexSet& set, const Vector& z) {
  double size = static_cast<double>(wide(z).norm());
  for (const double bound : {set.lo, set.hi}) {
    if (std::isfinite(bound)) size += std::abs(bound);
  }
  return size;
}

// ---- projection

TEST(Projection, LandsInTheSet) {
  Random random(1);
  for (const ConvexSet& set : all_sets()) {
    for (const Vector& z : points(set, random)) {
      const Vector p = projected(set, z);
      ASSERT_TRUE(p.allFinite()) << describe(set, z);
      EXPECT_LE(violation(set, p), 4 * eps * size_of(set, z)) << describe(set, z);
    }
  }
}

TEST(Projection, KeepsTheMembersOfTheSet) {
  Random random(2);
  for (const ConvexSet& set : all_sets()) {
    for (const double scale : {1e-200, 1e-8, 1., 1e8, 1e150}) {
      for (int i = 0; i < 20; ++i) {
        const Vector y = member(set, random, scale);
        EXPECT_LE((wide(projected(set, y)) - wide(y)).norm(), 4 * eps * size_of(set, y))
            << describe(set, y);
      }
    }
  }
}

TEST(Projection, IsIdempotent) {
  Random random(3);
  for (const ConvexSet& set : all_sets()) {
    for (const Vector& z : points(set, random)) {
      const Vector p = projected(set, z);
      EXPECT_LE((wide(projected(set, p)) - wide(p)).norm(), 4 * eps * size_of(set, p))
          << describe(set, z);
    }
  }
}

TEST(Projection, MayOverwriteItsArgument) {
  Random random(4);
  for (const ConvexSet& set : all_sets()) {
    for (Vector& z : points(set, random)) {
      const Vector p = projected(set, z);
      project(set, z.data(), z.data());
      EXPECT_EQ(z, p) << describe(set, p);
    }
  }
}

TEST(Projection, IsNonExpansive) {
  Random random(5);
  for (const ConvexSet& set : all_sets()) {
    const std::vector<Vector> all = points(set, random);
    for (const Vector& a : all) {
      for (int i = 0; i < 10; ++i) {
        const double distance = std::pow(10., random.uniform(-10, 1));
        const Vector b = i % 2 == 0 ? all[random.integer(0, static_cast<int>(all.size()) - 1)]
                                    : Vector(a + distance * a.norm() * random.vector(set.dim));
        if (!b.allFinite()) continue;
        const Long moved = (wide(projected(set, a)) - wide(projected(set, b))).norm();
        const Long apart = (wide(a) - wide(b)).norm();
        EXPECT_LE(moved, apart + 8 * eps * (size_of(set, a) + size_of(set, b)))
            << describe(set, a) << " and " << b.transpose();
      }
    }
  }
}

TEST(Projection, SolvesItsVariationalInequality) {
  Random random(6);
  for (const ConvexSet& set : all_sets()) {
    for (const Vector& z : points(set, random)) {
      const LongVector p = wide(projected(set, z));
      const LongVector out = wide(z) - p;
      for (int i = 0; i < 20; ++i) {
        const double scale =
            z.norm() > 0 ? size_of(set, z) * std::pow(10., random.uniform(-3, 1)) : 1;
        const LongVector y = wide(member(set, random, scale));
        EXPECT_LE(out.dot(y - p), 16 * eps * size_of(set, z) * (y.norm() + p.norm()))
            << describe(set, z) << " against " << y.transpose();
      }
    }
  }
}

TEST(Projection, SplitsEveryPointAsMoreauDid) {
  // z = Π_K(z) − Π_K*(−z), the two orthogonal: with membership this characterises both projections.
  Random random(7);
  for (const ConvexSet& set : cones()) {
    for (const Vector& z : points(set, random)) {
      const LongVector primal = wide(projected(set, z));
      const Vector u = projected_dual(set, -z);
      const LongVector dual = wide(u);
      const Long size = wide(z).norm();
      EXPECT_LE((primal - dual - wide(z)).norm(), 4 * eps * size) << describe(set, z);
      EXPECT_LE(std::abs(primal.dot(dual)), 8 * eps * size * size) << describe(set, z);
      EXPECT_GE(dual.dot(hardest_member(set, u)), -8 * eps * size) << describe(set, z);
    }
  }
}

TEST(Projection, DualLandsInTheDual) {
  Random random(8);
  for (const ConvexSet& set : cones()) {
    for (const Vector& z : points(set, random)) {
      const Vector u = projected_dual(set, z);
      const Long tolerance = 8 * eps * wide(z).norm();
      EXPECT_GE(wide(u).dot(hardest_member(set, u)), -tolerance) << describe(set, z);
      for (int i = 0; i < 20; ++i) {
        const LongVector y = wide(member(set, random, 1));
        EXPECT_GE(wide(u).dot(y), -tolerance * y.norm()) << describe(set, z);
      }
      Vector overwritten = z;
      project_dual(set, overwritten.data(), overwritten.data());
      EXPECT_EQ(overwritten, u);
    }
  }
}

TEST(Projection, OnAConeScalesWithItsArgument) {
  Random random(9);
  for (const ConvexSet& set : cones()) {
    for (int i = 0; i < 30; ++i) {
      const Vector z = random.vector(set.dim);
      const Vector p = projected(set, z);
      // Powers of two, so that scaling itself rounds nothing.
      for (const double scale : {std::ldexp(1., -600), std::ldexp(1., 480)}) {
        EXPECT_LE((projected(set, scale * z) / scale - p).norm(), 4 * eps * z.norm())
            << describe(set, z) << " times " << scale;
      }
    }
  }
}

TEST(Projection, KnownPoints) {
  const auto on = [](const ConvexSet& set, std::initializer_list<double> z) {
    return projected(set, Eigen::Map<const Vector>(z.begin(), static_cast<Eigen::Index>(z.size())));
  };
  // μ = ¾: beside the cone, (0, 5) goes to s (1, ¾) with s = ¾·5/(1 + 9/16) = 2.4.
  EXPECT_LT((on(ConvexSet::cone(0.75), {0, 3, 4}) - Vec3(2.4, 1.08, 1.44)).norm(), 4 * eps);
  EXPECT_EQ(on(ConvexSet::cone(0.75), {-6, 3, 4}), Vec3(0, 0, 0));
  EXPECT_EQ(on(ConvexSet::cone(0.75), {8, 3, 4}), Vec3(8, 3, 4));
  // Rolling friction takes part only beyond its own bound.
  const ConvexSet rolling = ConvexSet::rolling_cone(0.75, 2);
  EXPECT_LT((on(rolling, {0, 3, 4, 0, 4}) - Vector{{2.4, 1.08, 1.44, 0, 4}}).norm(), 8 * eps);
  // Both bounds: n = (¾·5 + 2·10)/(1 + 9/16 + 4) = 23.75/5.5625.
  const double n = 23.75 / 5.5625;
  EXPECT_LT((on(rolling, {0, 3, 4, 6, 8}) -
             Vector{{n, 0.75 * n * 0.6, 0.75 * n * 0.8, 2 * n * 0.6, 2 * n * 0.8}})
                .norm(),
            16 * eps);
  // Spinning too: n = (¾·5 + 2·10 + ½·8)/(1 + 9/16 + 4 + ¼) = 27.75/5.8125 with all three bounds.
  const double all = 27.75 / 5.8125;
  EXPECT_LT((on(ConvexSet::rolling_cone(0.75, 2, 0.5), {0, 3, 4, 6, 8, -8}) -
             Vector{{all, 0.45 * all, 0.6 * all, 1.2 * all, 1.6 * all, -0.5 * all}})
                .norm(),
            16 * eps);
  // Only spinning breaks its bound: (0, 5) beside a cone of slope ¾.
  EXPECT_LT((on(ConvexSet::spinning_cone(2, 0.75), {0, 1, 0, 5}) - Vec4(2.4, 1, 0, 1.8)).norm(),
            8 * eps);
  EXPECT_EQ(on(ConvexSet::box(-1, infinity, 3), {-2, 0.5, 1e150}), Vec3(-1, 0.5, 1e150));
  EXPECT_EQ(on(ConvexSet::nonnegative(2), {-2, 3}), Eigen::Vector2d(0, 3));
}

TEST(Projection, WithoutFrictionTheConeIsARay) {
  for (const int dim : {2, 3}) {
    for (const double n : {-2., -1e-200, 0., 3.}) {
      for (const double t : {0., 1e-200, 0.7}) {
        Vector z = Vector::Zero(dim);
        z[0] = n;
        z[dim - 1] = t;
        const Vector p = projected(ConvexSet::cone(0, dim), z);
        EXPECT_EQ(p, Vector(std::max(n, 0.) * Vector::Unit(dim, 0))) << z.transpose();
      }
    }
  }
}

TEST(Projection, RollingConeWithoutOneOfItsTwoFrictionsIsAConeInTheOther) {
  Random random(10);
  for (int i = 0; i < 100; ++i) {
    const Vector z = random.vector(5);
    const Vector slide = projected(ConvexSet::rolling_cone(0.6, 0), z);
    EXPECT_LT((slide.head(3) - projected(ConvexSet::cone(0.6), z.head(3))).norm(), 4 * eps);
    EXPECT_EQ(slide.tail(2), Eigen::Vector2d(0, 0));
    const Vector roll = projected(ConvexSet::rolling_cone(0, 0.6), z);
    const Vector cone = projected(ConvexSet::cone(0.6), Vec3(z[0], z[3], z[4]));
    EXPECT_LT((Vec3(roll[0], roll[3], roll[4]) - cone).norm(), 4 * eps);
    EXPECT_EQ(roll.segment(1, 2), Eigen::Vector2d(0, 0));
  }
}

TEST(Projection, ConeWithSpinningEqualsTheOneWithoutWhereNothingSpins) {
  Random random(23);
  for (int i = 0; i < 100; ++i) {
    Vector z = random.vector(6);
    const Vector without_moment = projected(ConvexSet::rolling_cone(0.6, 0.3, 0), z);
    EXPECT_LT(
        (without_moment.head(5) - projected(ConvexSet::rolling_cone(0.6, 0.3), z.head(5))).norm(),
        4 * eps);
    EXPECT_EQ(without_moment[5], 0);
    const Vec4 spin(z[0], z[1], z[2], z[5]);
    const Vector without_rolling = projected(ConvexSet::rolling_cone(0.6, 0, 0.2), z);
    const Vector four = projected(ConvexSet::spinning_cone(0.6, 0.2), spin);
    EXPECT_LT((without_rolling.head(3) - four.head(3)).norm(), 4 * eps);
    EXPECT_NEAR(without_rolling[5], four[3], 4 * eps);
    // Alone, spinning is a cone in the plane.
    const Vector alone = projected(ConvexSet::spinning_cone(0, 0.2), spin);
    const Vector plane = projected(ConvexSet::cone(0.2, 2), Eigen::Vector2d(z[0], z[5]));
    EXPECT_LT((Eigen::Vector2d(alone[0], alone[3]) - plane).norm(), 4 * eps);
  }
}

// ---- distance

TEST(Distance, IsThatToTheProjection) {
  Random random(11);
  for (const ConvexSet& set : all_sets()) {
    for (const Vector& z : points(set, random)) {
      const Long expected = (wide(z) - wide(projected(set, z))).norm();
      EXPECT_LE(std::abs(distance(set, z.data()) - expected), 4 * eps * size_of(set, z))
          << describe(set, z);
      // No member is nearer.
      for (int i = 0; i < 5; ++i) {
        const LongVector y = wide(member(set, random, z.norm() > 0 ? size_of(set, z) : 1));
        EXPECT_LE(distance(set, z.data()), (wide(z) - y).norm() + 4 * eps * size_of(set, z));
      }
    }
  }
}

TEST(Distance, KeepsItsDigitsAtEveryMagnitude) {
  const ConvexSet cone = ConvexSet::cone(0.75);
  for (const double scale : {1e-200, 1e-100, 1., 1e100, 1e150}) {
    const Vec3 z = scale * Vec3(0, 3, 4);  // four fifths of 5
    EXPECT_NEAR(distance(cone, z.data()) / scale, 4, 16 * eps) << scale;
    const Vec3 apex = scale * Vec3(-12, 3, 4);
    EXPECT_NEAR(distance(cone, apex.data()) / scale, 13, 16 * eps) << scale;
  }
}

TEST(Distance, OfNotANumberIsNeverZero) {
  // A certificate that calls NaN feasible would be worse than none.
  for (const ConvexSet& set : all_sets()) {
    if (set.kind == SetKind::free)
      continue;  // its distance is zero wherever a point is; see the projection
    for (int i = 0; i < set.dim; ++i) {
      Vector z = Vector::Ones(set.dim);
      z[i] = nan;
      EXPECT_TRUE(std::isnan(distance(set, z.data()))) << describe(set, z);
      EXPECT_FALSE(projected(set, z).allFinite()) << describe(set, z);
    }
    const Vector z = Vector::Constant(set.dim, nan);
    EXPECT_TRUE(std::isnan(distance(set, z.data()))) << describe(set, z);
    EXPECT_FALSE(projected(set, z).allFinite()) << describe(set, z);
  }
  const Vec3 z(0, nan, 0);
  EXPECT_TRUE(std::isnan(distance(ConvexSet::free(3), z.data())));
  EXPECT_TRUE(std::isnan(de_saxce(ConvexSet::cone(0.5), z.data())));
}

// ---- support function

TEST(Support, OfABoxIsAttainedAtACorner) {
  Random random(12);
  for (const ConvexSet& set : boxes()) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      Vector y = random.vector(set.dim);
      if (repeat % 5 == 0) y[random.integer(0, set.dim - 1)] = 0;
      double best = -infinity;
      for (int corner = 0; corner < 1 << set.dim; ++corner) {
        double value = 0;
        for (int i = 0; i < set.dim; ++i) {
          const double bound = (corner >> i & 1) != 0 ? set.hi : set.lo;
          if (y[i] != 0) value += y[i] * bound;
        }
        // Corners with infinities of both signs are not the largest.
        if (!std::isnan(value)) best = std::max(best, value);
      }
      const double value = support(set, y.data());
      if (std::isinf(best)) {
        EXPECT_EQ(value, best) << describe(set, y);
      } else {
        EXPECT_NEAR(value, best, 8 * eps * (std::abs(best) + y.norm())) << describe(set, y);
      }
      for (int i = 0; i < 20; ++i) {
        const Vector member_point = member(set, random, 10);
        EXPECT_GE(value, y.dot(member_point) - 16 * eps * y.norm() * member_point.norm());
      }
    }
  }
}

TEST(Support, OfAConeIsZeroOnItsPolarAndInfiniteElsewhere) {
  Random random(13);
  int zeros = 0, infinities = 0;
  for (const ConvexSet& set : cones()) {
    for (int repeat = 0; repeat < 100; ++repeat) {
      Vector y = random.vector(set.dim);
      if (repeat % 2 == 0) {
        // Strictly inside the polar cone, where that has an inside.
        y = -projected_dual(set, y);
        if (set.has_friction()) y[0] -= 1e-9 * (1 + sum_of_bounds(set));
      }
      const Long steepest = wide(y).dot(hardest_member(set, -y));
      if (std::abs(steepest) < 1e-12 && y.norm() > 0 && set.has_friction()) continue;
      const double value = support(set, y.data());
      if (steepest > 0) {
        EXPECT_EQ(value, infinity) << describe(set, y);
        ++infinities;
      } else {
        EXPECT_EQ(value, 0) << describe(set, y);
        ++zeros;
        for (int i = 0; i < 20; ++i) {
          const Vector sample = member(set, random, 1);
          EXPECT_LE(y.dot(sample), 16 * eps * y.norm() * sample.norm()) << describe(set, y);
        }
      }
    }
  }
  EXPECT_GT(zeros, 500);
  EXPECT_GT(infinities, 500);
}

TEST(Support, IsAttainedAtTheProjection) {
  // z − Π(z) is normal to K at Π(z): Fenchel's equality, for sets that are not cones too.
  Random random(14);
  for (const ConvexSet& set : all_sets()) {
    for (int repeat = 0; repeat < 50; ++repeat) {
      const Vector z = 3 * random.vector(set.dim);
      const Vector p = projected(set, z);
      const Vector y = z - p;
      const double slack = 16 * eps * z.norm() * (1 + sum_of_bounds(set));
      EXPECT_NEAR(support(set, y.data(), slack), y.dot(p), 64 * eps * (1 + z.norm()) * z.norm())
          << describe(set, z);
    }
  }
}

TEST(Support, ForgivesWhatLiesWithinTheSlack) {
  const std::vector<ConvexSet> sets{ConvexSet::free(1), ConvexSet::nonnegative(),
                                    ConvexSet::box(-infinity, infinity),
                                    ConvexSet::box(0, infinity)};
  for (const ConvexSet& set : sets) {
    const double y = 1e-9;
    EXPECT_EQ(support(set, &y), infinity);
    EXPECT_EQ(support(set, &y, 1e-10), infinity);
    EXPECT_EQ(support(set, &y, 1e-8), 0);
  }
  const Vec3 y(-1 + 1e-9, 0, 2);  // μ‖y_T‖ = 1
  EXPECT_EQ(support(ConvexSet::cone(0.5), y.data()), infinity);
  EXPECT_EQ(support(ConvexSet::cone(0.5), y.data(), 1e-10), infinity);
  EXPECT_EQ(support(ConvexSet::cone(0.5), y.data(), 1e-8), 0);
  const Vector r{{-2 + 1e-9, 0, 2, 0, 4}};
  EXPECT_EQ(support(ConvexSet::rolling_cone(0.5, 0.25), r.data()), infinity);
  EXPECT_EQ(support(ConvexSet::rolling_cone(0.5, 0.25), r.data(), 1e-8), 0);
  // A bounded box has nothing to forgive.
  const double small = 1e-9;
  EXPECT_DOUBLE_EQ(support(ConvexSet::box(-2, 3), &small, 1e-8), 3e-9);
}

// ---- derivative of the projection

Matrix derivative(const ConvexSet& set, const Vector& z) {
  // Room for `dim` columns and no more, so that the address sanitizer sees any further one.
  std::vector<double> factor(static_cast<std::size_t>(set.dim) * set.dim, 99);
  const int rank = projection_derivative(set, z.data(), factor.data());
  EXPECT_GE(rank, 0);
  EXPECT_LE(rank, set.dim);
  const Eigen::Map<const Matrix> C(factor.data(), set.dim, rank);
  return C * C.transpose();
}

// Distance to the nearest place where the projection may have a kink, over-cautious.
double kink_distance(const ConvexSet& set, const Vector& z) {
  switch (set.kind) {
    case SetKind::free:
      return infinity;
    case SetKind::nonnegative:
      return z.cwiseAbs().minCoeff();
    case SetKind::box:
      return std::min((z.array() - set.lo).abs().minCoeff(), (z.array() - set.hi).abs().minCoeff());
    case SetKind::cone: {
      const double t = z.tail(set.dim - 1).norm();
      const double slope = std::sqrt(1 + set.mu * set.mu);
      return std::min(
          {t, std::abs(t - set.mu * z[0]) / slope, std::abs(z[0] + set.mu * t) / slope});
    }
    case SetKind::rolling_cone: {
      // Kinks lie where a part vanishes, at the apex, and where the point found with some bounds
      // meets another bound.
      std::vector<std::pair<double, double>> parts{{z.segment(1, 2).norm(), set.mu}};
      if (rolls(set)) parts.emplace_back(z.segment(3, 2).norm(), set.mu_rolling);
      if (spins(set)) parts.emplace_back(std::abs(z[spin_row(set)]), set.mu_spinning);
      double least = infinity;
      for (std::size_t active = 0; active < (1U << parts.size()); ++active) {
        double n = z[0], weight = 1;
        for (std::size_t k = 0; k < parts.size(); ++k) {
          if ((active >> k & 1U) == 0) continue;
          n += parts[k].second * parts[k].first;
          weight += parts[k].second * parts[k].second;
        }
        least = std::min(least, std::abs(n) / std::sqrt(weight));
        for (std::size_t k = 0; k < parts.size(); ++k) {
          const auto [t, mu] = parts[k];
          least = std::min(least, t);
          if ((active >> k & 1U) == 0)
            least =
                std::min(least, std::abs(t - mu * n / weight) / std::sqrt(1 + mu * mu / weight));
        }
      }
      return least;
    }
  }
  return 0;
}

TEST(ProjectionDerivative, IsSymmetricWithEigenvaluesFromZeroToOne) {
  Random random(15);
  for (const ConvexSet& set : all_sets()) {
    for (const Vector& z : points(set, random)) {
      const Matrix D = derivative(set, z);
      ASSERT_TRUE(D.allFinite()) << describe(set, z);
      EXPECT_LT((D - D.transpose()).norm(), 4 * eps);
      const Vector eigenvalues = Eigen::SelfAdjointEigenSolver<Matrix>(D).eigenvalues();
      EXPECT_GE(eigenvalues.minCoeff(), -8 * eps) << describe(set, z);
      EXPECT_LE(eigenvalues.maxCoeff(), 1 + 8 * eps) << describe(set, z);
    }
  }
}

TEST(ProjectionDerivative, AgreesWithFiniteDifferencesAwayFromKinks) {
  Random random(16);
  for (const ConvexSet& set : all_sets()) {
    // With friction 10⁶ the pieces beside the cone are thin, and random points must be aimed at
    // them.
    const double stretch = std::max({1., set.mu, set.mu_rolling, set.mu_spinning});
    int checked = 0;
    for (int repeat = 0; repeat < 400 && checked < 60; ++repeat) {
      Vector z = random.vector(set.dim);
      if (set.kind == SetKind::box) z *= 3;
      if (set.has_friction() && repeat % 2 == 0) z[0] /= stretch;
      const double h = 1e-6;
      if (kink_distance(set, z) < 100 * h) continue;
      Matrix difference(set.dim, set.dim);
      for (int i = 0; i < set.dim; ++i) {
        const Vector step = h * Vector::Unit(set.dim, i);
        difference.col(i) = (projected(set, z + step) - projected(set, z - step)) / (2 * h);
      }
      EXPECT_LT((derivative(set, z) - difference).norm(), 1e-5) << describe(set, z);
      ++checked;
    }
    const bool point = set.kind == SetKind::box && set.lo == set.hi;
    EXPECT_GE(checked, point ? 1 : 30) << describe(set, Vector::Zero(set.dim));
  }
}

TEST(ProjectionDerivative, TimesThePointIsTheProjectionOnACone) {
  // Euler's identity of a homogeneous map; it survives the limit, so it holds at kinks as well.
  Random random(17);
  for (const ConvexSet& set : cones()) {
    for (const Vector& z : points(set, random)) {
      const LongVector product = derivative(set, z).cast<Long>() * wide(z);
      EXPECT_LE((product - wide(projected(set, z))).norm(), 16 * eps * wide(z).norm())
          << describe(set, z);
    }
  }
}

TEST(ProjectionDerivative, AtAKinkIsALimitOfDerivatives) {
  Random random(18);
  std::vector<std::pair<ConvexSet, Vector>> kinks;
  for (const double mu : {0., 0.5, 2.}) {
    const ConvexSet cone = ConvexSet::cone(mu);
    for (const Vec3& z : {Vec3(0, 0, 0), Vec3(1, 0, 0), Vec3(-1, 0, 0), Vec3(0, 1, 0),
                          Vec3(1, mu, 0), Vec3(-mu, 0, 1), Vec3(5, 0, -5 * mu)}) {
      kinks.emplace_back(cone, z);
    }
    for (const double rolling : {0., 0.25}) {
      const ConvexSet set = ConvexSet::rolling_cone(mu, rolling);
      for (const Vector& z :
           {Vector{{0., 0, 0, 0, 0}}, Vector{{1., 0, 0, 0, 0}}, Vector{{-1., 0, 0, 0, 0}},
            Vector{{1., mu, 0, 0, 0}}, Vector{{1., 0, 0, rolling, 0}},
            Vector{{1., mu, 0, 0, rolling}}, Vector{{1., 3, 0, 0, 0}}, Vector{{1., 0, 0, 2, 0}},
            Vector{{-mu - rolling, 1., 0, 1, 0}}}) {
        kinks.emplace_back(set, z);
      }
      const ConvexSet spinning = ConvexSet::rolling_cone(mu, rolling, 0.1);
      for (const Vector& z : {Vector{{1., mu, 0, 0, rolling, 0.1}}, Vector{{1., 0, 0, 0, 0, -0.1}},
                              Vector{{1., mu, 0, 0, 0, 0.3}}, Vector{{1., 3, 0, 2, 0, 0}},
                              Vector{{-mu - rolling - 0.1, 1., 0, 1, 0, 1}}}) {
        kinks.emplace_back(spinning, z);
      }
    }
  }
  for (const double z : {-1., 0., 2.}) {
    kinks.emplace_back(ConvexSet::nonnegative(), Vector::Constant(1, z));
    kinks.emplace_back(ConvexSet::box(-1, 2), Vector::Constant(1, z));
    kinks.emplace_back(ConvexSet::box(2, 2), Vector::Constant(1, z));
  }
  for (const auto& [set, z] : kinks) {
    const Matrix D = derivative(set, z);
    double nearest = infinity;
    for (int i = 0; i < 4000 && nearest > 1e-5; ++i) {
      const Matrix beside = derivative(set, z + 1e-7 * random.vector(set.dim));
      nearest = std::min(nearest, (beside - D).norm());
    }
    // At the apex derivatives depend on direction, so that samples come only near.
    EXPECT_LT(nearest, z.norm() > 0 ? 1e-5 : 0.2) << describe(set, z) << "\n" << D;
  }
}

TEST(ProjectionDerivative, WithoutFrictionNoTangentialForceCanAppear) {
  const Vec3 pressed(1, 0, 0), slipping(1, 0.3, 0), open(-1, 0, 0);
  const Matrix normal_only = Vec3::UnitX().asDiagonal();
  EXPECT_EQ(derivative(ConvexSet::cone(0), pressed), normal_only);
  EXPECT_EQ(derivative(ConvexSet::cone(0), slipping), normal_only);
  EXPECT_EQ(derivative(ConvexSet::cone(0), open), Matrix::Zero(3, 3));
  Vector z = Vector::Zero(5);
  z[0] = 1;
  EXPECT_EQ(derivative(ConvexSet::rolling_cone(0, 0.5), z),
            Matrix(Vector{{1, 0, 0, 1, 1}}.asDiagonal()));
  EXPECT_EQ(derivative(ConvexSet::rolling_cone(0.5, 0), z),
            Matrix(Vector{{1, 1, 1, 0, 0}}.asDiagonal()));
}

// ---- De Saxcé

TEST(DeSaxce, TurnsSignorinisConditionIntoTheDualCone) {
  // u + (μ‖u_T‖ + μ_r‖u_R‖) n is in K* exactly when the normal velocity is not negative.
  Random random(19);
  for (const ConvexSet& set : cones()) {
    if (!set.has_friction()) continue;
    for (int repeat = 0; repeat < 50; ++repeat) {
      Vector u = random.vector(set.dim);
      u[0] = repeat % 2 == 0 ? std::abs(u[0]) + 1e-3 : -std::abs(u[0]) - 1e-3;
      Vector corrected = u;
      corrected[0] += de_saxce(set, u.data());
      // Times the length that hardest_member divided by, this is u_N itself.
      const Long product = wide(corrected).dot(hardest_member(set, corrected));
      const Long length = 1 / hardest_member(set, corrected)[0];
      EXPECT_NEAR(static_cast<double>(product * length), u[0],
                  8 * eps * (1 + sum_of_bounds(set)) * u.norm())
          << describe(set, u);
      EXPECT_EQ(product > 0, u[0] > 0);
    }
  }
}

TEST(DeSaxce, IsZeroWithoutFriction) {
  Random random(20);
  for (const ConvexSet& set : all_sets()) {
    const Vector u = random.vector(set.dim);
    const bool none = !set.has_friction() || sum_of_bounds(set) == 0;
    EXPECT_EQ(de_saxce(set, u.data()) == 0, none) << describe(set, u);
  }
}

TEST(DeSaxce, KnownValues) {
  const Vector u{{-9, 3, 4, 6, -8}};
  EXPECT_DOUBLE_EQ(de_saxce(ConvexSet::cone(0.5), u.data()), 2.5);
  EXPECT_DOUBLE_EQ(de_saxce(ConvexSet::cone(0.5, 2), u.data()), 1.5);
  EXPECT_DOUBLE_EQ(de_saxce(ConvexSet::rolling_cone(0.5, 0.1), u.data()), 3.5);
  const Vector six{{-9, 3, 4, 6, -8, -2}};
  EXPECT_DOUBLE_EQ(de_saxce(ConvexSet::rolling_cone(0.5, 0.1, 0.25), six.data()), 4);
  EXPECT_DOUBLE_EQ(de_saxce(ConvexSet::spinning_cone(0.5, 0.25), six.data()), 4);
}

// ---- products

SetProduct product_of(const std::vector<ConvexSet>& sets) {
  SetProduct K;
  for (const ConvexSet& set : sets) K.push_back(set);
  return K;
}

TEST(SetProduct, DoesBlockByBlockWhatItsSetsDo) {
  Random random(21);
  const SetProduct K = product_of(all_sets());
  const SetProduct C = product_of(cones());
  for (const double scale : {1e-200, 1., 1e150}) {
    const Vector z = scale * random.vector(K.rows());
    Vector p = Vector::Constant(1, 99);
    project(K, z, p);
    ASSERT_EQ(p.size(), K.rows());
    Long squares = 0;
    for (int i = 0; i < K.blocks(); ++i) {
      const Vector block = z.segment(K.start[i], K.sets[i].dim);
      EXPECT_EQ(p.segment(K.start[i], K.sets[i].dim), projected(K.sets[i], block));
      const Long d = distance(K.sets[i], block.data());
      squares += d * d;
    }
    const double expected = static_cast<double>(std::sqrt(squares));
    EXPECT_NEAR(distance(K, z) / expected, 1, 1e-13) << scale;

    const Vector u = scale * random.vector(C.rows());
    Vector dual;
    project_dual(C, u, dual);
    Long distances = 0;
    for (int i = 0; i < C.blocks(); ++i) {
      const Long d = distance(C.sets[i], u.data() + C.start[i]);
      distances += d * d;
    }
    EXPECT_NEAR(distance(C, u) / static_cast<double>(std::sqrt(distances)), 1, 1e-13) << scale;
    Vector corrected;
    add_de_saxce(C, u, corrected);
    for (int i = 0; i < C.blocks(); ++i) {
      Vector block = u.segment(C.start[i], C.sets[i].dim);
      EXPECT_EQ(dual.segment(C.start[i], C.sets[i].dim), projected_dual(C.sets[i], block));
      block[0] += de_saxce(C.sets[i], block.data());
      EXPECT_EQ(corrected.segment(C.start[i], C.sets[i].dim), block);
    }
  }
}

TEST(SetProduct, MayOverwriteItsArgument) {
  Random random(22);
  const SetProduct K = product_of(cones());
  const Vector z = random.vector(K.rows());
  Vector p, in_place = z;
  project(K, z, p);
  project(K, in_place, in_place);
  EXPECT_EQ(in_place, p);
  in_place = z;
  project_dual(K, z, p);
  project_dual(K, in_place, in_place);
  EXPECT_EQ(in_place, p);
  in_place = z;
  add_de_saxce(K, z, p);
  add_de_saxce(K, in_place, in_place);
  EXPECT_EQ(in_place, p);
}

TEST(SetProduct, SupportAdds) {
  const SetProduct K =
      product_of({ConvexSet::box(-1, 2), ConvexSet::cone(0.5), ConvexSet::box(0, 3, 2)});
  const Vector y{{-4, -1, 0, 1, 2, -5}};
  EXPECT_DOUBLE_EQ(support(K, y), 4 + 0 + 6);
  Vector outside = y;
  outside[1] = -0.5 + 1e-9;
  EXPECT_EQ(support(K, outside), infinity);
  EXPECT_DOUBLE_EQ(support(K, outside, 1e-8), 10);
}

TEST(SetProduct, DistanceOfNotANumberIsNotANumber) {
  const SetProduct K = product_of({ConvexSet::nonnegative(), ConvexSet::cone(0.5)});
  EXPECT_TRUE(std::isnan(distance(K, Vec4(-1, nan, 0, 0))));
  EXPECT_TRUE(std::isnan(distance(K, Vec4(nan, 1, 0, 0))));
}

TEST(SetProduct, KnowsItsShapeAndKind) {
  const SetProduct empty;
  EXPECT_EQ(empty.rows(), 0);
  EXPECT_TRUE(empty.is_linear());
  EXPECT_FALSE(empty.has_friction());
  const SetProduct joints = product_of({ConvexSet::free(6), ConvexSet::free(5)});
  EXPECT_EQ(joints.rows(), 11);
  EXPECT_TRUE(joints.is_linear());
  const SetProduct limits = product_of({ConvexSet::free(6), ConvexSet::nonnegative(2)});
  EXPECT_EQ(limits.start, (std::vector<int>{0, 6, 8}));
  EXPECT_FALSE(limits.is_linear());
  EXPECT_FALSE(limits.has_friction());
  const SetProduct rolling = product_of({ConvexSet::box(-1, 1), ConvexSet::rolling_cone(0.5, 0.1)});
  EXPECT_FALSE(rolling.is_linear());
  EXPECT_TRUE(rolling.has_friction());
  EXPECT_TRUE(product_of({ConvexSet::cone(0.5)}).has_friction());
}

}  // namespace
}  // namespace urto
