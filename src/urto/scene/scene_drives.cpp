// What acts on joint coordinates: motors, limits, dry friction, couplings, gears, racks.
#include <fmt/format.h>

#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

/// Reads every item of an array section.
template <typename Read>
void for_each_item(const Object& scene, std::string_view key, const KeyTable& table, Read read) {
  const auto list = scene.find(key);
  if (!list) return;
  for (const Value& item : to_items(*list, "an array")) read(to_object(item, table));
}

int read_joint_name(const Builder& b, const Object& o) {
  return find_named(b.joints, o.at("joint"));
}

/// A motor's settings but its name and place.
Motor read_motor_settings(const Object& o) {
  Motor motor;
  motor.mode = static_cast<MotorMode>(to_word(o.at("mode"), words::motor_mode));
  motor.value = read_function(o.at("value"));
  motor.max_force = number_or(o, "max_force", motor.max_force, or_infinite(non_negative()));
  if (std::isfinite(motor.max_force) && motor.mode != MotorMode::speed) {
    refuse(o.at("max_force"), "'max_force' is for motors with the mode 'speed'");
  }
  motor.softness = read_softness(o);
  return motor;
}

/// A bound; null is none.
double read_bound(const Value& v, double none) {
  return v.json->is_null() ? none : to_number(v, or_infinite(any()));
}

Limit read_limit_settings(const Object& o) {
  Limit limit;
  if (const auto lower = o.find("lower")) limit.lower = read_bound(*lower, limit.lower);
  if (const auto upper = o.find("upper")) limit.upper = read_bound(*upper, limit.upper);
  limit.restitution = number_or(o, "restitution", 0, fraction());
  limit.softness = read_softness(o);
  return limit;
}

void check_order(const Value& v, const Limit& limit) {
  if (limit.lower <= limit.upper) return;
  fail(v, fmt::format("lower {} and upper {}", limit.lower, limit.upper), "the lower one first");
}

std::string coordinate_label(const Builder& b, const CoordinateRef& c) {
  const Joint& joint = b.model.joints[c.joint];
  return fmt::format("{}.{}", joint.name, coordinates(joint.kind)[c.coordinate].name);
}

void add_limit(Builder& b, const Value& place, std::string name, const Limit& limit) {
  const int index = static_cast<int>(b.model.limits.size());
  b.model.limits.push_back(limit);
  b.model.limits.back().name = take_name(b.limits, place, std::move(name), index);
}

void add_friction(Builder& b, const Value& place, std::string name, const CoordinateRef& on,
                  double bound) {
  const int index = static_cast<int>(b.model.frictions.size());
  b.model.frictions.push_back({take_name(b.frictions, place, std::move(name), index), on, bound});
}

void read_inline_limits(Builder& b, const Object& o, int joint) {
  const auto section = o.find("limits");
  if (o.has("restitution") && !section) {
    refuse(o.at("restitution"), "a joint's 'restitution' is that of its 'limits'");
  }
  if (!section) return;
  if (!section->json->is_object()) {
    fail(*section, R"(an object like {"angle": [lower, upper]})");
  }
  const double restitution = number_or(o, "restitution", 0, fraction());
  for (const auto& [name, json] : section->json->items()) {
    const Value v = section->at(name);
    const CoordinateRef on = to_coordinate(b, v, name, joint);
    Limit limit;
    if (json.is_object()) {
      const Object settings = to_object(v, keys::joint_limit);
      limit = read_limit_settings(settings);
      if (!settings.has("restitution")) limit.restitution = restitution;
    } else {
      const auto bounds = to_items(v, "[lower, upper] or an object, a limit", 2);
      limit.lower = read_bound(bounds[0], limit.lower);
      limit.upper = read_bound(bounds[1], limit.upper);
      limit.restitution = restitution;
    }
    check_order(v, limit);
    limit.on = on;
    add_limit(b, v, coordinate_label(b, on) + "-limit", limit);
  }
}

void read_inline_friction(Builder& b, const Object& o, int joint) {
  const auto section = o.find("friction");
  if (!section) return;
  if (!section->json->is_object()) fail(*section, R"(an object like {"angle": bound})");
  for (const auto& [name, unused] : section->json->items()) {
    const Value v = section->at(name);
    const CoordinateRef on = to_coordinate(b, v, name, joint);
    add_friction(b, v, coordinate_label(b, on) + "-friction", on,
                 to_number(v, non_negative("N, N·m")));
  }
}

void read_coupling(Builder& b, const Object& o) {
  Coupling coupling;
  coupling.name = take_name(b.couplings, o, static_cast<int>(b.model.couplings.size()));
  for (const Value& item : to_items(o.at("coordinates"), "an array of coupled coordinates")) {
    const Object term = to_object(item, keys::coupling_term);
    coupling.coordinates.push_back(read_coordinate(b, term, read_joint_name(b, term)));
    coupling.factors.push_back(number_or(term, "factor", 1));
  }
  if (coupling.coordinates.empty()) fail(o.at("coordinates"), "at least one coordinate");
  if (const auto target = o.find("target")) coupling.target = read_function(*target);
  coupling.softness = read_softness(o);
  b.model.couplings.push_back(std::move(coupling));
}

/// A coupling of two coordinates that keeps what it has at the start.
void add_transmission(Builder& b, const Object& o, const CoordinateRef& first, double factor,
                      const CoordinateRef& second, double second_factor) {
  const int index = static_cast<int>(b.model.couplings.size());
  Coupling coupling;
  coupling.name = take_name(b.couplings, o, index);
  coupling.coordinates = {first, second};
  coupling.factors = {factor, second_factor};
  coupling.softness = read_softness(o);
  b.model.couplings.push_back(std::move(coupling));
  b.couplings_as_placed.push_back(index);
}

void read_gear(Builder& b, const Object& o) {
  const auto names = to_items(o.at("joints"), "two names of joints", 2);
  const int first = find_named(b.joints, names[0]), second = find_named(b.joints, names[1]);
  if (first == second) fail(o.at("joints"), "two different joints");
  const double ratio = to_number(o.at("ratio"));
  if (ratio == 0) fail(o.at("ratio"), "a number that is not zero");
  add_transmission(b, o, to_coordinate(b, names[0], "angle", first), 1,
                   to_coordinate(b, names[1], "angle", second), ratio);
}

void read_rack(Builder& b, const Object& o) {
  const int pinion = find_named(b.joints, o.at("pinion"));
  const int rack = find_named(b.joints, o.at("rack"));
  const double radius = to_number(o.at("radius"), any("m"));
  if (radius == 0) fail(o.at("radius"), "a number that is not zero [m]");
  add_transmission(b, o, to_coordinate(b, o.at("rack"), "displacement", rack), 1,
                   to_coordinate(b, o.at("pinion"), "angle", pinion), -radius);
}

void read_motor(Builder& b, const Object& o) {
  const std::string name = take_name(b.motors, o, static_cast<int>(b.model.motors.size()));
  Motor motor = read_motor_settings(o);
  motor.name = name;
  motor.on = read_coordinate(b, o, read_joint_name(b, o));
  b.model.motors.push_back(std::move(motor));
}

void read_limit(Builder& b, const Object& o) {
  Limit limit = read_limit_settings(o);
  check_order(o.value, limit);
  limit.on = read_coordinate(b, o, read_joint_name(b, o));
  limit.name = take_name(b.limits, o, static_cast<int>(b.model.limits.size()));
  b.model.limits.push_back(std::move(limit));
}

void read_friction(Builder& b, const Object& o) {
  JointFriction friction;
  friction.on = read_coordinate(b, o, read_joint_name(b, o));
  friction.bound = to_number(o.at("bound"), non_negative("N, N·m"));
  friction.name = take_name(b.frictions, o, static_cast<int>(b.model.frictions.size()));
  b.model.frictions.push_back(std::move(friction));
}

}  // namespace

void read_joint_extras(Builder& b, const Object& o, int joint) {
  read_inline_limits(b, o, joint);
  if (const auto v = o.find("motor")) {
    const Object settings = to_object(*v, keys::joint_motor);
    const int index = static_cast<int>(b.model.motors.size());
    Motor motor = read_motor_settings(settings);
    motor.on = read_coordinate(b, settings, joint);
    motor.name = settings.has("name")
                     ? take_name(b.motors, settings, index)
                     : take_name(b.motors, *v, b.model.joints[joint].name + "-motor", index);
    b.model.motors.push_back(std::move(motor));
  }
  read_inline_friction(b, o, joint);
}

void read_drives(Builder& b, const Object& scene) {
  for_each_item(scene, "motors", keys::motor, [&](const Object& o) { read_motor(b, o); });
  for_each_item(scene, "limits", keys::limit, [&](const Object& o) { read_limit(b, o); });
  for_each_item(scene, "frictions", keys::friction, [&](const Object& o) { read_friction(b, o); });
  for_each_item(scene, "couplings", keys::coupling, [&](const Object& o) { read_coupling(b, o); });
  for_each_item(scene, "gears", keys::gear, [&](const Object& o) { read_gear(b, o); });
  for_each_item(scene, "rack_and_pinion", keys::rack_and_pinion,
                [&](const Object& o) { read_rack(b, o); });
}

}  // namespace urto::scene
