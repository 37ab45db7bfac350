// A thousand random drops: energy is lost or kept, never won.
#include <gtest/gtest.h>

#include "collision/pairs.h"
#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr std::array kinds{ShapeKind::sphere,   ShapeKind::capsule, ShapeKind::box,
                           ShapeKind::cylinder, ShapeKind::cone,    ShapeKind::ellipsoid,
                           ShapeKind::hull};

Model random_drop(Random& random) {
  Model m = empty_model();
  add_floor(m);
  std::vector<Vec3> points;
  for (int k = 0; k < 10; ++k) points.emplace_back(random.uniform(0.05, 0.15) * random.unit());
  m.meshes.push_back(convex_hull(points));
  const MassProperties stone = mass_properties(m.meshes[0], 1000);
  for (Vec3& v : m.meshes[0].vertices) v -= stone.center;
  m.materials[0].friction = random.uniform(0, 1);
  m.materials[0].restitution = random.integer(0, 1) * random.uniform(0, 0.9);
  const int count = random.integer(1, 3);
  for (int k = 0; k < count; ++k) {
    const ShapeKind kind = kinds[random.integer(0, 6)];
    Shape shape{.kind = kind, .pose = {}};
    MassProperties p = stone;
    if (kind == ShapeKind::hull) {
      shape.geometry = 0;
    } else {
      shape.size = {random.uniform(0.05, 0.15), random.uniform(0.05, 0.15),
                    random.uniform(0.05, 0.15)};
      p = mass_properties(kind, shape.size, 1000);
    }
    const int body =
        add_rigid(m, "", {random.uniform(-0.1, 0.1), random.uniform(-0.1, 0.1), 0.35 + 0.45 * k},
                  p.mass, p.inertia);
    m.bodies[body].start.rotation = quaternion_exp(random.normal());
    m.bodies[body].velocity = {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-2, 0)};
    m.bodies[body].angular_velocity = 5 * random.normal();
    shape.body = body;
    m.shapes.push_back(shape);
  }
  finalize(m);
  return m;
}

TEST(Drops, EnergyNeverGrows) {
  Random random(31);
  double worst = 0;
  long missed = 0;
  for (int round = 0; round < 1000; ++round) {
    const Model m = random_drop(random);
    Simulation run(m, {.duration = 0.5});
    run.start();
    double last = run.energy().total();
    const double scale = last;
    while (run.advance()) {
      worst = std::max(worst, (run.energy().total() - last) / scale);
      last = run.energy().total();
    }
    missed += run.checkpoint().missed;
    ASSERT_EQ(run.run_state(), RunState::finished) << round << ": " << run.failure();
  }
  EXPECT_LT(worst, 1e-6);
  EXPECT_EQ(missed, 0);
}

}  // namespace
}  // namespace urto
