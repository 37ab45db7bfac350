// A pile of capsules of 50 mm at steps in which they turn by up to a tenth of a radian.
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

/// Capsules of 5 mm radius in a box, in any directions, each above another.
Model capsules_over_a_box(int count, unsigned seed) {
  std::mt19937 engine(seed);
  const auto between = [&](double a, double b) { return a + (b - a) * engine() * 0x1p-32; };
  constexpr double wide = 0.16, apart = 0.052;
  Model m = empty_model();
  m.materials[0].friction = 0.5;
  add_floor(m);
  for (const Vec3& inwards : {Vec3(1, 0, 0), Vec3(-1, 0, 0), Vec3(0, 1, 0), Vec3(0, -1, 0)}) {
    const Mat3 frame = contact_frame(inwards);
    Mat3 world;
    world << frame.col(1), frame.col(2), frame.col(0);
    add_floor(m, {.position = -wide * inwards, .rotation = quaternion_from_matrix(world)});
  }
  const Shape capsule{.kind = ShapeKind::capsule, .size = {0.005, 0.02, 0}};
  const MassProperties p = mass_properties(capsule.kind, capsule.size, 1000);
  const int along = static_cast<int>(2 * wide / apart);
  for (int k = 0; k < count; ++k) {
    const Vec3 cell(k / along % along, k % along, k / (along * along));
    const Vec3 at =
        apart * (cell + Vec3(0.5, 0.5, 0.54)) - Vec3(0.5 * apart * along, 0.5 * apart * along, 0);
    const int body = add_rigid(m, "capsule-" + std::to_string(k), at, p.mass, p.inertia);
    const double turn = between(0, 3);
    const double x = between(-1, 1), y = between(-1, 1), z = between(-1, 1);
    m.bodies[body].start.rotation = quaternion_exp(turn * Vec3(x, y, z).normalized());
    m.shapes.push_back(capsule);
    m.shapes.back().body = body;
  }
  finalize(m);
  return m;
}

double worst_overlap(int count, unsigned seed, double step) {
  const Model m = capsules_over_a_box(count, seed);
  Simulation run(m, {.duration = 0.6, .step = step});
  run_to_end(run);
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_EQ(run.checkpoint().missed, 0);
  EXPECT_LT(run.energy().numerical(), 0.001 * run.energy().start);
  return run.checkpoint().worst_penetration;
}

// The gap of two capsules that cross at a small angle bends shut by up to 400 m/s² as they turn
// with 60 rad/s: ½κh² is 0.8 mm of their 10 mm at 2 ms, and a quarter at half the step. More is
// there where what the steps miss adds up, because overlaps are pushed out by 1 cm/s only: then it
// was 0.9 and 1.0 mm with the first two seeds, and 0.6 mm at half the step.
TEST(Pile, CapsulesOverlapByWhatOneStepMissesOfTheirCurvature) {
  for (const unsigned seed : {1U, 2U, 3U}) EXPECT_LT(worst_overlap(60, seed, 2e-3), 0.8e-3) << seed;
  EXPECT_LT(worst_overlap(60, 1, 1e-3), 0.4e-3);
}

}  // namespace
}  // namespace urto
