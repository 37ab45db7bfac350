// Thin capsules poured into a box: most of what touches lies nearly along each other.
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double radius = 0.005, half_length = 0.02, half_width = 0.08;

/// Capsules of 50 mm, turned anyhow, in layers over the floor of a box.
Model poured(int count) {
  Model m = empty_model();
  add_floor(m);
  for (const Vec3& inward : {Vec3(1, 0, 0), Vec3(-1, 0, 0), Vec3(0, 1, 0), Vec3(0, -1, 0)}) {
    const Vec3 turn = 0.5 * M_PI * Vec3::UnitZ().cross(inward);
    add_floor(m, {.position = -half_width * inward, .rotation = quaternion_exp(turn)});
  }
  const Shape capsule{.kind = ShapeKind::capsule, .size = {radius, half_length, 0}};
  const MassProperties p = mass_properties(capsule.kind, capsule.size, 1000);
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  for (int k = 0; k < count; ++k) {
    const double spacing = 0.052;
    const Vec3 at(spacing * (k % 3 - 1), spacing * (k / 3 % 3 - 1), 0.03 + spacing * (k / 9));
    const int body = add_rigid(m, "", at, p.mass, p.inertia);
    const double x = normal(engine), y = normal(engine), z = normal(engine);
    m.bodies[body].start.rotation = quaternion_exp({x, y, z});
    m.shapes.push_back(capsule);
    m.shapes.back().body = body;
  }
  m.materials = {{.name = "stone", .friction = 0.4}};
  finalize(m);
  return m;
}

double deepest_overlap(const Model& m, double step) {
  Simulation run(m, {.duration = 0.4, .step = step});
  run.start();
  while (run.advance()) {
  }
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  return run.checkpoint().worst_penetration;
}

// One point a pair that jumps from end to end let capsules 10 mm thick sink 5 mm into each other.
TEST(CapsulePile, OverlapsByLessThanATenthOfTheirThickness) {
  EXPECT_LT(deepest_overlap(poured(60), 2e-3), 0.1 * 2 * radius);
}

}  // namespace
}  // namespace urto
