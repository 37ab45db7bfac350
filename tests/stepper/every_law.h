// A model with every law that rows may have, for steppers that treat them all.
#pragma once

#include "stepper/scenes.h"

namespace urto::testing {

/// Body 1 rests on a contact spring in the end; body 2 sticks to the floor; a rod falls against the
/// stop of its hinge with dry friction; an arm in a bush is driven by a motor with a bound.
inline Model model_of_every_law() {
  Model m = empty_model();
  m.mixing.cohesion = MixingRule::maximum;
  add_floor(m);
  add_ball(m, "soft", {0, 0, 0.12}, 0.1, 1);
  m.materials.push_back({.name = "rubber", .stiffness = 2e4, .damping = 20});
  m.shapes.back().material = 1;
  add_ball(m, "sticky", {1, 0, 0.1}, 0.1, 1);
  m.materials.push_back({.name = "glue", .friction = 0.4, .cohesion = 3});
  m.shapes.back().material = 2;
  const int rod = add_rigid(m, "rod", {3, 0, 1}, 1, 0.1 * Mat3::Identity());
  const int hinge = join(m, "hinge", JointKind::revolute, 0, rod, {2.5, 0, 1}, Vec3::UnitY());
  m.limits.push_back({.name = "stop",
                      .on = {.joint = hinge, .coordinate = 0},
                      .lower = -0.3,
                      .upper = 0.3,
                      .restitution = 0.5});
  m.frictions.push_back({.name = "dry", .on = {.joint = hinge, .coordinate = 0}, .bound = 0.05});
  const int arm = add_rigid(m, "arm", {5, 0, 1}, 1, 0.1 * Mat3::Identity());
  const int soft = join(m, "bush", JointKind::revolute, 0, arm, {4.5, 0, 1}, Vec3::UnitY());
  m.joints[soft].softness = {.stiffness = 1e4, .damping = 10};
  m.motors.push_back({.name = "drive",
                      .on = {.joint = soft, .coordinate = 0},
                      .mode = MotorMode::speed,
                      .value = ConstantFunction{2},
                      .max_force = 1});
  finalize(m);
  return m;
}

}  // namespace urto::testing
