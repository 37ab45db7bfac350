#include "urto/scene/scene_builder.h"

#include <algorithm>

#include <fmt/format.h>

namespace urto::scene {
namespace {

BodyPlace start_place(const Builder& b, int body) {
  const Pose& start = b.model.bodies[body].start;
  Vec3 x = start.position;
  Vec4 p = start.rotation;
  // A prescribed motion need not begin at zero.
  if (b.model.bodies[body].kind == BodyKind::kinematic) {
    const Motion& motion = b.model.bodies[body].motion;
    for (int i = 0; i < 3; ++i) x[i] += evaluate(motion.position[i], 0).value;
    p = add_rotation(p, evaluate(motion.angle, 0).value * motion.axis);
  }
  return {x, rotation_matrix(p)};
}

Attachment read_marker_pair(const Builder& b, const Object& o) {
  const auto names = to_items(o.at("markers"), "two names of markers", 2);
  const Attachment at{find_named(b.markers, names[0]), find_named(b.markers, names[1])};
  if (b.model.markers[at.a].body == b.model.markers[at.b].body) {
    fail(o.at("markers"), "two markers on one body", "markers on two bodies");
  }
  for (const std::string_view key : {"bodies", "position", "axis", "x_axis", "points"}) {
    if (contains(o.table->keys, key) && o.has(key)) {
      refuse(o.at(key), fmt::format("'{}' does not go with 'markers', which say the same", key));
    }
  }
  return at;
}

std::pair<int, int> read_body_pair(const Builder& b, const Object& o) {
  if (!o.has("bodies")) {
    refuse(o.value, fmt::format("{} needs 'bodies' or 'markers'", o.table->noun));
  }
  const auto names = to_items(o.at("bodies"), "two names of bodies", 2);
  const std::pair pair{find_named(b.bodies, names[0]), find_named(b.bodies, names[1])};
  if (pair.first == pair.second) fail(o.at("bodies"), "two different bodies");
  return pair;
}

/// z along "axis", x towards "x_axis".
Mat3 read_axes(const Object& o, Need axis) {
  const Vec3 z =
      axis == Need::yes || o.has("axis") ? to_direction(o.at("axis")) : Vec3(Vec3::UnitZ());
  const auto given = o.find("x_axis");
  if (!given) return axes_with_z(z);
  const Vec3 direction = to_direction(*given);
  const Vec3 across = direction - direction.dot(z) * z;
  if (across.norm() < 1e-6) fail(*given, "a direction that is not along 'axis'");
  Mat3 axes;
  axes.col(2) = z;
  axes.col(0) = across.normalized();
  axes.col(1) = z.cross(axes.col(0));
  return axes;
}

}  // namespace

std::string take_name(NameIndex& names, const Object& o, int index) {
  if (const auto given = o.find("name")) return take_name(names, *given, to_name(*given), index);
  std::string name = fmt::format("{}-{}", names.noun, index);
  std::replace(name.begin(), name.end(), ' ', '-');
  return take_name(names, o.value, std::move(name), index);
}

std::string take_name(NameIndex& names, const Value& place, std::string name, int index) {
  const auto [it, is_new] = names.entries.try_emplace(name, NameIndex::Entry{index, place.path});
  if (!is_new) {
    const std::string first = it->second.path.empty()
                                  ? "always there"
                                  : "first used at " + where(*place.origins, it->second.path);
    refuse(place, fmt::format("duplicate {} name '{}', {}", names.noun, name, first));
  }
  return name;
}

int find_named(const NameIndex& names, const Value& v) {
  if (!v.json->is_string()) fail(v, fmt::format("the name of a {}", names.noun));
  const auto& name = v.json->get_ref<const std::string&>();
  if (const auto it = names.entries.find(name); it != names.entries.end()) return it->second.index;
  std::vector<std::string_view> known;
  for (const auto& [other, unused] : names.entries) known.push_back(other);
  refuse(v, fmt::format("there is no {} '{}'{}", names.noun, name, suggestion(name, known)));
}

Softness read_softness(const Object& o) {
  const Softness rigid;
  return {number_or(o, "stiffness", rigid.stiffness, or_infinite(positive())),
          number_or(o, "damping", rigid.damping, non_negative())};
}

int add_world_marker(Builder& b, std::string name, int body, const Vec3& point, const Mat3& axes) {
  const BodyPlace at = start_place(b, body);
  b.model.markers.push_back(
      {std::move(name), body, {at.A.transpose() * (point - at.x), at.A.transpose() * axes}});
  return static_cast<int>(b.model.markers.size()) - 1;
}

Attachment read_frames(Builder& b, const Object& o, const std::string& name, Need position,
                       Need axis) {
  if (o.has("markers")) return read_marker_pair(b, o);
  const auto [first, second] = read_body_pair(b, o);
  const bool given = position == Need::yes || o.has("position");
  const Vec3 point = given ? to_vec3(o.at("position"), "m") : start_place(b, second).x;
  const Mat3 axes = read_axes(o, axis);
  const int a = add_world_marker(b, name + ":a", first, point, axes);
  return {a, add_world_marker(b, name + ":b", second, point, axes)};
}

Attachment read_points(Builder& b, const Object& o, const std::string& name) {
  if (o.has("markers")) return read_marker_pair(b, o);
  const auto [first, second] = read_body_pair(b, o);
  const auto points = to_items(o.at("points"), "two points, one on each body", 2);
  const Vec3 on_first = to_vec3(points[0], "m"), on_second = to_vec3(points[1], "m");
  const int a = add_world_marker(b, name + ":a", first, on_first, Mat3::Identity());
  return {a, add_world_marker(b, name + ":b", second, on_second, Mat3::Identity())};
}

double start_value(const Builder& b, const Attachment& at, const Measure& measure) {
  const Marker& first = b.model.markers[at.a];
  const Marker& second = b.model.markers[at.b];
  return evaluate(measure, start_place(b, first.body), first.frame, start_place(b, second.body),
                  second.frame)
      .value;
}

}  // namespace urto::scene
