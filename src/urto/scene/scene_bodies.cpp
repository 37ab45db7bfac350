// Bodies and markers. What a body weighs: "mass" and "inertia" as given, or from its shapes.
#include <cmath>

#include <fmt/format.h>

#include "urto/model/inertia.h"
#include "urto/model/triangle_mesh.h"
#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

Mat3 read_inertia(const Value& v) {
  constexpr std::string_view expected =
      "[Ixx, Iyy, Izz] or a symmetric 3 × 3 matrix, about the centre of mass [kg m²]";
  Mat3 inertia = Mat3::Zero();
  const auto items = to_items(v, expected, 3);
  if (items[0].json->is_array()) {
    for (int i = 0; i < 3; ++i) {
      const std::vector<double> row = to_numbers(items[i], 3, any("kg m²"));
      for (int j = 0; j < 3; ++j) inertia(i, j) = row[j];
    }
    const double asymmetry = (inertia - inertia.transpose()).cwiseAbs().maxCoeff();
    if (asymmetry > 1e-9 * inertia.cwiseAbs().maxCoeff()) {
      fail(v, "a matrix that is not symmetric", "a symmetric one");
    }
  } else {
    for (int i = 0; i < 3; ++i) inertia(i, i) = to_number(items[i], positive("kg m²"));
  }
  // The same tests as in finalize(), where the place in the file is known.
  const Vec3 moments = principal_moments(inertia);
  const std::string found =
      fmt::format("principal moments {:.6g}, {:.6g}, {:.6g}", moments[0], moments[1], moments[2]);
  if (!(moments[0] > 0)) fail(v, found, "three positive ones");
  if (moments[0] + moments[1] < moments[2] * (1 - 1e-6)) {
    fail(v, found, "the largest at most the sum of the others (no solid has this inertia)");
  }
  return inertia;
}

bool has_inside(const Builder& b, const Shape& shape) {
  if (shape.kind == ShapeKind::half_space) return false;
  return !has_geometry(shape.kind) || b.mesh_facts[shape.geometry].closed;
}

/// All shapes as one solid of density 1; mass 0 when there is none.
MassProperties solid_of(const Builder& b, const std::vector<Shape>& shapes) {
  MassProperties all;
  for (const Shape& shape : shapes) {
    if (!has_inside(b, shape)) continue;
    const MassProperties one = transformed(mass_properties(shape, b.mesh_facts, 1), shape.pose);
    all = all.mass > 0 ? combined(all, one) : one;
  }
  return all;
}

/// Refuses, with the place of the hole, a mesh that would have to be weighed.
void check_insides(const Builder& b, const Object& o, const std::vector<Shape>& shapes) {
  if (o.has("mass") && o.has("inertia")) return;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (has_inside(b, shapes[k])) continue;
    check_mesh(b.model.meshes[shapes[k].geometry],
               where(*o.value.origins, o.at("shapes").at(k).path), Surface::closed);
  }
}

/// Mass, inertia and the centre of mass in the reference frame.
Vec3 read_mass(const Builder& b, Body& body, const Object& o, const std::vector<Shape>& shapes) {
  check_insides(b, o, shapes);
  const MassProperties solid = solid_of(b, shapes);
  const bool has_solid = solid.mass > 0 && std::isfinite(solid.mass);
  if (o.has("mass") && o.has("density")) {
    refuse(o.value, "a body has either 'mass' or 'density'");
  }
  if (const auto mass = o.find("mass")) {
    body.mass = to_number(*mass, positive("kg"));
  } else if (const auto density = o.find("density"); density && has_solid) {
    body.mass = to_number(*density, positive("kg/m³")) * solid.mass;
  } else {
    refuse(o.value, "a dynamic body needs 'mass' and 'inertia', or 'mass' or 'density' and shapes");
  }
  if (const auto inertia = o.find("inertia")) {
    body.inertia = read_inertia(*inertia);
  } else if (has_solid) {
    // Whoever moves the centre of mass knows that the solid is not homogeneous.
    if (const auto center = o.find("center_of_mass")) {
      refuse(*center, "'center_of_mass' needs 'inertia': that of the shapes is about their own");
    }
    body.inertia = solid.inertia * (body.mass / solid.mass);
  } else {
    refuse(o.value, "a dynamic body needs 'inertia', or shapes to take it from");
  }
  return vec3_or(o, "center_of_mass", has_solid ? solid.center : Vec3(Vec3::Zero()), "m");
}

Motion read_motion(const Value& v) {
  const Object o = to_object(v, keys::motion);
  Motion motion;
  if (const auto position = o.find("position")) motion.position = read_functions(*position);
  if (const auto axis = o.find("axis")) motion.axis = to_direction(*axis);
  if (const auto angle = o.find("angle")) motion.angle = read_function(*angle);
  return motion;
}

void read_velocity(Body& body, const Object& o) {
  body.velocity = vec3_or(o, "velocity", Vec3::Zero(), "m/s");
  body.angular_velocity = vec3_or(o, "angular_velocity", Vec3::Zero(), "rad/s");
  if (body.kind == BodyKind::dynamic) return;
  const std::string_view expected = body.kind == BodyKind::kinematic
                                        ? "none: 'motion' moves a kinematic body"
                                        : "none: a fixed body does not move";
  if (!body.velocity.isZero(0)) fail(o.at("velocity"), expected);
  if (!body.angular_velocity.isZero(0)) fail(o.at("angular_velocity"), expected);
}

std::vector<Shape> read_shapes(Builder& b, const Object& o, BodyKind kind) {
  std::vector<Shape> shapes;
  const auto list = o.find("shapes");
  const Filter filter = read_filter(b, o, {});
  if (!list) return shapes;
  for (const Value& item : to_items(*list, "an array of shapes")) {
    shapes.push_back(read_shape(b, item, filter));
    if (shapes.back().kind == ShapeKind::half_space && kind == BodyKind::dynamic) {
      fail(item, "a half-space on a dynamic body", "a fixed or kinematic body");
    }
    if (shapes.back().kind == ShapeKind::height_field && kind == BodyKind::dynamic) {
      fail(item, "a height field on a dynamic body", "a fixed or kinematic body");
    }
  }
  return shapes;
}

void read_body(Builder& b, const Value& v) {
  const Object o = to_object(v, keys::body);
  const int index = static_cast<int>(b.model.bodies.size());
  Body body;
  body.name = take_name(b.bodies, o, index);
  if (const auto kind = o.find("kind")) {
    body.kind = static_cast<BodyKind>(to_word(*kind, words::body_kind));
  }
  const Pose reference = to_pose(o);
  std::vector<Shape> shapes = read_shapes(b, o, body.kind);
  // A body that does not move freely has no centre of mass: it is placed and turned by its frame.
  Vec3 center = Vec3::Zero();
  if (body.kind == BodyKind::dynamic) center = read_mass(b, body, o, shapes);
  body.start = {reference.position + rotate(reference.rotation, center), reference.rotation};
  read_velocity(body, o);
  if (const auto motion = o.find("motion")) {
    if (body.kind != BodyKind::kinematic) refuse(*motion, "only a kinematic body has a 'motion'");
    body.motion = read_motion(*motion);
  }
  body.gyroscopic = bool_or(o, "gyroscopic", true);
  body.continuous = bool_or(o, "continuous", false);
  for (Shape& shape : shapes) {
    shape.body = index;
    shape.pose.position -= center;
    b.model.shapes.push_back(shape);
  }
  b.centers.push_back(center);
  b.model.bodies.push_back(std::move(body));
}

}  // namespace

void add_world(Builder& b) {
  Body world;
  world.name = "world";
  world.kind = BodyKind::fixed;
  b.model.bodies.push_back(world);
  b.centers.push_back(Vec3::Zero());
  b.bodies.entries["world"] = {0, ""};
}

void read_bodies(Builder& b, const Object& scene) {
  const auto list = scene.find("bodies");
  if (!list) return;
  const auto bodies = to_items(*list, "an array of bodies");
  collect_layers(b, bodies);
  for (const Value& item : bodies) read_body(b, item);
}

void read_markers(Builder& b, const Object& scene) {
  const auto list = scene.find("markers");
  if (!list) return;
  for (const Value& item : to_items(*list, "an array of markers")) {
    const Object o = to_object(item, keys::marker);
    const int index = static_cast<int>(b.model.markers.size());
    Marker marker;
    marker.name = take_name(b.markers, o, index);
    marker.body = find_named(b.bodies, o.at("body"));
    if (o.has("rotation") && o.has("z")) refuse(item, "a marker has either 'rotation' or 'z'");
    const Pose pose = to_pose(o);
    marker.frame.p = pose.position - b.centers[marker.body];
    marker.frame.R = rotation_matrix(pose.rotation);
    if (const auto z = o.find("z")) marker.frame.R = axes_with_z(to_direction(*z));
    b.model.markers.push_back(std::move(marker));
  }
}

}  // namespace urto::scene
