// Small mechanisms drawn at random: rods, discs and blocks of all proportions on joints of all
// kinds, in trees and loops, some spinning fast, with springs, dampers, limits, motors, and shapes
// that meet each other or a floor. The same seed gives the same mechanism.
#pragma once

#include <cmath>
#include <random>

#include "stepper/scenes.h"

namespace urto::testing {

class MechanismDice {
 public:
  explicit MechanismDice(unsigned seed) : engine_(seed) {}

  bool chance(double probability) { return uniform() < probability; }
  int below(int n) { return std::min(n - 1, static_cast<int>(n * uniform())); }
  double between(double a, double b) { return a + (b - a) * uniform(); }
  /// Logarithmically uniform.
  double scale(double a, double b) { return a * std::pow(b / a, uniform()); }
  Vec3 direction() {
    for (;;) {
      const double x = between(-1, 1), y = between(-1, 1), z = between(-1, 1);
      const Vec3 d(x, y, z);
      if (d.norm() > 0.1 && d.norm() < 1) return d.normalized();
    }
  }

 private:
  // Not std::uniform_real_distribution: its numbers differ from library to library.
  double uniform() { return engine_() * 0x1p-32; }
  std::mt19937 engine_;
};

/// A solid ellipsoid, so that the inertia is a possible one; in the middle of its marker's tree.
inline int add_random_body(Model& m, MechanismDice& dice, const Vec3& position, double size) {
  const Vec3 axes(dice.scale(0.1, 1), dice.scale(0.1, 1), dice.scale(0.1, 1));
  const Vec3 s = (size * axes).cwiseAbs2();
  const double mass = dice.scale(0.1, 10);
  const Vec3 inertia = mass / 5 * Vec3(s[1] + s[2], s[0] + s[2], s[0] + s[1]);
  const int body =
      add_rigid(m, "body-" + std::to_string(m.bodies.size()), position, mass, inertia.asDiagonal());
  m.bodies[body].start.rotation = quaternion_exp(dice.between(0, 3) * dice.direction());
  if (dice.chance(0.5)) {
    m.bodies[body].angular_velocity = dice.scale(1, 1000) * dice.direction();
    if (dice.chance(0.5))  // about one of its axes, nearly
      m.bodies[body].angular_velocity =
          dice.scale(1, 1000) * (Vec3::Unit(dice.below(3)) + 0.01 * dice.direction());
  }
  if (dice.chance(0.5)) {
    const Vec3 radii = size * axes;
    if (dice.chance(0.5))
      m.shapes.push_back(
          {.kind = ShapeKind::sphere, .size = {radii.minCoeff(), 0, 0}, .pose = {}, .body = body});
    else
      m.shapes.push_back({.kind = ShapeKind::box, .size = 0.6 * radii, .pose = {}, .body = body});
  }
  return body;
}

inline void add_random_joint(Model& m, MechanismDice& dice, int a, int b, const Vec3& point) {
  constexpr std::array kinds{JointKind::revolute,  JointKind::revolute,     JointKind::spherical,
                             JointKind::spherical, JointKind::universal,    JointKind::prismatic,
                             JointKind::planar,    JointKind::cylindrical,  JointKind::fixed,
                             JointKind::screw,     JointKind::point_on_line};
  const JointKind kind = kinds[dice.below(kinds.size())];
  const std::string name = "joint-" + std::to_string(m.joints.size());
  const int joint = join(m, name, kind, a, b, point, dice.direction());
  if (kind == JointKind::screw) m.joints[joint].pitch = dice.between(-0.1, 0.1);
  // What slides out of a turning arm is gone exponentially: slides end somewhere.
  const std::span<const JointCoordinate> free = coordinates(kind);
  for (int c = 0; c < static_cast<int>(free.size()); ++c) {
    if (!free[c].is_angle && kind != JointKind::spherical)
      m.limits.push_back({.name = name + "-stop-" + std::to_string(c),
                          .on = {joint, c},
                          .lower = -dice.between(0.1, 1),
                          .upper = dice.between(0.1, 1)});
  }
  const bool angle = kind == JointKind::revolute;
  if (angle && dice.chance(0.2)) {
    m.limits.push_back({.name = name + "-limit",
                        .on = {joint, 0},
                        .lower = dice.between(-2, -0.1),
                        .upper = dice.between(0.1, 2),
                        .restitution = dice.chance(0.5) ? 0.5 : 0});
  } else if (angle && dice.chance(0.15)) {
    m.motors.push_back({.name = name + "-motor",
                        .on = {joint, 0},
                        .mode = MotorMode::speed,
                        .value = ConstantFunction{dice.between(-20, 20)},
                        .max_force = dice.chance(0.5) ? dice.scale(0.01, 10)
                                                      : std::numeric_limits<double>::infinity()});
  } else if (angle && dice.chance(0.15)) {
    m.frictions.push_back(
        {.name = name + "-friction", .on = {joint, 0}, .bound = dice.scale(1e-3, 1)});
  }
}

inline void add_random_spring(Model& m, MechanismDice& dice, int a, int b) {
  const auto marker = [&](int body) {
    return add_marker(m, "", body, {dice.between(0, 0.2) * dice.direction(), Vec4(1, 0, 0, 0)});
  };
  MeasureSpring s;
  s.name = "spring-" + std::to_string(m.forces.size());
  s.marker_a = marker(a);
  s.marker_b = marker(b);
  s.rest = dice.between(0.1, 0.5);
  s.stiffness.slope = dice.scale(1, 1e4);
  if (dice.chance(0.5)) s.damping.slope = dice.scale(1e-3, 10);
  m.forces.push_back(s);
}

/// One to six bodies. Everything else is drawn too.
inline Model random_mechanism(unsigned seed) {
  MechanismDice dice(seed);
  Model m = empty_model(dice.chance(0.6) ? Vec3(0, 0, -9.81) : Vec3::Zero());
  m.materials[0].friction = dice.chance(0.2) ? 0 : dice.between(0, 1);
  m.materials[0].restitution = dice.chance(0.3) ? dice.between(0, 1) : 0;
  const int bodies = 1 + dice.below(6);
  std::vector<int> parents{0};
  for (int k = 0; k < bodies; ++k) {
    const int parent = k == 0 ? 0 : dice.below(k + 1);  // the world is body 0
    parents.push_back(parent);
    const Vec3 from = parent == 0 ? Vec3(0, 0, 1) : Vec3(m.bodies[parent].start.position);
    const double reach = dice.scale(0.1, 0.6);
    const Vec3 at = from + reach * dice.direction();
    const int body = add_random_body(m, dice, at, dice.scale(0.05, 0.5));
    if (!dice.chance(0.85)) continue;  // free
    add_random_joint(m, dice, parent, body, from + dice.between(0, 1) * (at - from));
  }
  // A loop. Between neighbours it would begin at a dead point: the joint is on the line between
  // their centres.
  if (bodies > 2 && parents[bodies] != 1 && dice.chance(0.5)) {
    const int joint = join(m, "loop", JointKind::distance, 1, bodies, m.bodies[1].start.position,
                           dice.direction());
    m.markers[m.joints[joint].marker_b].frame = {};
    m.joints[joint].length = (m.bodies[1].start.position - m.bodies[bodies].start.position).norm();
  }
  for (int k = dice.below(3); k > 0; --k) {
    const int a = dice.below(bodies + 1), b = dice.below(bodies + 1);
    if (a != b) add_random_spring(m, dice, a, b);
  }
  if (m.gravity.norm() > 0) {  // or what is free would fall for ever
    Pose floor;
    floor.position = {0, 0, -1.5};
    add_floor(m, floor);
  }
  finalize(m);
  return m;
}

}  // namespace urto::testing
