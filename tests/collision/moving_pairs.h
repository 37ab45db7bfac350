// Two bodies with a shape each, near each other and free to move: for contacts at several states.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "collision/pairs.h"
#include "urto/collision/contact.h"
#include "urto/model/triangle_mesh.h"

namespace urto::testing {

/// The surface of a box, of triangles.
inline TriangleMesh crate_mesh(const Vec3& h) {
  TriangleMesh mesh;
  for (int k = 0; k < 8; ++k) {
    mesh.vertices.emplace_back((k & 1) != 0 ? h[0] : -h[0], (k & 2) != 0 ? h[1] : -h[1],
                               (k & 4) != 0 ? h[2] : -h[2]);
  }
  mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return mesh;
}

struct MovingPair {
  Model model = {};
  State state = {};

  /// Both shapes lie in their bodies as they like.
  MovingPair(const Shape& first, const Shape& second, std::vector<TriangleMesh> meshes = {}) {
    model.meshes = std::move(meshes);
    for (const Shape& shape : {first, second}) {
      Body body;
      const bool ground =
          shape.kind == ShapeKind::half_space || shape.kind == ShapeKind::height_field;
      if (ground) body.kind = BodyKind::fixed;
      body.mass = 1;
      body.inertia = Mat3::Identity();
      model.shapes.push_back(shape);
      model.shapes.back().body = add_body(model, body);
    }
    finalize(model);
    state = initial_state(model);
  }
  bool moves(int body) const { return model.bodies[body].slot >= 0; }
  void set_position(int body, const Vec3& x) {
    model.bodies[body].start.position = x;
    if (moves(body)) state.q.segment<3>(7 * body) = x;
  }
  void set_rotation(int body, const Vec4& p) {
    model.bodies[body].start.rotation = p;
    if (moves(body)) state.q.segment<4>(7 * body + 3) = p;
  }
  /// The state after moving with v (world velocity, body angular velocity, of both) for a time.
  State moved(const Vector& v, double time) const {
    State out = state;
    add_increment(model, state.q, time * v.head(model.nv()), out.q);
    return out;
  }
  /// Moves the first body along the normal of the deepest contact until the gap there is `gap`.
  void bring_together(double gap) {
    ContactFinder finder(model);
    std::vector<Contact> all;
    finder.find(state, 100, 0, all);
    const auto deepest = std::min_element(
        all.begin(), all.end(), [](const auto& p, const auto& q) { return p.gap < q.gap; });
    if (deepest == all.end()) return;
    const double sign = deepest->body_a == 0 ? 1 : -1;
    state.q.segment<3>(0) -= sign * (deepest->gap - gap) * deepest->normal;
  }
  std::vector<Contact> contacts(double envelope) const {
    ContactFinder finder(model);
    std::vector<Contact> out;
    finder.find(state, envelope, 0, out);
    return out;
  }
};

/// Of size about 1, in one geometry list: 0 a stone, 1 a crate, 2 a rough field.
inline std::vector<TriangleMesh> pair_meshes() {
  Random random(5);
  std::vector<Vec3> points;
  for (int k = 0; k < 20; ++k) points.emplace_back(random.uniform(0.5, 1) * random.unit());
  std::vector<double> heights(11 * 11);
  for (double& z : heights) z = random.uniform(0, 0.15);
  return {convex_hull(points), crate_mesh({0.8, 0.6, 0.5}), height_field(heights, 11, 0.4, 0.4)};
}

inline Shape pair_shape(Random& random, ShapeKind kind) {
  Shape s;
  s.kind = kind;
  s.size = {random.uniform(0.3, 1), random.uniform(0.3, 1), random.uniform(0.3, 1)};
  const bool has_edges =
      kind == ShapeKind::box || kind == ShapeKind::cylinder || kind == ShapeKind::cone;
  if (has_edges && random.integer(0, 1) == 0) s.margin = 0.05;
  if (kind == ShapeKind::hull) s.geometry = 0;
  if (kind == ShapeKind::mesh) s.geometry = 1;
  if (kind == ShapeKind::height_field) s.geometry = 2;
  s.pose.position = 0.1 * random.normal();
  s.pose.rotation = quaternion_exp(random.normal());
  return s;
}

/// Turned anyhow, or in one of four cases aligned up to a little, so that faces meet.
inline MovingPair random_moving_pair(Random& random, ShapeKind a, ShapeKind b) {
  MovingPair p(pair_shape(random, a), pair_shape(random, b), pair_meshes());
  const bool aligned = random.integer(0, 3) == 0;
  if (aligned) {
    for (Shape& s : p.model.shapes) s.pose = {};
  }
  for (int k = 0; k < 2; ++k) {
    const double turn = aligned ? std::pow(10, random.uniform(-4, -1)) : 1;
    p.set_rotation(k, quaternion_exp(turn * random.normal()));
  }
  p.set_position(0, aligned ? Vec3(0.2, 0.1, 2.5) : Vec3(2.5 * random.unit()));
  if (b == ShapeKind::half_space || b == ShapeKind::height_field) {
    const Mat3 R = place(p.model, p.state, 1).A * rotation_matrix(p.model.shapes[1].pose.rotation);
    p.set_position(0, R * Vec3(0.3, 0.2, 2.5));
  }
  p.bring_together(random.uniform(-0.02, 0.05));
  return p;
}

inline Vector random_motion(Random& random) {
  Vector v(12);
  for (int k = 0; k < 4; ++k) v.segment<3>(3 * k) = random.normal();
  return v;
}

/// The points of both surfaces that a contact stands for.
inline Vec3 surface_point(const Contact& c, bool of_a) {
  return c.point + (of_a ? 1 : -1) * (c.arm + 0.5 * c.gap * c.normal);
}

/// World axes; zero where the body is fixed.
inline Vec3 turning_of(const MovingPair& p, const Vector& v, int body) {
  if (!p.moves(body)) return Vec3::Zero();
  return place(p.model, p.state, body).A * v.segment<3>(6 * body + 3);
}

/// The velocity of a point of a body.
inline Vec3 point_velocity(const MovingPair& p, const Vector& v, int body, const Vec3& x) {
  if (!p.moves(body)) return Vec3::Zero();
  const Vec3 arm = x - place(p.model, p.state, body).x;
  return v.segment<3>(6 * body) + turning_of(p, v, body).cross(arm);
}

}  // namespace urto::testing
