// Smooth forces.
#include <cmath>

#include <fmt/format.h>

#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

/// A number (the slope, at least 0) or a table [[x, y], …].
Characteristic read_characteristic(const Object& o, std::string_view key, std::string_view unit) {
  Characteristic c;
  const auto v = o.find(key);
  if (!v) return c;
  if (!v->json->is_array()) {
    c.slope = to_number(*v, non_negative(unit));
    return c;
  }
  constexpr std::string_view expected = "a number, or at least two points [[x, y], …]";
  for (const Value& item : to_items(*v, expected)) {
    const std::vector<double> p = to_numbers(item, 2);
    if (!c.table_x.empty() && !(p[0] > c.table_x.back())) fail(item, "an x above the one before");
    c.table_x.push_back(p[0]);
    c.table_y.push_back(p[1]);
  }
  if (c.table_x.size() < 2) fail(*v, expected);
  return c;
}

/// A spring that says nothing does nothing, and nobody means that.
void check_acts(const Object& o) {
  if (o.has("stiffness") || o.has("damping") || o.has("preload")) return;
  refuse(o.value, "a spring needs at least one of 'stiffness', 'damping' and 'preload'");
}

Force read_spring(Builder& b, const Object& o, const std::string& name) {
  MeasureSpring spring;
  const Attachment at = read_points(b, o, name);
  check_acts(o);
  spring.marker_a = at.a;
  spring.marker_b = at.b;
  spring.measure = {MeasureKind::distance, 0, 0};
  const auto rest = o.find("rest_length");
  spring.rest = rest ? to_number(*rest, non_negative("m")) : start_value(b, at, spring.measure);
  spring.stiffness = read_characteristic(o, "stiffness", "N/m");
  spring.damping = read_characteristic(o, "damping", "N·s/m");
  spring.preload = number_or(o, "preload", 0, any("N"));
  return spring;
}

Force read_torsion_spring(Builder& b, const Object& o) {
  MeasureSpring spring;
  const CoordinateRef on = read_coordinate(b, o, find_named(b.joints, o.at("joint")));
  check_acts(o);
  const Joint& joint = b.model.joints[on.joint];
  spring.marker_a = joint.marker_a;
  spring.marker_b = joint.marker_b;
  spring.measure = coordinates(joint.kind)[on.coordinate].measure;
  const auto rest = o.find("rest");
  spring.rest = rest ? to_number(*rest, any("rad, m"))
                     : start_value(b, {joint.marker_a, joint.marker_b}, spring.measure);
  spring.stiffness = read_characteristic(o, "stiffness", "N·m/rad, N/m");
  spring.damping = read_characteristic(o, "damping", "N·m·s/rad, N·s/m");
  spring.preload = number_or(o, "preload", 0, any("N·m, N"));
  return spring;
}

Force read_bushing(Builder& b, const Object& o, const std::string& name) {
  Bushing bushing;
  const Attachment at = read_frames(b, o, name, Need::yes, Need::no);
  bushing.marker_a = at.a;
  bushing.marker_b = at.b;
  const auto six = [](const Value& v) {
    const std::vector<double> x = to_numbers(v, 6, non_negative());
    return Eigen::Map<const Eigen::Matrix<double, 6, 1>>(x.data()).eval();
  };
  bushing.stiffness = six(o.at("stiffness"));
  if (const auto damping = o.find("damping")) bushing.damping = six(*damping);
  return bushing;
}

Force read_load(Builder& b, const Object& o, const std::string& name) {
  Load load;
  if (o.has("marker") == o.has("body")) refuse(o.value, "a load has either 'body' or 'marker'");
  if (const auto marker = o.find("marker")) {
    load.marker = find_named(b.markers, *marker);
    if (o.has("point")) refuse(o.at("point"), "'point' goes with 'body', not with 'marker'");
  } else {
    const int body = find_named(b.bodies, o.at("body"));
    const Pose& start = b.model.bodies[body].start;
    load.marker = add_world_marker(b, name + ":a", body, vec3_or(o, "point", start.position, "m"),
                                   rotation_matrix(start.rotation));
  }
  if (!o.has("force") && !o.has("torque")) refuse(o.value, "a load needs 'force' or 'torque'");
  if (const auto force = o.find("force")) load.force = read_functions(*force);
  if (const auto torque = o.find("torque")) load.torque = read_functions(*torque);
  load.follows = bool_or(o, "follows", false);
  return load;
}

Force read_central_gravity(const Object& o) {
  CentralGravity gravity;
  gravity.centre = vec3_or(o, "center", Vec3::Zero(), "m");
  gravity.strength = to_number(o.at("strength"), any("m³/s²"));
  return gravity;
}

Force read_drag(const Builder& b, const Object& o) {
  Drag drag;
  drag.body = find_named(b.bodies, o.at("body"));
  drag.linear = number_or(o, "linear", 0, non_negative("N·s/m"));
  drag.angular = number_or(o, "angular", 0, non_negative("N·m·s"));
  return drag;
}

void read_force(Builder& b, const Value& v) {
  if (!v.json->is_object()) fail(v, "an object, a force");
  if (!v.json->contains("kind")) refuse(v, "the key 'kind' is missing in a force");
  const KeyTable* tables[] = {&keys::spring, &keys::torsion_spring,  &keys::bushing,
                              &keys::load,   &keys::central_gravity, &keys::drag};
  const int kind = to_word(v.at("kind"), words::force_kind);
  const Object o = to_object(v, *tables[kind]);
  const std::string name = take_name(b.forces, o, static_cast<int>(b.model.forces.size()));
  const auto read = [&]() -> Force {
    switch (kind) {
      case 0:
        return read_spring(b, o, name);
      case 1:
        return read_torsion_spring(b, o);
      case 2:
        return read_bushing(b, o, name);
      case 3:
        return read_load(b, o, name);
      case 4:
        return read_central_gravity(o);
      default:
        return read_drag(b, o);
    }
  };
  Force force = read();
  std::visit([&](auto& f) { f.name = name; }, force);
  b.model.forces.push_back(std::move(force));
}

}  // namespace

void read_forces(Builder& b, const Object& scene) {
  const auto list = scene.find("forces");
  if (!list) return;
  for (const Value& item : to_items(*list, "an array of forces")) read_force(b, item);
}

}  // namespace urto::scene
