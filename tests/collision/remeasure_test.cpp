// Contacts found at one state and measured at another.
#include <cmath>

#include <gtest/gtest.h>

#include "collision/lying_pairs.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr std::array first_kinds{ShapeKind::sphere,   ShapeKind::box,  ShapeKind::capsule,
                                 ShapeKind::cylinder, ShapeKind::cone, ShapeKind::ellipsoid,
                                 ShapeKind::hull,     ShapeKind::mesh};
constexpr std::array second_kinds{
    ShapeKind::sphere, ShapeKind::box,         ShapeKind::capsule, ShapeKind::cylinder,
    ShapeKind::cone,   ShapeKind::ellipsoid,   ShapeKind::hull,    ShapeKind::half_space,
    ShapeKind::mesh,   ShapeKind::height_field};

// A corner inside a mesh is met once for each edge of the surface that it is between, each time
// with another normal: contacts of other triangles are the same contact only if they agree about
// it.
bool is_twin(const Contact& c, const Contact& other) {
  if (other.feature != c.feature || other.shape_a != c.shape_a) return false;
  const bool same_triangles = other.triangle_a == c.triangle_a && other.triangle_b == c.triangle_b;
  return same_triangles || (c.normal - other.normal).norm() < 1e-4;
}

// How far a contact is from the nearest one that is its twin; infinite without one.
double distance_to_twin(const Contact& c, const std::vector<Contact>& all) {
  double least = std::numeric_limits<double>::infinity();
  for (const Contact& other : all) {
    if (!is_twin(c, other)) continue;
    least = std::min(least, std::abs(c.gap - other.gap) + (c.point - other.point).norm() +
                                (c.normal - other.normal).norm());
  }
  return least;
}

struct Tally {
  int contacts = 0, measured = 0, persisting = 0;
  double worst = 0;
};

void compare_with_find(const MovingPair& p, const State& there, Tally& tally) {
  constexpr double envelope = 0.1;
  ContactFinder finder(p.model);
  std::vector<Contact> found, fresh;
  finder.find(p.state, envelope, 0, found);
  finder.find(there, envelope + 0.05, 0, fresh);
  std::vector<Contact> again = found;
  finder.remeasure(there, again);
  ASSERT_EQ(again.size(), found.size());
  for (std::size_t k = 0; k < again.size(); ++k) {
    const Contact& c = again[k];
    ++tally.contacts;
    EXPECT_EQ(c.id, found[k].id);
    EXPECT_EQ(c.feature, found[k].feature);
    EXPECT_EQ(c.material, found[k].material);
    EXPECT_NEAR(c.normal.norm(), 1, 1e-12);
    const double off = distance_to_twin(c, fresh);
    if (!c.followed) ++tally.measured;
    if (is_always_followed(c.anchor)) {
      EXPECT_TRUE(c.followed);
    } else if (off < 0.01 && !c.followed) {
      ++tally.persisting;
      tally.worst = std::max(tally.worst, off);
    }
  }
}

TEST(Remeasure, AnotherStateIsMeasuredAsFindWouldThere) {
  for (const ShapeKind a : first_kinds) {
    for (const ShapeKind b : second_kinds) {
      Random random(17);
      Tally tally;
      const bool on_mesh = b == ShapeKind::height_field ||
                           (a == ShapeKind::mesh && b != ShapeKind::half_space) ||
                           b == ShapeKind::mesh;
      for (int k = 0; k < 200; ++k) {
        const MovingPair p = random_moving_pair(random, a, b);
        compare_with_find(p, p.moved(random_motion(random), 1e-3), tally);
      }
      SCOPED_TRACE(std::string(to_string(a)) + " on " + std::string(to_string(b)));
      EXPECT_GT(tally.contacts, 130);
      EXPECT_GT(tally.persisting, (on_mesh ? 0.75 : 0.9) * tally.measured);
      EXPECT_LT(tally.worst, 1e-9);
    }
  }
}

// Bodies that lie on each other along lines, turned a little: every end is found again by its name.
TEST(Remeasure, EndsOfLinesAreMeasuredAsFindWouldThere) {
  for (const Lying line : lying_lines) {
    for (const Lying support : lying_supports) {
      if (!bears(line, support)) continue;
      Random random(18);
      Tally tally;
      for (int k = 0; k < 100; ++k) {
        const LyingPair pair(random, line, support);
        const MovingPair p = pair.moving(std::pow(10, random.uniform(-7, -1.5)) * random.normal(),
                                         {random.uniform(-0.2, 0.2), 0.002, 0.005});
        compare_with_find(p, p.moved(random_motion(random), 1e-3), tally);
      }
      SCOPED_TRACE(to_string(line) + " on " + to_string(support));
      EXPECT_GT(tally.contacts, 150);
      EXPECT_GT(tally.persisting, 0.9 * tally.measured);
      EXPECT_LT(tally.worst, 1e-9);
    }
  }
}

TEST(Remeasure, TheSameStateGivesTheSameContacts) {
  Random random(3);
  for (const ShapeKind a : first_kinds) {
    for (const ShapeKind b : second_kinds) {
      for (int k = 0; k < 10; ++k) {
        const MovingPair p = random_moving_pair(random, a, b);
        ContactFinder finder(p.model);
        std::vector<Contact> found;
        finder.find(p.state, 0.1, 0, found);
        std::vector<Contact> again = found;
        // The way there and back leaves no trace.
        finder.remeasure(p.moved(random_motion(random), 0.1), again);
        finder.remeasure(p.state, again);
        for (std::size_t i = 0; i < found.size(); ++i) {
          SCOPED_TRACE(std::string(to_string(a)) + " on " + std::string(to_string(b)));
          EXPECT_EQ(again[i].id, found[i].id);
          EXPECT_NEAR(again[i].gap, found[i].gap, 1e-9);
          EXPECT_LT((again[i].normal - found[i].normal).norm(), 1e-9);
          EXPECT_LT((again[i].point - found[i].point).norm(), 1e-9);
        }
      }
    }
  }
}

TEST(Remeasure, TwoMeshesMeetWhereTheirTrianglesAre) {
  Shape crate{.kind = ShapeKind::mesh, .size = Vec3::Zero()};
  crate.geometry = 0;
  MovingPair p(crate, crate, {crate_mesh({0.5, 0.5, 0.5})});
  p.set_position(0, {0.2, 0.3, 1.01});
  const std::vector<Contact> contacts = p.contacts(0.02);
  EXPECT_EQ(contacts.size(), 4U);
  for (const Contact& c : contacts) {
    EXPECT_NEAR(c.gap, 0.01, 1e-12);
    EXPECT_NEAR(c.point[2], 0.505, 1e-12);
    EXPECT_NEAR(std::abs(c.normal[2]), 1, 1e-12);
  }
}

TEST(Remeasure, AFollowedGapChangesAsItsRowsSay) {
  Random random(11);
  for (const ShapeKind a : first_kinds) {
    for (const ShapeKind b : second_kinds) {
      for (int k = 0; k < 20; ++k) {
        const MovingPair p = random_moving_pair(random, a, b);
        ContactFinder finder(p.model);
        std::vector<Contact> found;
        finder.find(p.state, 0.1, 0, found);
        const Vector v = random_motion(random);
        for (const Contact& c : found) {
          const double rate = c.normal.dot(point_velocity(p, v, c.body_a, c.point) -
                                           point_velocity(p, v, c.body_b, c.point));
          for (const double time : {1e-3, 1e-4}) {
            Contact followed = c;
            finder.place_colliders(p.moved(v, time), 0);
            follow_anchor(finder.collider(c.shape_a), finder.collider(c.shape_b), followed);
            EXPECT_NEAR(followed.gap, c.gap + rate * time, 60 * time * time);
          }
        }
      }
    }
  }
}

TEST(Remeasure, AVertexThatLeavesItsFaceIsFollowedOverIt) {
  Shape small{.kind = ShapeKind::box, .size = {0.1, 0.1, 0.1}}, large = small;
  large.size = {1, 1, 1};
  MovingPair p(small, large);
  p.set_position(0, {0.895, 0, 1.101});
  ContactFinder finder(p.model);
  std::vector<Contact> contacts;
  finder.find(p.state, 0.01, 0, contacts);
  ASSERT_EQ(contacts.size(), 4U);
  Vector v = Vector::Zero(12);
  v[0] = 0.01;  // two corners pass the edge
  v[2] = 0.002;
  v[3] = 0.003;  // while it turns
  const State there = p.moved(v, 1);
  finder.remeasure(there, contacts);
  int followed = 0;
  for (const Contact& c : contacts) {
    followed += c.followed ? 1 : 0;
    const bool is_a = c.body_a == 0;
    // The height of the corner over the top of the large box.
    const Vec3 local = is_a ? c.anchor.a : c.anchor.b;
    const Vec3 x = place(p.model, there, 0).x + place(p.model, there, 0).A * local;
    EXPECT_NEAR(c.gap, x[2] - 1, 1e-14);
    EXPECT_NEAR(std::abs(c.normal[2]), 1, 1e-14);
    EXPECT_NEAR(c.point[0], x[0], 1e-14);
  }
  EXPECT_EQ(followed, 2);
}

TEST(Remeasure, ForeseenContactsKeepTheirMaterialPoints) {
  Shape ball{.kind = ShapeKind::sphere, .size = {0.1, 0, 0}};
  Shape wall{.kind = ShapeKind::box, .size = {0.01, 1, 1}};
  MovingPair p(ball, wall);
  p.model.bodies[0].continuous = true;
  p.set_position(0, {-1, 0.1, 0.2});
  p.state.v.segment<3>(0) = Vec3(100, 1, 0);
  ContactFinder finder(p.model);
  std::vector<Contact> contacts;
  finder.find(p.state, 0.01, 0.02, contacts);
  ASSERT_EQ(contacts.size(), 1U);
  const Contact found = contacts[0];
  EXPECT_TRUE(found.anchor.foreseen);
  finder.remeasure(p.state, contacts);
  EXPECT_NEAR(contacts[0].gap, found.gap, 1e-14);
  EXPECT_LT((contacts[0].arm - found.arm).norm(), 1e-14);
  Vector v = Vector::Zero(12);
  v.segment<3>(0) = Vec3(0.8, 0.008, 0);
  finder.remeasure(p.moved(v, 1), contacts);
  const double sign = found.body_a == 0 ? 1 : -1;
  EXPECT_NEAR(contacts[0].gap, found.gap + sign * 0.8 * found.normal[0], 1e-14);
  EXPECT_LT((contacts[0].normal - found.normal).norm(), 1e-15);
}

}  // namespace
}  // namespace urto
