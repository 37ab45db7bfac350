// A thousand random drops: energy is lost or kept, never won.
#include <gtest/gtest.h>

#include "collision/pairs.h"
#include "stepper/scenes.h"
#include "urto/model/triangle_mesh.h"

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

/// The most energy that contacts gave in a step, and the most there was above that of the start, relative to it.
struct Gains {
  double contacts = 0, above_start = 0;
  long missed = 0;
};

Gains drop_all(double recovery_speed) {
  Random random(31);
  Gains most;
  for (int round = 0; round < 1000; ++round) {
    const Model m = random_drop(random);
    SimulationOptions options{.duration = 0.5};
    options.stepper.recovery_speed = recovery_speed;
    Simulation run(m, options);
    run.start();
    const double start = run.energy().total();
    while (run.advance()) {
      const EnergyFlow& flow = run.report().energy;
      most.contacts = std::max(most.contacts, -(flow.impact + flow.friction) / start);
      most.above_start = std::max(most.above_start, (run.energy().total() - start) / start);
    }
    most.missed += run.checkpoint().missed;
    EXPECT_EQ(run.run_state(), RunState::finished) << round << ": " << run.failure();
  }
  return most;
}

TEST(Drops, EnergyNeverGrows) {
  const Gains most = drop_all(SimulationOptions{}.stepper.recovery_speed);
  EXPECT_LT(most.above_start, 1e-6);
  // What is pushed out of an overlap is lifted, at 0.01 m/s.
  EXPECT_LT(most.contacts, 1e-4);
  EXPECT_LE(most.missed, 1);
}

TEST(Drops, ContactsNeverGiveEnergy) {
  // Overlaps are left as they are: all that contacts do is friction and impact. A contact that sticks beside one that rebounds may be given a little by it.
  EXPECT_LT(drop_all(0).contacts, 1e-5);
}

}  // namespace
}  // namespace urto
