// Random models of all shapes at scales from 1e-3 to 1e3: nothing crashes, no contact is missed
// against brute force.
#include <algorithm>

#include <gtest/gtest.h>

#include "collision/pairs.h"
#include "stepper/scenes.h"
#include "urto/collision/contact.h"
#include "urto/error.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr std::array kinds{ShapeKind::sphere,   ShapeKind::capsule, ShapeKind::box,
                           ShapeKind::cylinder, ShapeKind::cone,    ShapeKind::ellipsoid,
                           ShapeKind::hull};

Model random_crowd(Random& random, double scale, int count) {
  Model m = empty_model();
  std::vector<Vec3> points;
  for (int k = 0; k < 12; ++k) points.emplace_back(scale * random.uniform(0.3, 1) * random.unit());
  m.meshes.push_back(convex_hull(points));
  if (random.integer(0, 1) == 0) add_floor(m);
  if (random.integer(0, 1) == 0) {
    std::vector<double> heights(49);
    for (double& z : heights) z = scale * random.uniform(-0.3, 0.3);
    m.meshes.push_back(height_field(heights, 7, scale, scale));
    m.shapes.push_back({.kind = ShapeKind::height_field, .pose = {}, .body = 0, .geometry = 1});
  }
  for (int k = 0; k < count; ++k) {
    // Now and then about one centre, or exactly aligned.
    const bool same = k > 0 && random.integer(0, 5) == 0;
    const Vec3 at = same ? m.bodies.back().start.position : Vec3(1.5 * scale * random.normal());
    const int body = add_rigid(m, "", at, 1, Mat3::Identity());
    if (random.integer(0, 3) != 0) m.bodies[body].start.rotation = quaternion_exp(random.normal());
    if (random.integer(0, 2) == 0) m.bodies[body].velocity = scale * random.normal();
    if (random.integer(0, 2) == 0) m.bodies[body].angular_velocity = random.normal();
    m.bodies[body].continuous = random.integer(0, 4) == 0;
    const ShapeKind kind = kinds[random.integer(0, 6)];
    Shape shape{.kind = kind, .pose = {}, .body = body};
    if (kind == ShapeKind::hull) {
      shape.geometry = 0;
    } else {
      shape.size = scale * std::pow(10, random.uniform(-1, 0.3)) *
                   Vec3(random.uniform(0.05, 1), random.uniform(0.05, 1), random.uniform(0.05, 1));
    }
    shape.pose.position =
        random.integer(0, 3) == 0 ? Vec3(0.2 * scale * random.normal()) : Vec3(Vec3::Zero());
    m.shapes.push_back(shape);
  }
  finalize(m);
  return m;
}

struct BruteForce {
  double gap = 1e300;
  /// A surface has a front. Not seen for sure: a solid whose origin lies behind the triangle that
  /// it is deepest in.
  bool certain = true;
};

/// Every pair of solids, every triangle of a surface; a half-space by its lowest point.
BruteForce brute_force(const Collider& a, const Collider& b) {
  if (a.half_space || a.surface != nullptr) return brute_force(b, a);
  if (b.half_space) {
    const Vec3 n = b.place.R.col(2);
    return {n.dot(a.place.x - b.place.x) - extreme(a.convex, -(a.place.R.transpose() * n)) -
            a.convex.radius};
  }
  if (b.surface == nullptr) return {closest(a.convex, a.place, b.convex, b.place).gap};
  BruteForce out;
  for (int t = 0; t < static_cast<int>(b.surface->mesh().triangles.size()); ++t) {
    const Place at{b.place.x + b.place.R * b.surface->center(t), b.place.R};
    const double gap = closest(a.convex, a.place, b.surface->triangle(t), at).gap;
    if (gap >= out.gap) continue;
    const Vec3 front = b.place.R * b.surface->normal(t);
    out = {gap, front.dot(a.place.x - at.x) > 0};
  }
  return out;
}

TEST(CollisionFuzz, NoContactIsMissed) {
  Random random(21);
  long contacts = 0, planes = 0, surfaces = 0, solids = 0;
  const int rounds = std::max(40, many_pairs / 100);
  for (int round = 0; round < rounds; ++round) {
    const double scale = std::pow(10, random.uniform(-3, 3));
    const Model m = random_crowd(random, scale, 25);
    ContactFinder finder(m);
    std::vector<Contact> found;
    const State state = initial_state(m);
    const double envelope = 0.02 * scale;
    finder.find(state, envelope, 0, found);
    contacts += static_cast<long>(found.size());
    for (std::size_t k = 1; k < found.size(); ++k) ASSERT_LT(found[k - 1].id, found[k].id);
    for (const Contact& c : found) {
      ASSERT_TRUE(c.point.allFinite() && std::isfinite(c.gap)) << round;
      ASSERT_NEAR(c.normal.norm(), 1, 1e-9) << round;
    }
    const auto& all = finder.colliders();
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = i + 1; j < all.size(); ++j) {
        const Collider &a = all[i], &b = all[j];
        if (!finder.may_touch(a.shape, b.shape)) continue;
        const auto [gap, certain] = brute_force(a, b);
        if (std::abs(gap - envelope) < 1e-6 * scale) continue;
        const bool listed = std::any_of(found.begin(), found.end(), [&](const Contact& k) {
          return (k.shape_a == a.shape && k.shape_b == b.shape) ||
                 (k.shape_a == b.shape && k.shape_b == a.shape);
        });
        const bool expected = gap < envelope;
        if (certain || !expected) {
          ASSERT_EQ(listed, expected) << round << ": " << i << " " << j << " gap " << gap;
        }
        if (!certain || !expected) continue;
        const bool surface = a.surface != nullptr || b.surface != nullptr;
        ++(a.half_space || b.half_space ? planes : surface ? surfaces : solids);
      }
    }
  }
  EXPECT_GT(contacts, rounds);
  EXPECT_GT(std::min({planes, surfaces, solids}), rounds / 4);
}

TEST(CollisionFuzz, MovingCrowdsAreSeenTheSameTwice) {
  Random random(22);
  for (int round = 0; round < many_pairs / 1000; ++round) {
    const Model m = random_crowd(random, std::pow(10, random.uniform(-3, 3)), 20);
    ContactFinder first(m), second(m);
    std::vector<Contact> a, b;
    State state = initial_state(m);
    for (int step = 0; step < 5; ++step) {
      const double h = 0.02;
      first.find(state, 1e-3, h, a);
      if (step % 2 == 0) second.find(state, 1e-3, h, b);  // another history
      if (step % 2 == 0) {
        ASSERT_EQ(a.size(), b.size()) << round;
        for (std::size_t k = 0; k < a.size(); ++k) {
          ASSERT_EQ(a[k].id, b[k].id);
          ASSERT_EQ(a[k].gap, b[k].gap);
          ASSERT_EQ(a[k].point, b[k].point);
        }
      }
      add_increment(m, state.q, h * state.v, state.q);
    }
  }
}

TEST(CollisionFuzz, NumbersThatAreNotAreRefused) {
  Random random(23);
  for (int round = 0; round < 50; ++round) {
    const Model m = random_crowd(random, 1, 5);
    ContactFinder finder(m);
    std::vector<Contact> found;
    State state = initial_state(m);
    state.q[random.integer(0, static_cast<int>(state.q.size()) - 1)] =
        round % 2 == 0 ? std::nan("") : INFINITY;
    EXPECT_THROW(finder.find(state, 1e-3, 0.01, found), InputError) << round;
  }
}

}  // namespace
}  // namespace urto
