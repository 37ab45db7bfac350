// How contacts move over their bodies, against differences of contacts found beside.
#include "urto/collision/contact_curvature.h"

#include <cmath>

#include <gtest/gtest.h>

#include "collision/lying_pairs.h"

namespace urto {
namespace {

using namespace urto::testing;

// What the bodies' motion v does to a contact: by its rates, and by differences of `find`.
struct RatesSeen {
  ContactMotion by_rates, by_differences;
};

enum class By { find, remeasure };

const Contact* same_feature(const std::vector<Contact>& all, const Contact& c) {
  const Contact* best = nullptr;
  for (const Contact& other : all) {
    if (other.feature != c.feature || other.shape_a != c.shape_a) continue;
    if (best == nullptr || (other.point - c.point).norm() < (best->point - c.point).norm()) {
      best = &other;
    }
  }
  return best;
}

// False where the contact is another one beside.
bool see_rates(const MovingPair& p, const Contact& c, const Vector& v, By by, double time,
               RatesSeen& out) {
  ContactFinder finder(p.model);
  const ContactRates rates = contact_rates(contact_curvature(finder, p.state, c));
  const Vec3 a = surface_point(c, true), b = surface_point(c, false);
  const Vec3 va = point_velocity(p, v, c.body_a, a), vb = point_velocity(p, v, c.body_b, b);
  out.by_rates =
      contact_motion(rates, turning_of(p, v, c.body_a), turning_of(p, v, c.body_b), va - vb);
  std::array<Contact, 2> beside;
  for (int k = 0; k < 2; ++k) {
    const State there = p.moved(v, k == 0 ? time : -time);
    std::vector<Contact> all{c};
    if (by == By::find) {
      finder.find(there, c.gap + 0.01, 0, all);
    } else {
      finder.remeasure(there, all);
    }
    const Contact* twin = same_feature(all, c);
    if (twin == nullptr) return false;
    const bool follows = c.followed || is_always_followed(c.anchor);
    if (by == By::remeasure && twin->followed != follows) return false;
    beside[k] = *twin;
  }
  const auto rate = [&](const Vec3& there, const Vec3& back) -> Vec3 {
    return (there - back) / (2 * time);
  };
  const auto across = [&](const Vec3& x) -> Vec3 { return x - c.normal * c.normal.dot(x); };
  ContactMotion& seen = out.by_differences;
  seen.normal = rate(beside[0].normal, beside[1].normal);
  seen.point_a = across(rate(surface_point(beside[0], true), surface_point(beside[1], true)) - va);
  seen.point_b =
      across(rate(surface_point(beside[0], false), surface_point(beside[1], false)) - vb);
  return true;
}

double difference(const RatesSeen& r) {
  const double scale = 1 + r.by_differences.normal.norm() + r.by_differences.point_a.norm() +
                       r.by_differences.point_b.norm();
  return ((r.by_rates.normal - r.by_differences.normal).norm() +
          (r.by_rates.point_a - r.by_differences.point_a).norm() +
          (r.by_rates.point_b - r.by_differences.point_b).norm()) /
         scale;
}

// Of all contacts of a pair, in ten motions.
double worst_difference(const MovingPair& p, double envelope) {
  Random random(23);
  double worst = 0;
  const std::vector<Contact> contacts = p.contacts(envelope);
  EXPECT_FALSE(contacts.empty());
  for (const Contact& c : contacts) {
    for (int k = 0; k < 10; ++k) {
      RatesSeen seen;
      EXPECT_TRUE(see_rates(p, c, random_motion(random), By::find, 2e-5, seen));
      worst = std::max(worst, difference(seen));
    }
  }
  return worst;
}

Shape solid(ShapeKind kind, const Vec3& size, double margin = 0) {
  Shape s{.kind = kind, .size = size};
  s.margin = margin;
  return s;
}

// Turned as given; the first is brought to the gap.
double worst_at(const Shape& first, const Shape& second, const Vec3& turn_a, const Vec3& turn_b,
                const Vec3& from, double gap) {
  MovingPair p(first, second, pair_meshes());
  p.set_rotation(0, quaternion_exp(turn_a));
  p.set_rotation(1, quaternion_exp(turn_b));
  p.set_position(0, from);
  p.bring_together(gap);
  return worst_difference(p, std::max(gap, 0.0) + 1e-6);
}

const Shape plane = solid(ShapeKind::half_space, Vec3::Zero());
const Shape ball = solid(ShapeKind::sphere, {0.4, 0, 0});
const Shape egg = solid(ShapeKind::ellipsoid, {0.3, 0.5, 0.8});
const Shape other_egg = solid(ShapeKind::ellipsoid, {0.6, 0.35, 0.9});
const Shape crate = solid(ShapeKind::box, {0.3, 0.4, 0.5});
constexpr std::array gaps{0.0, 0.1, -0.02};

TEST(ContactCurvature, OfTwoSpheres) {
  for (const double gap : gaps) {
    EXPECT_LT(worst_at(ball, solid(ShapeKind::sphere, {0.7, 0, 0}), {1, 2, 3}, {-1, 0, 1},
                       {1, 2, 3}, gap),
              1e-7);
  }
}

TEST(ContactCurvature, OfASphereOnAPlane) {
  for (const double gap : gaps) {
    EXPECT_LT(worst_at(ball, plane, {1, 2, 3}, {0.3, 0.2, 0}, {0, 0, 3}, gap), 1e-7);
  }
}

TEST(ContactCurvature, OfAnEllipsoidOnAPlane) {
  for (const double gap : gaps) {
    EXPECT_LT(worst_at(egg, plane, {1, 2, 3}, {0.3, 0.2, 0}, {0, 0, 3}, gap), 1e-7);
  }
}

TEST(ContactCurvature, OfTwoEllipsoids) {
  for (const double gap : gaps) {
    EXPECT_LT(worst_at(egg, other_egg, {1, 2, 3}, {0.3, 0.2, 0}, {1, 0.5, 2}, gap), 1e-6);
  }
}

TEST(ContactCurvature, OfACapsuleAndASphere) {
  const Shape capsule = solid(ShapeKind::capsule, {0.2, 0.6, 0});
  for (const double gap : gaps) {
    EXPECT_LT(worst_at(capsule, ball, {1, 2, 3}, {0.3, 0.2, 0}, {1, 0.2, 1}, gap), 1e-7);
    EXPECT_LT(worst_at(capsule, ball, {0, 0.1, 0}, {0.3, 0.2, 0}, {1, 0.2, 0.1}, gap), 1e-7);
    EXPECT_LT(worst_at(capsule, capsule, {0, 1, 0}, {0.3, 0.2, 0}, {0.1, 2, 0.1}, gap), 1e-7);
  }
}

TEST(ContactCurvature, OfACylinderThatLeansOnAPlane) {
  const Shape drum = solid(ShapeKind::cylinder, {0.4, 0.6, 0});
  for (const double lean : {0.02, 0.5, 1.2}) {
    EXPECT_LT(worst_at(drum, plane, {lean, 0, 0.3}, {0.3, 0.2, 0}, {0, 0, 3}, 0.1), 1e-5);
  }
}

TEST(ContactCurvature, OfACylinderThatLiesOnAPlane) {
  for (const double margin : {0.0, 0.05}) {
    const Shape drum = solid(ShapeKind::cylinder, {0.4, 0.6, 0}, margin);
    EXPECT_LT(worst_at(drum, plane, {M_PI / 2, 0, 0}, {0, 0, 0}, {0, 0, 3}, 0.1), 1e-7);
  }
}

TEST(ContactCurvature, OfSidesOfCylinderAndCone) {
  const Shape drum = solid(ShapeKind::cylinder, {0.4, 0.6, 0});
  const Shape cone = solid(ShapeKind::cone, {0.5, 0.6, 0});
  for (const double gap : gaps) {
    EXPECT_LT(worst_at(drum, ball, {0.3, 0, 0.3}, {0, 0, 0}, {2, 0, 0.1}, gap), 1e-6);
    EXPECT_LT(worst_at(cone, ball, {0.3, 0, 0.3}, {0, 0, 0}, {2, 0, 0.1}, gap), 1e-6);
  }
}

TEST(ContactCurvature, OfAVertexOnAFace) {
  for (const double margin : {0.0, 0.05}) {
    Shape block = crate;
    block.margin = margin;
    const Shape slab = solid(ShapeKind::box, {3, 3, 0.2});
    EXPECT_LT(worst_at(block, plane, {1, 2, 3}, {0.3, 0.2, 0}, {0, 0, 3}, 0.1), 1e-7);
    EXPECT_LT(worst_at(block, slab, {1, 2, 3}, {0.3, 0.2, 0}, {0, 0, 3}, 0.1), 1e-7);
    EXPECT_LT(worst_at(slab, block, {0.3, 0.2, 0}, {1, 2, 3}, {0, 0, 3}, -0.01), 1e-7);
  }
}

TEST(ContactCurvature, OfAnEdgeOnASphere) {
  for (const double margin : {0.0, 0.05}) {
    Shape block = crate;
    block.margin = margin;
    EXPECT_LT(worst_at(block, ball, {0, 0, M_PI / 4}, {0.3, 0.2, 0}, {2, 0, 0}, 0.1), 1e-7);
    EXPECT_LT(worst_at(block, ball, {0.3, 0.4, 0.5}, {0.3, 0.2, 0}, {2, 2, 2}, 0.1), 1e-7);
  }
}

TEST(ContactCurvature, OfTwoEdgesThatCross) {
  for (const double margin : {0.0, 0.05}) {
    Shape bar = solid(ShapeKind::box, {0.2, 0.2, 2}, margin);
    for (const double gap : {0.1, 0.001, -0.01}) {
      // Both on edge, along x and nearly along y.
      const Vec4 lie =
          quaternion_product(quaternion_exp({0, M_PI / 2, 0}), quaternion_exp({0, 0, M_PI / 4}));
      MovingPair p(bar, bar);
      p.set_rotation(0, lie);
      p.set_rotation(1, quaternion_product(quaternion_exp({0.05, 0.02, 1.4}), lie));
      p.set_position(0, {0, 0, 2});
      p.bring_together(gap);
      EXPECT_LT(worst_difference(p, std::max(gap, 0.0) + 1e-6), 1e-6) << margin << " " << gap;
    }
  }
}

// Differences of random pairs have kinks beside, and what iterations leave over: most must agree.
TEST(ContactCurvature, OfEveryPairAsItIsMeasuredAgain) {
  constexpr std::array kinds{ShapeKind::sphere,   ShapeKind::box,        ShapeKind::capsule,
                             ShapeKind::cylinder, ShapeKind::cone,       ShapeKind::ellipsoid,
                             ShapeKind::hull,     ShapeKind::half_space, ShapeKind::mesh};
  Random random(31);
  for (const ShapeKind a : kinds) {
    if (a == ShapeKind::half_space) continue;
    for (const ShapeKind b : kinds) {
      int seen_count = 0, off = 0;
      for (int k = 0; k < 40; ++k) {
        const MovingPair p = random_moving_pair(random, a, b);
        for (const Contact& c : p.contacts(0.1)) {
          RatesSeen seen;
          if (!see_rates(p, c, random_motion(random), By::remeasure, 2e-4, seen)) continue;
          ++seen_count;
          if (difference(seen) > 1e-3) ++off;
        }
      }
      SCOPED_TRACE(std::string(to_string(a)) + " on " + std::string(to_string(b)));
      EXPECT_GE(seen_count, 38);
      const bool exact = a == ShapeKind::sphere || b == ShapeKind::sphere;
      EXPECT_LE(off, exact ? 0 : seen_count / 5) << "of " << seen_count;
    }
  }
}

// Ends of lines: nothing of them is found by iterations, and kinks lie only where lines end.
TEST(ContactCurvature, OfTheEndsOfLinesThatLieAlongEachOther) {
  for (const Lying line : lying_lines) {
    for (const Lying support : lying_supports) {
      if (!bears(line, support)) continue;
      Random random(32);
      int seen_count = 0, off = 0;
      for (int k = 0; k < 40; ++k) {
        const LyingPair pair(random, line, support);
        const MovingPair p = pair.moving(std::pow(10, random.uniform(-4, -1.5)) * random.normal(),
                                         {random.uniform(-0.2, 0.2), 0.002, 0.01});
        for (const Contact& c : p.contacts(0.1)) {
          RatesSeen seen;
          const Vector v = random_motion(random);
          if (!c.own_normal || !see_rates(p, c, v, By::remeasure, 1e-6, seen)) continue;
          ++seen_count;
          if (difference(seen) > 1e-3) ++off;
        }
      }
      EXPECT_LE(off, seen_count / 20)
          << to_string(line) << " on " << to_string(support) << ", of " << seen_count;
    }
  }
}

TEST(ContactCurvature, TangentsOfTheFrameTurnAsTheirSpinSays) {
  Random random(2);
  for (int k = 0; k < 100; ++k) {
    const Vec3 n = random.unit(), turn = random.normal(), dn = turn.cross(n);
    const double time = 1e-6;
    const Mat3 frame = contact_frame(n);
    const Mat3 rate = (contact_frame((n + time * dn).normalized()) -
                       contact_frame((n - time * dn).normalized())) /
                      (2 * time);
    const double w = frame_spin(n, dn);
    const Vec3 t1 = -n * frame.col(1).dot(dn) + w * frame.col(2);
    const Vec3 t2 = -n * frame.col(2).dot(dn) - w * frame.col(1);
    EXPECT_LT((rate.col(1) - t1).norm() + (rate.col(2) - t2).norm(), 1e-8);
  }
}

}  // namespace
}  // namespace urto
