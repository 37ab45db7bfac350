// Contacts of whole models: gaps, normals, identities, filters and materials.
#include "urto/collision/contact.h"

#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/error.h"

namespace urto {
namespace {

using namespace urto::testing;

std::vector<Contact> contacts_of(const Model& m, double envelope, double h = 0) {
  ContactFinder finder(m);
  std::vector<Contact> out;
  finder.find(initial_state(m), envelope, h, out);
  return out;
}

TEST(ContactFinder, SpheresMeetOnTheLineOfTheirCentres) {
  Model m = empty_model();
  add_ball(m, "a", {0, 0, 1}, 0.1, 1);
  add_ball(m, "b", {0.15, 0.2, 1}, 0.13, 1);
  finalize(m);
  const auto found = contacts_of(m, 0.05);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].gap, 0.25 - 0.23, 1e-15);
  // From B to A: towards the first ball.
  EXPECT_LT((found[0].normal - Vec3(-0.6, -0.8, 0)).norm(), 1e-15);
  EXPECT_LT((found[0].point - Vec3(0.6 * 0.11, 0.8 * 0.11, 1)).norm(), 1e-15);
}

TEST(ContactFinder, BoxTouchesAHalfSpaceWithTheCornersThatAreNear) {
  Model m = empty_model();
  add_floor(m);
  add_cube(m, "cube", {0, 0, 0.499}, 1, 1);
  finalize(m);
  const auto flat = contacts_of(m, 0.01);
  ASSERT_EQ(flat.size(), 4U);
  for (const Contact& c : flat) EXPECT_NEAR(c.gap, -0.001, 1e-15);
  m.bodies[1].start.rotation = quaternion_exp({0.1, 0, 0});
  finalize(m);
  EXPECT_EQ(contacts_of(m, 0.01).size(), 2U);
}

TEST(ContactFinder, ApproachingBodiesBecomeContactsBeforeTheyMeet) {
  Model m = empty_model();
  add_floor(m);
  const int ball = add_ball(m, "ball", {0, 0, 1.1}, 0.1, 1);
  m.bodies[ball].velocity = {0, 0, -100};
  finalize(m);
  EXPECT_TRUE(contacts_of(m, 1e-3, 1e-3).empty());
  EXPECT_EQ(contacts_of(m, 1e-3, 1e-2).size(), 1U);
}

TEST(ContactFinder, IdsStayWhileBodiesMoveAndAreSorted) {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 30; ++k) add_ball(m, "", {0.19 * (k % 6), 0.19 * (k / 6), 0.1}, 0.1, 1);
  finalize(m);
  ContactFinder finder(m);
  State s = initial_state(m);
  std::vector<Contact> before, after;
  finder.find(s, 0.01, 0, before);
  for (int k = 0; k < m.slots; ++k)
    s.q[7 * k] = -s.q[7 * k];  // a mirror image: the order along x is reversed
  finder.find(s, 0.01, 0, after);
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t k = 0; k < before.size(); ++k) {
    EXPECT_EQ(before[k].id, after[k].id);
    if (k > 0) {
      EXPECT_LT(before[k - 1].id, before[k].id);
    }
  }
}

TEST(ContactFinder, AgreesWithAllPairs) {
  Model m = empty_model();
  std::uint32_t seed = 7;
  const auto random = [&] { return (seed = seed * 1664525U + 1013904223U) / 4294967296.0; };
  for (int k = 0; k < 200; ++k)
    add_ball(m, "", {random(), random(), random()}, 0.02 + 0.05 * random(), 1);
  finalize(m);
  const State s = initial_state(m);
  int expected = 0;
  for (int a = 0; a < 200; ++a) {
    for (int b = a + 1; b < 200; ++b) {
      const double gap = (s.q.segment<3>(7 * a) - s.q.segment<3>(7 * b)).norm() -
                         m.shapes[a].size[0] - m.shapes[b].size[0];
      expected += gap <= 0.01 ? 1 : 0;
    }
  }
  EXPECT_GT(expected, 50);
  EXPECT_EQ(static_cast<int>(contacts_of(m, 0.01).size()), expected);
}

TEST(ContactFinder, JoinedBodiesDoNotTouchUnlessAsked) {
  Model m = empty_model();
  const int a = add_ball(m, "a", {0, 0, 0}, 0.1, 1);
  const int b = add_ball(m, "b", {0.15, 0, 0}, 0.1, 1);
  const int joint = join(m, "hinge", JointKind::revolute, a, b, {0.075, 0, 0});
  finalize(m);
  EXPECT_TRUE(contacts_of(m, 0.01).empty());
  m.joints[joint].collide = true;
  EXPECT_EQ(contacts_of(m, 0.01).size(), 1U);
}

TEST(ContactFinder, ShapesMeetOnlyIfBothWantTo) {
  Model m = empty_model();
  add_floor(m);
  const int a = add_ball(m, "a", {0, 0, 0.1}, 0.1, 1);
  const int b = add_ball(m, "b", {0.15, 0, 0.1}, 0.1, 1);
  finalize(m);
  Shape& ball_a = m.shapes[1];
  Shape& ball_b = m.shapes[2];
  const auto count = [&] { return contacts_of(m, 0.01).size(); };
  EXPECT_EQ(count(), 3U);
  ball_a.layers = 2;
  EXPECT_EQ(count(), 3U);
  ball_b.mask = ~2U;  // b does not want a: one side is enough
  EXPECT_EQ(count(), 2U);
  ball_a.mask = 2;  // a wants its own layer only: not the floor either
  EXPECT_EQ(count(), 1U);
  ball_b.collides = false;
  EXPECT_EQ(count(), 0U);
  ball_a.mask = ball_b.mask = ~0U;
  ball_b.collides = true;
  m.excluded = {{b, a}};
  EXPECT_EQ(count(), 2U);
  m.excluded.push_back({0, a});
  m.excluded.push_back({b, 0});
  EXPECT_EQ(count(), 0U);
}

TEST(ContactFinder, ConcentricSpheresGetSomeNormal) {
  Model m = empty_model();
  add_ball(m, "a", Vec3::Zero(), 0.1, 1);
  add_ball(m, "b", Vec3::Zero(), 0.2, 1);
  finalize(m);
  const auto found = contacts_of(m, 0);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_DOUBLE_EQ(found[0].normal.norm(), 1);
  EXPECT_NEAR(found[0].gap, -0.3, 1e-15);
}

TEST(ContactFinder, PosesThatAreNotNumbersAreRefusedByName) {
  Model m = empty_model();
  add_cube(m, "crate", {0, 0, 1}, 1, 1);
  add_ball(m, "ball", {0, 0, 3}, 0.1, 1);
  finalize(m);
  ContactFinder finder(m);
  std::vector<Contact> found;
  State s = initial_state(m);
  s.q[9] = std::nan("");
  try {
    finder.find(s, 0.01, 0, found);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("body 'ball': found a position or velocity that is"),
              std::string::npos)
        << error.what();
  }
}

TEST(ContactFinder, PairPropertiesOverrideTheMix) {
  Model m = empty_model();
  m.materials = {{.name = "ice", .friction = 0.02}, {.name = "rubber", .friction = 0.9}};
  add_floor(m);
  add_ball(m, "a", {0, 0, 0.1}, 0.1, 1);
  m.shapes[1].material = 1;
  finalize(m);
  {
    ContactFinder finder(m);
    std::vector<Contact> found;
    finder.find(initial_state(m), 0.01, 0, found);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_NEAR(finder.materials()[found[0].material].friction, std::sqrt(0.02 * 0.9), 1e-15);
  }
  m.material_pairs.push_back(
      {.a = 0, .b = 1, .properties = {.name = "measured", .friction = 0.07}});
  ContactFinder finder(m);
  std::vector<Contact> found;
  finder.find(initial_state(m), 0.01, 0, found);
  EXPECT_EQ(finder.materials()[found[0].material].friction, 0.07);
}

}  // namespace
}  // namespace urto
