#include "urto/result/drawn_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace urto {
namespace {

// Ten hues of similar lightness that stand out on a light and on a dark ground.
constexpr std::array<std::array<double, 3>, 10> palette = {{{0.30, 0.47, 0.82},
                                                            {0.93, 0.55, 0.23},
                                                            {0.31, 0.68, 0.47},
                                                            {0.84, 0.35, 0.38},
                                                            {0.56, 0.45, 0.78},
                                                            {0.25, 0.67, 0.74},
                                                            {0.90, 0.72, 0.26},
                                                            {0.83, 0.47, 0.66},
                                                            {0.55, 0.63, 0.30},
                                                            {0.62, 0.47, 0.38}}};
constexpr std::array<double, 3> fixed_colour = {0.60, 0.62, 0.66};

void draw_bodies(const Description& description, DrawnModel& model) {
  std::size_t next = 0;
  for (const DescribedBody& b : description.bodies) {
    DrawnBody body{b.name, b.kind, b.mass};
    body.colour = body.moves() ? palette[next++ % palette.size()] : fixed_colour;
    model.bodies.push_back(std::move(body));
  }
}

void draw_shapes(const Description& description, DrawnModel& model) {
  for (const DescribedShape& s : description.shapes)
    model.shapes.push_back({s.kind, s.body, s.size, s.pose, s.geometry});
  model.meshes = description.meshes;
}

void draw_joints(const Description& description, DrawnModel& model) {
  for (const DescribedJoint& j : description.joints) {
    model.joints.push_back({j.name, j.kind, j.body, j.position});
    for (std::size_t side = 0; side < 2; ++side)
      model.joints.back().rotation[side] = quaternion_from_matrix(j.axes[side]);
  }
}

/// A cylinder about the line from the centre of mass to `end`.
DrawnShape rod(int body, const Vec3& end, double radius) {
  DrawnShape shape{ShapeKind::cylinder, body, {radius, end.norm() / 2, 0}};
  Mat3 axes;  // z along the rod; x and y do not matter
  const Mat3 frame = contact_frame(end.normalized());
  axes << frame.col(1), frame.col(2), frame.col(0);
  shape.pose = {end / 2, quaternion_from_matrix(axes)};
  shape.glyph = true;
  return shape;
}

/// Sizes follow the longest arm of such bodies, so that a mechanism of sticks looks like one.
void add_glyphs(DrawnModel& model) {
  std::vector<bool> bare(model.bodies.size());
  for (std::size_t k = 0; k < bare.size(); ++k) bare[k] = model.bodies[k].moves();
  for (const DrawnShape& shape : model.shapes) bare[static_cast<std::size_t>(shape.body)] = false;
  double reach = 0;
  const auto for_arms = [&](auto use) {
    for (const DrawnJoint& joint : model.joints) {
      for (std::size_t side = 0; side < 2; ++side) {
        if (bare[static_cast<std::size_t>(joint.body[side])]) {
          use(joint.body[side], joint.position[side]);
        }
      }
    }
  };
  for_arms([&](int, const Vec3& arm) { reach = std::max(reach, arm.norm()); });
  for_arms([&](int body, const Vec3& arm) {
    if (arm.norm() > 1e-6 * reach) model.shapes.push_back(rod(body, arm, 0.025 * reach));
  });
  for (std::size_t k = 0; k < bare.size(); ++k) {
    if (!bare[k]) continue;
    // Without an arm: the size of so much water.
    const double alone = std::cbrt(3 * model.bodies[k].mass / (4 * std::numbers::pi * 1000));
    DrawnShape ball{ShapeKind::sphere, static_cast<int>(k),
                    Vec3(reach > 0 ? 0.06 * reach : alone, 0, 0)};
    ball.glyph = true;
    model.shapes.push_back(ball);
  }
}

/// A plane with its solid below, in world axes.
struct Plane {
  Vec3 point, normal;
  double height(const Vec3& x) const { return normal.dot(x - point); }
};

/// The part of a convex polygon that is not below the plane (Sutherland and Hodgman).
std::vector<Vec3> clipped(const std::vector<Vec3>& polygon, const Plane& plane) {
  std::vector<Vec3> out;
  for (std::size_t k = 0; k < polygon.size(); ++k) {
    const Vec3 &a = polygon[k], &b = polygon[(k + 1) % polygon.size()];
    const double ha = plane.height(a), hb = plane.height(b);
    if (ha >= 0) out.push_back(a);
    if ((ha < 0) != (hb < 0)) out.emplace_back(a + ha / (ha - hb) * (b - a));
  }
  return out;
}

/// Where bodies are at the start and at the end, with their shapes.
struct Surroundings {
  Vec3 centre = Vec3::Zero();
  double radius = 1;
};

Surroundings surroundings(const std::vector<DrawnFrame>& frames, const DrawnModel& model) {
  Vec3 low = Vec3::Constant(std::numeric_limits<double>::infinity()), high = -low;
  for (const DrawnFrame& frame : frames) {
    for (const DrawnShape& s : model.shapes) {
      if (s.kind == ShapeKind::half_space) continue;
      const Vec3& x = frame.pose[static_cast<std::size_t>(s.body)].position;
      const Vec3 reach = Vec3::Constant(s.size.cwiseAbs().maxCoeff() + s.pose.position.norm());
      low = low.cwiseMin(x - reach);
      high = high.cwiseMax(x + reach);
    }
  }
  if (!low.allFinite() || !high.allFinite() || !((high - low).norm() > 0)) return {};
  return {(low + high) / 2, (high - low).norm() / 2};
}

Pose composed(const Pose& outer, const Pose& inner) {
  return {outer.position + rotation_matrix(outer.rotation) * inner.position,
          quaternion_product(outer.rotation, inner.rotation)};
}

/// A square of the plane about the point nearest to the middle of things, cut by the others, as a
/// fan of triangles in the shape's own axes.
TriangleMesh plane_mesh(const Pose& pose, const std::vector<Plane>& others,
                        const Surroundings& around) {
  const Mat3 R = rotation_matrix(pose.rotation);
  const Vec3 normal = R.col(2);
  const Vec3 foot = around.centre - normal.dot(around.centre - pose.position) * normal;
  std::vector<Vec3> polygon;
  for (const auto& [x, y] : {std::pair{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}) {
    polygon.emplace_back(foot + 0.95 * around.radius * (x * R.col(0) + y * R.col(1)));
  }
  for (const Plane& other : others) polygon = clipped(polygon, other);
  TriangleMesh mesh;
  for (const Vec3& x : polygon) mesh.vertices.emplace_back(R.transpose() * (x - pose.position));
  for (int k = 2; k < static_cast<int>(polygon.size()); ++k)
    mesh.triangles.push_back({0, k - 1, k});
  return mesh;
}

void add_planes(const ResultView& result, DrawnModel& model) {
  const long frames = result.counts().frames;
  if (frames == 0) return;
  const std::vector<DrawnFrame> ends{drawn_frame(result, 0), drawn_frame(result, frames - 1)};
  const Surroundings around = surroundings(ends, model);
  const auto pose_of = [&](const DrawnShape& s) {
    return composed(ends[0].pose[static_cast<std::size_t>(s.body)], s.pose);
  };
  for (std::size_t k = 0; k < model.shapes.size(); ++k) {
    if (model.shapes[k].kind != ShapeKind::half_space) continue;
    std::vector<Plane> others;
    for (std::size_t j = 0; j < model.shapes.size(); ++j) {
      const DrawnShape& s = model.shapes[j];
      // Those of one body keep their places to each other.
      if (j == k || s.kind != ShapeKind::half_space || s.body != model.shapes[k].body) continue;
      const Pose pose = pose_of(s);
      others.push_back({pose.position, rotation_matrix(pose.rotation).col(2)});
    }
    TriangleMesh mesh = plane_mesh(pose_of(model.shapes[k]), others, around);
    if (mesh.triangles.empty()) continue;  // it lies inside the others
    model.shapes[k].geometry = static_cast<int>(model.meshes.size());
    model.meshes.push_back(std::move(mesh));
  }
}

}  // namespace

std::vector<int> DrawnModel::moving() const {
  std::vector<int> out;
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    if (bodies[k].moves()) out.push_back(static_cast<int>(k));
  }
  return out;
}

DrawnModel drawn_model(const ResultView& result) {
  DrawnModel model;
  draw_bodies(result.description(), model);
  draw_shapes(result.description(), model);
  draw_joints(result.description(), model);
  add_glyphs(model);
  add_planes(result, model);
  return model;
}

DrawnFrame drawn_frame(const ResultView& result, long frame) {
  const auto row = [&](const char* name) {
    const int channel = find_channel(result.description(), name);
    return channel < 0 ? std::vector<double>() : result.channel(channel, frame, 1);
  };
  DrawnFrame out;
  out.time = result.times(frame, 1)[0];
  const auto x = row("position"), p = row("rotation"), v = row("velocity"),
             w = row("angular_velocity");
  for (std::size_t k = 0; k < result.description().bodies.size(); ++k) {
    out.pose.push_back({Vec3(x.data() + 3 * k), Vec4(p.data() + 4 * k)});
    out.velocity.emplace_back(v.data() + 3 * k);
    out.angular_velocity.emplace_back(rotation_matrix(out.pose[k].rotation) *
                                      Vec3(w.data() + 3 * k));
  }
  return out;
}

}  // namespace urto
