// Threads share all of a step: where shapes are, pairs, rows, assembly, islands, certificate,
// energy audit. The number of threads changes the time, not a bit of any of it.
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/collision/contact.h"
#include "urto/error.h"

namespace urto {
namespace {

using namespace urto::testing;

// So many that every phase has more than one share: boxes and balls that were thrown on the floor,
// each with a ball on top and off its axis, some sticky, some soft, some that rebound; pendulums.
Model crowd(int pairs) {
  Model m = empty_model();
  m.materials = {{.name = "plain", .friction = 0.5},
                 {.name = "lively", .friction = 0.3, .restitution = 0.6},
                 {.name = "sticky", .friction = 0.4, .cohesion = 2},
                 {.name = "soft", .friction = 0.4, .stiffness = 1e5, .damping = 50},
                 {.name = "rough", .friction = 0.4, .rolling_friction = 2e-3}};
  m.mixing.cohesion = MixingRule::maximum;
  add_floor(m);
  std::mt19937 engine(20);
  std::uniform_real_distribution<double> random(-1, 1);
  for (int k = 0; k < pairs; ++k) {
    const Vec3 at{0.6 * (k % 25), 0.6 * (k / 25), 0.1};
    const int lower = k % 3 == 0 ? add_cube(m, "", at, 0.2, 1) : add_ball(m, "", at, 0.1, 1);
    m.shapes.back().material = k % 5;
    const int upper = add_ball(m, "", at + Vec3{0.01 * random(engine), 0.02, 0.199}, 0.1, 0.5);
    m.shapes.back().material = k / 5 % 5;
    for (const int body : {lower, upper}) {
      for (int i = 0; i < 3; ++i) {
        m.bodies[body].velocity[i] = 0.3 * random(engine);
        m.bodies[body].angular_velocity[i] = 2 * random(engine);
      }
    }
    if (k % 50 == 0) {
      const int rod = add_rigid(m, "", at + Vec3{0.3, 0, 2}, 1, 0.1 * Mat3::Identity());
      join(m, "", JointKind::revolute, 0, rod, at + Vec3{0, 0, 2}, Vec3::UnitY());
    }
  }
  finalize(m);
  return m;
}

SimulationOptions options(int threads) {
  SimulationOptions o;
  o.duration = 1;
  o.threads = threads;
  return o;
}

template <class Numbers>
void expect_same_bits(const Numbers& a, const Numbers& b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(*a.data())), 0) << what;
}

std::vector<double> numbers_of(const StepReport& r) {
  const Certificate& c = r.certificate;
  return {c.momentum,
          c.natural_map,
          c.natural_map_absolute,
          c.natural_map_scaled,
          c.penetration,
          c.cone_violation,
          c.dissipation,
          c.complementarity,
          c.objective,
          c.duality_gap,
          static_cast<double>(c.worst_block),
          r.energy.supplied,
          r.energy.friction,
          r.energy.impact,
          r.energy.damping,
          r.energy.drive,
          r.energy.defect,
          r.energy.recovery,
          r.stored,
          r.penetration,
          r.joint_error,
          static_cast<double>(r.active),
          static_cast<double>(r.limited_rebounds)};
}

std::vector<double> numbers_of(const std::vector<Contact>& contacts) {
  std::vector<double> out;
  for (const Contact& c : contacts) {
    out.insert(out.end(), {static_cast<double>(c.shape_a), static_cast<double>(c.shape_b), c.gap,
                           static_cast<double>(c.id >> 20), static_cast<double>(c.id & 0xfffff),
                           static_cast<double>(c.material)});
    for (const Vec3& x : {c.point, c.normal, c.arm, c.anchor.a, c.anchor.b})
      out.insert(out.end(), x.data(), x.data() + 3);
  }
  return out;
}

TEST(Crowd, ThreadCountDoesNotChangeABitOfAStep) {
  const Model m = crowd(750);
  Simulation one(m, options(1)), two(m, options(2)), three(m, options(3));
  one.start();
  ASSERT_GT(m.slots * 6, 8192);  // shares of vectors
  std::vector<Simulation*> others{&three};
#ifndef URTO_SANITIZED  // twenty times slower, and two threads race no more than three
  others.push_back(&two);
#endif
  for (Simulation* many : others) many->start();
  for (int step = 0; step < 2; ++step) {
    ASSERT_TRUE(one.advance());
    for (Simulation* many : others) {
      ASSERT_TRUE(many->advance());
      expect_same_bits(one.state().q, many->state().q, "q");
      expect_same_bits(one.state().v, many->state().v, "v");
      expect_same_bits(one.impulses(), many->impulses(), "impulses");
      expect_same_bits(one.rows().J.values, many->rows().J.values, "J");
      expect_same_bits(one.rows().g, many->rows().g, "g");
      expect_same_bits(one.rows().ids, many->rows().ids, "ids");
      expect_same_bits(one.problem()->b, many->problem()->b, "b");
      expect_same_bits(one.problem()->a, many->problem()->a, "a");
      expect_same_bits(numbers_of(one.report()), numbers_of(many->report()), "report");
      expect_same_bits(numbers_of(one.contacts()), numbers_of(many->contacts()), "contacts");
    }
  }
  EXPECT_GT(one.contacts().size(), 1000U);
  EXPECT_GT(one.report().active, 0);
}

// Measured again somewhere else: the pairs of a range are those that begin in it.
TEST(Crowd, ContactsMeasuredAgainAreTheSameForAnyNumberOfThreads) {
  const Model m = crowd(200);
  State s = initial_state(m);
  ContactFinder one(m), many(m);
  ThreadPool pool(3);
  many.use_threads(&pool);
  std::vector<Contact> alone, shared;
  one.find(s, 0.02, 1e-3, alone);
  many.find(s, 0.02, 1e-3, shared);
  ASSERT_GT(alone.size(), 400U);
  expect_same_bits(numbers_of(alone), numbers_of(shared), "found");
  EXPECT_EQ(one.counts().tested_pairs, many.counts().tested_pairs);
  s.q.array() += 1e-4;
  one.remeasure(s, alone);
  many.remeasure(s, shared);
  expect_same_bits(numbers_of(alone), numbers_of(shared), "measured again");
}

// The first body that has no place, whichever thread meets one first.
TEST(Crowd, TheFirstPoseThatIsNoNumberIsNamed) {
  Model m = crowd(400);
  for (int k = 1; k < static_cast<int>(m.bodies.size()); ++k)
    m.bodies[k].name = "body " + std::to_string(k);
  ThreadPool pool(3);
  ContactFinder finder(m);
  finder.use_threads(&pool);
  State s = initial_state(m);
  for (const int body : {790, 520, 300}) s.q[7 * m.bodies[body].slot] = NAN;
  std::vector<Contact> contacts;
  for (int k = 0; k < 20; ++k) {
    try {
      finder.find(s, 0.01, 1e-3, contacts);
      FAIL() << "accepted";
    } catch (const InputError& e) {
      EXPECT_NE(std::string(e.what()).find("body 300"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace urto
