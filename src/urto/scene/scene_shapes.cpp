// Shapes and the materials of their surfaces. Scenes give full lengths, the model half ones.
#include <cmath>

#include <fmt/format.h>

#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

const KeyTable& table_of(ShapeKind kind) {
  switch (kind) {
    case ShapeKind::sphere:
      return keys::sphere;
    case ShapeKind::box:
      return keys::box;
    case ShapeKind::cylinder:
      return keys::cylinder;
    case ShapeKind::capsule:
      return keys::capsule;
    case ShapeKind::cone:
      return keys::cone;
    case ShapeKind::ellipsoid:
      return keys::ellipsoid;
    case ShapeKind::hull:
      return keys::hull;
    case ShapeKind::mesh:
      return keys::mesh;
    case ShapeKind::height_field:
      return keys::height_field;
    case ShapeKind::half_space:
      break;
  }
  return keys::half_space;
}

Vec3 three_positive(const Value& v) {
  const std::vector<double> x = to_numbers(v, 3, positive("m"));
  return {x[0], x[1], x[2]};
}

Vec3 read_size(const Object& o, ShapeKind kind) {
  const auto radius = [&] { return to_number(o.at("radius"), positive("m")); };
  const auto half = [&](const char* key) { return to_number(o.at(key), positive("m")) / 2; };
  switch (kind) {
    case ShapeKind::sphere:
      return {radius(), 0, 0};
    case ShapeKind::box:
      return three_positive(o.at("size")) / 2;
    case ShapeKind::cylinder:
    case ShapeKind::capsule:
      return {radius(), half("length"), 0};
    case ShapeKind::cone:
      return {radius(), half("height"), 0};
    case ShapeKind::ellipsoid:
      return three_positive(o.at("radii"));
    case ShapeKind::half_space:
    case ShapeKind::hull:
    case ShapeKind::mesh:
    case ShapeKind::height_field:
      break;
  }
  return Vec3::Zero();
}

/// What is round already, or has no edges, has nothing to round.
void check_has_edges(const Value& v, ShapeKind kind) {
  if (kind == ShapeKind::sphere || kind == ShapeKind::capsule || kind == ShapeKind::ellipsoid) {
    refuse(v.at("margin"), fmt::format("a {} has no 'margin': it is round", to_string(kind)));
  }
  if (kind == ShapeKind::half_space) {
    refuse(v.at("margin"), "a half-space has no 'margin': it has no edges");
  }
  if (kind == ShapeKind::mesh || kind == ShapeKind::height_field) {
    refuse(v.at("margin"),
           fmt::format("a {} has no 'margin': it touches with its triangles as they are",
                       to_string(kind)));
  }
}

// The same tests as in finalize(), where the place in the file is known. A pair that says how much
// friction there is drops the static one that it has inherited.
void read_friction(const Object& o, Material& material) {
  material.friction = number_or(o, "friction", material.friction, non_negative());
  if (o.has("friction")) material.static_friction = 0;
  material.static_friction =
      number_or(o, "static_friction", material.static_friction, non_negative());
  material.stribeck_speed =
      number_or(o, "stribeck_speed", material.stribeck_speed, non_negative("m/s"));
  material.stribeck_exponent =
      number_or(o, "stribeck_exponent", material.stribeck_exponent,
                {.low = 0, .high = 10, .above = true});
  if (material.static_friction > 0 && material.static_friction < material.friction) {
    fail(o.at("static_friction"),
         fmt::format("at least {}, the 'friction' of what slides", material.friction));
  }
  if (has_stribeck_effect(material) && material.stribeck_speed == 0) {
    refuse(o.value,
           "'static_friction' needs a 'stribeck_speed': the speed over which friction falls to that "
           "of sliding");
  }
}

Material read_properties(const Object& o, Material material) {
  read_friction(o, material);
  material.restitution = number_or(o, "restitution", material.restitution, fraction());
  material.restitution_threshold =
      number_or(o, "restitution_threshold", material.restitution_threshold, non_negative("m/s"));
  material.rolling_friction =
      number_or(o, "rolling_friction", material.rolling_friction, non_negative("m"));
  material.spinning_friction =
      number_or(o, "spinning_friction", material.spinning_friction, non_negative("m"));
  material.stiffness = number_or(o, "stiffness", material.stiffness, or_infinite(positive("N/m")));
  material.damping = number_or(o, "damping", material.damping, non_negative("N·s/m"));
  material.cohesion = number_or(o, "cohesion", material.cohesion, non_negative("N"));
  material.cohesion_range =
      number_or(o, "cohesion_range", material.cohesion_range, non_negative("m"));
  // A pair that says rigid or soft itself drops what it has inherited and cannot keep.
  const bool soft = std::isfinite(material.stiffness);
  if (soft && !o.has("restitution")) material.restitution = 0;
  if (!soft && !o.has("damping")) material.damping = 0;
  // The same tests as in finalize(), where the place in the file is known.
  if (soft && material.restitution > 0) {
    refuse(o.value,
           "'restitution' does not go with a finite 'stiffness': a soft contact rebounds by its "
           "stiffness and damping");
  }
  if (!soft && material.damping > 0) refuse(o.value, "'damping' needs a finite 'stiffness'");
  return material;
}

void read_mixing(Mixing& mixing, const Value& v) {
  const Object o = to_object(v, keys::mixing);
  const auto rule = [&](std::string_view key, MixingRule& out, bool has_unit) {
    const auto word = o.find(key);
    if (!word) return;
    out = static_cast<MixingRule>(to_word(*word, words::mixing_rule));
    if (has_unit && out == MixingRule::multiply) {
      fail(*word, "another rule: a product of two amounts with a unit has another unit");
    }
  };
  rule("friction", mixing.friction, false);
  rule("restitution", mixing.restitution, false);
  rule("restitution_threshold", mixing.restitution_threshold, true);
  rule("rolling_friction", mixing.rolling_friction, true);
  rule("spinning_friction", mixing.spinning_friction, true);
  rule("cohesion", mixing.cohesion, true);
  rule("cohesion_range", mixing.cohesion_range, true);
}

}  // namespace

Shape read_shape(Builder& b, const Value& v, const Filter& filter) {
  if (!v.json->is_object()) fail(v, "an object, a shape");
  if (!v.json->contains("kind")) refuse(v, "the key 'kind' is missing in a shape");
  Shape shape;
  shape.kind = static_cast<ShapeKind>(to_word(v.at("kind"), words::shape_kind));
  if (v.json->contains("margin")) check_has_edges(v, shape.kind);
  const Object o = to_object(v, table_of(shape.kind));
  shape.size = read_size(o, shape.kind);
  shape.pose = to_pose(o);
  if (has_geometry(shape.kind)) shape.geometry = read_geometry(b, o, shape.kind);
  if (contains(o.table->keys, "margin")) {
    const double most = largest_margin(shape, b.mesh_facts);
    shape.margin = number_or(o, "margin", 0, {.low = 0, .high = most, .unit = "m"});
  }
  if (const auto material = o.find("material")) {
    shape.material = find_named(b.materials, *material);
  }
  shape.collides = bool_or(o, "collides", true);
  const Filter own = read_filter(b, o, filter);
  shape.layers = own.layers;
  shape.mask = own.mask;
  return shape;
}

void read_materials(Builder& b, const Object& scene) {
  // Shapes without a material have this one; a scene may give it other values.
  b.model.materials = {Material{}};
  b.materials.entries["default"] = {0, ""};
  if (const auto section = scene.find("materials")) {
    if (!section->json->is_object()) fail(*section, "an object, names and materials");
    for (const auto& [name, unused] : section->json->items()) {
      const Value v = section->at(name);
      Material material = read_properties(to_object(v, keys::material), Material{});
      material.name = name;
      if (name == "default") {
        b.model.materials[0] = material;
        continue;
      }
      const Json name_json = name;
      to_name({&name_json, v.path, v.origins});
      take_name(b.materials, v, name, static_cast<int>(b.model.materials.size()));
      b.model.materials.push_back(material);
    }
  }
  if (const auto mixing = scene.find("mixing")) read_mixing(b.model.mixing, *mixing);
  const auto pairs = scene.find("material_pairs");
  if (!pairs) return;
  for (const Value& item : to_items(*pairs, "an array of material pairs")) {
    const Object o = to_object(item, keys::material_pair);
    const auto names = to_items(o.at("materials"), "two names of materials", 2);
    Model::MaterialPair pair;
    pair.a = find_named(b.materials, names[0]);
    pair.b = find_named(b.materials, names[1]);
    for (const auto& other : b.model.material_pairs) {
      if (std::minmax(other.a, other.b) != std::minmax(pair.a, pair.b)) continue;
      refuse(item, "these two materials already have a pair of their own");
    }
    pair.properties = read_properties(
        o, mixed(b.model.materials[pair.a], b.model.materials[pair.b], b.model.mixing));
    b.model.material_pairs.push_back(pair);
  }
}

}  // namespace urto::scene
