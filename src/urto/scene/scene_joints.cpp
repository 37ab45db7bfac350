// Joints, in the long form (two markers) and the short one (a place in the world at the start).
#include <cmath>

#include <fmt/format.h>

#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

/// Which keys of the short form a kind cannot do without. Where the place only chooses the zero of
/// the coordinates it may be left out.
Need needs_position(JointKind kind) {
  switch (kind) {
    case JointKind::fixed:
    case JointKind::prismatic:
    case JointKind::planar:
    case JointKind::free:
      return Need::no;
    default:
      return Need::yes;
  }
}

Need needs_axis(JointKind kind) {
  switch (kind) {
    case JointKind::fixed:
    case JointKind::spherical:
    case JointKind::free:
      return Need::no;
    default:
      return Need::yes;
  }
}

/// Keys that only one kind of joint has.
void check_kind_keys(const Object& o, JointKind kind) {
  const auto only = [&](std::string_view key, JointKind owner) {
    if (o.has(key) && kind != owner) {
      refuse(o.at(key), fmt::format("'{}' is for {} joints, this one is {}", key, to_string(owner),
                                    to_string(kind)));
    }
  };
  only("length", JointKind::distance);
  only("points", JointKind::distance);
  only("pitch", JointKind::screw);
  if (kind != JointKind::distance) return;
  for (const std::string_view key : {"position", "axis", "x_axis"}) {
    if (o.has(key)) refuse(o.at(key), "a distance joint has 'points', one on each body");
  }
}

void read_distance(Builder& b, const Object& o, Joint& joint) {
  const Attachment at = read_points(b, o, joint.name);
  joint.marker_a = at.a;
  joint.marker_b = at.b;
  joint.length = start_value(b, at, {MeasureKind::distance, 0, 0});
  if (const auto length = o.find("length")) {
    joint.length = to_number(*length, positive("m"));
  } else if (!(joint.length > 0)) {
    refuse(o.value, "the two points coincide at the start, so 'length' is needed");
  }
}

void read_joint(Builder& b, const Value& v) {
  const Object o = to_object(v, keys::joint);
  const int index = static_cast<int>(b.model.joints.size());
  Joint joint;
  joint.name = take_name(b.joints, o, index);
  joint.kind = static_cast<JointKind>(to_word(o.at("kind"), words::joint_kind));
  check_kind_keys(o, joint.kind);
  if (joint.kind == JointKind::distance) {
    read_distance(b, o, joint);
  } else {
    const Attachment at =
        read_frames(b, o, joint.name, needs_position(joint.kind), needs_axis(joint.kind));
    joint.marker_a = at.a;
    joint.marker_b = at.b;
  }
  if (joint.kind == JointKind::screw) joint.pitch = to_number(o.at("pitch"), any("m"));
  joint.softness = read_softness(o);
  joint.collide = bool_or(o, "collide", false);
  b.model.joints.push_back(std::move(joint));
  read_joint_extras(b, o, index);
}

}  // namespace

void read_joints(Builder& b, const Object& scene) {
  const auto list = scene.find("joints");
  if (!list) return;
  for (const Value& item : to_items(*list, "an array of joints")) read_joint(b, item);
}

CoordinateRef to_coordinate(const Builder& b, const Value& place, std::string_view name,
                            int joint) {
  const JointKind kind = b.model.joints[joint].kind;
  const int index = find_coordinate(kind, name);
  if (index >= 0) return {joint, index};
  std::vector<std::string_view> known;
  for (const JointCoordinate& c : coordinates(kind)) known.push_back(c.name);
  if (known.empty()) {
    refuse(place, fmt::format("a {} joint has no coordinates", to_string(kind)));
  }
  refuse(place, fmt::format("a {} joint has no coordinate '{}', only: {}", to_string(kind), name,
                            fmt::join(known, ", ")));
}

CoordinateRef read_coordinate(const Builder& b, const Object& o, int joint) {
  if (const auto name = o.find("coordinate")) return to_coordinate(b, *name, to_text(*name), joint);
  const auto all = coordinates(b.model.joints[joint].kind);
  if (all.size() == 1) return {joint, 0};
  std::vector<std::string_view> known;
  for (const JointCoordinate& c : all) known.push_back(c.name);
  refuse(o.value, fmt::format("the key 'coordinate' is missing; a {} joint has: {}",
                              to_string(b.model.joints[joint].kind),
                              all.empty() ? "none" : fmt::format("{}", fmt::join(known, ", "))));
}

}  // namespace urto::scene
