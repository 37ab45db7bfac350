// Small models for the stepper's tests, built in C++ so that a test shows all its numbers.
#pragma once

#include "urto/model/model.h"
#include "urto/stepper/simulation.h"

namespace urto::testing {

/// A model with the fixed body "world" as body 0.
inline Model empty_model(const Vec3& gravity = {0, 0, -9.81}) {
  Model m;
  m.gravity = gravity;
  add_body(m, {.name = "world", .kind = BodyKind::fixed});
  return m;
}

inline int add_rigid(Model& m, std::string name, const Vec3& position, double mass,
                     const Mat3& inertia) {
  Body b;
  b.name = std::move(name);
  b.start.position = position;
  b.mass = mass;
  b.inertia = inertia;
  return add_body(m, b);
}

inline int add_ball(Model& m, std::string name, const Vec3& position, double radius, double mass) {
  const int body = add_rigid(m, std::move(name), position, mass,
                             0.4 * mass * radius * radius * Mat3::Identity());
  m.shapes.push_back({.kind = ShapeKind::sphere, .size = {radius, 0, 0}, .pose = {}, .body = body});
  return body;
}

inline int add_cube(Model& m, std::string name, const Vec3& position, double edge, double mass) {
  const int body =
      add_rigid(m, std::move(name), position, mass, mass * edge * edge / 6 * Mat3::Identity());
  m.shapes.push_back(
      {.kind = ShapeKind::box, .size = Vec3::Constant(0.5 * edge), .pose = {}, .body = body});
  return body;
}

inline void add_floor(Model& m, const Pose& pose = {}) {
  m.shapes.push_back(
      {.kind = ShapeKind::half_space, .size = Vec3::Zero(), .pose = pose, .body = 0});
}

/// A joint at a world point with its axis (z of both frames) along a world direction; bodies as
/// they start.
inline int join(Model& m, std::string name, JointKind kind, int a, int b, const Vec3& point,
                const Vec3& axis = Vec3::UnitZ()) {
  const Mat3 frame = contact_frame(axis.normalized());
  Mat3 world;  // contact_frame has the axis first; joints want it last
  world << frame.col(1), frame.col(2), frame.col(0);
  const auto marker = [&](int body) {
    const Mat3 A = rotation_matrix(m.bodies[body].start.rotation);
    return add_marker(m, name, body,
                      {A.transpose() * (point - m.bodies[body].start.position),
                       quaternion_from_matrix(A.transpose() * world)});
  };
  Joint joint;
  joint.name = name;
  joint.kind = kind;
  joint.marker_a = marker(a);
  joint.marker_b = marker(b);
  return add_joint(m, joint);
}

/// Uniform rods hinged one to the next along x, swinging in the x–y plane under gravity along −y.
inline Model rod_chain(int links, double length = 1, double mass = 1) {
  Model m = empty_model({0, -9.81, 0});
  const double I = mass * length * length / 12;
  int previous = 0;
  for (int k = 0; k < links; ++k) {
    const int rod = add_rigid(m, "rod-" + std::to_string(k), {(k + 0.5) * length, 0, 0}, mass,
                              Vec3(0.01 * I, I, I).asDiagonal());
    join(m, "hinge-" + std::to_string(k), JointKind::revolute, previous, rod, {k * length, 0, 0});
    previous = rod;
  }
  finalize(m);
  return m;
}

inline Vec3 position(const Model& m, const State& s, int body) {
  return s.q.segment<3>(7 * m.bodies[body].slot);
}
inline Vec3 linear_velocity(const Model& m, const State& s, int body) {
  return s.v.segment<3>(6 * m.bodies[body].slot);
}
inline Vec3 angular_velocity(const Model& m, const State& s, int body) {
  return s.v.segment<3>(6 * m.bodies[body].slot + 3);
}

/// Runs to the end and returns the last state; the run must not fail.
inline void run_to_end(Simulation& run) {
  run.start();
  while (run.advance()) {
  }
}

}  // namespace urto::testing
