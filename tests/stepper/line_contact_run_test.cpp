// Bodies that lie and rock on lines, under the default settings.
#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

// A capsule of 50 mm falls, rocking and turning, into the groove of two that lie still. A step of
// 2 ms turns it by up to ωh = 0.04: about an end that bears, the other end at 2·20 mm comes down by
// 1.6 mm, which is how deep it would go if it were not seen. What a step misses of an arc is
// ½(ωh)² of its radius, 0.03 mm.
TEST(LineContactRun, ARockingCapsuleIsHeldAtBothEnds) {
  const double r = 0.005, half = 0.02;
  const Shape capsule{.kind = ShapeKind::capsule, .size = {r, half, 0}};
  const MassProperties p = mass_properties(capsule.kind, capsule.size, 1000);
  const Vec4 along_x = quaternion_exp({0, M_PI / 2, 0});
  for (int k = 0; k < 12; ++k) {
    Model m = empty_model();
    for (const double y : {-0.006, 0.006}) {
      m.shapes.push_back(capsule);
      m.shapes.back().body = 0;
      m.shapes.back().pose = {.position = {0, y, 0}, .rotation = along_x};
    }
    const double height = std::sqrt(4 * r * r - 0.006 * 0.006);
    const int body = add_rigid(m, "rocker", {0.001 * (k % 3), 0, height + 1e-4}, p.mass, p.inertia);
    const double tilt = 0.002 * (k % 5 - 2), yaw = 1e-4 * (k % 4);
    m.bodies[body].start.rotation = quaternion_product(quaternion_exp({0, tilt, yaw}), along_x);
    // About the world's y, which is the body's as well.
    m.bodies[body].angular_velocity = {0, k % 2 == 0 ? 20.0 : -15.0, 0};
    m.shapes.push_back(capsule);
    m.shapes.back().body = body;
    finalize(m);
    Simulation run(m, {.duration = 0.3, .step = 2e-3});
    run.start();
    while (run.advance()) {
    }
    EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_LT(run.checkpoint().worst_penetration, 1e-4) << k;
  }
}

}  // namespace
}  // namespace urto
