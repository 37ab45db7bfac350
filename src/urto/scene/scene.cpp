#include "urto/scene/scene.h"

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/scene/scene_builder.h"
#include "urto/scene/scene_document.h"

namespace urto {
namespace scene {
namespace {

constexpr std::string_view body_quantities[] = {"x",  "y",  "z",  "vx", "vy",
                                                "vz", "wx", "wy", "wz", "speed"};

constexpr std::size_t longest_description = 1 << 20;

Vec3 read_gravity(const Value& v) {
  if (v.json->is_number()) return {0, 0, -to_number(v)};
  if (v.json->is_array()) return to_vec3(v, "m/s²");
  fail(v, "three numbers [m/s²], or one that points along −z");
}

/// Gears and racks mesh as they are placed: their target is what they have at the start.
void place_couplings(Builder& b) {
  if (b.couplings_as_placed.empty()) return;
  const State start = initial_state(b.model);
  for (const int index : b.couplings_as_placed) {
    Coupling& coupling = b.model.couplings[index];
    double sum = 0;
    for (std::size_t k = 0; k < coupling.factors.size(); ++k) {
      sum += coupling.factors[k] * coordinate_value(b.model, start, coupling.coordinates[k]);
    }
    coupling.target = ConstantFunction{sum};
  }
}

void read_model(Builder& b, const Object& o) {
  b.model.name = b.scene.title;
  if (const auto gravity = o.find("gravity")) b.model.gravity = read_gravity(*gravity);
  read_materials(b, o);
  read_meshes(b, o);
  add_world(b);
  read_bodies(b, o);
  read_excluded(b, o);
  read_markers(b, o);
  read_joints(b, o);
  read_drives(b, o);
  read_forces(b, o);
}

/// The reader has checked what it can with its place in the file; this checks the rest.
void finish_scene(Scene& scene, const Document& document) {
  try {
    finalize(scene.model);
    validate(scene.options);
    if (scene.first_order) {
      const FirstOrderScene& f = *scene.first_order;
      validate(f.system, 0, f.start, "system");
      validate(f.options, f.system);
    }
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", document.origins.file, error.what()));
  }
  scene.normalized_json = document.root.dump(2, ' ', false, Json::error_handler_t::replace);
}

Scene build(const Document& document) {
  Scene scene;
  const Object o = to_object(document.value(), keys::scene);
  if (const auto title = o.find("title")) scene.title = to_text(*title);
  if (const auto text = o.find("description"))
    scene.description = to_text(*text, longest_description);
  Builder builder{scene, scene.model};
  if (has_first_order(o)) {
    add_world(builder);
    read_first_order(scene, o);
    read_simulation(scene.options, o);
    finish_scene(scene, document);
    read_first_order_watch(scene, o);
    return scene;
  }
  read_model(builder, o);
  read_simulation(scene.options, o);
  finish_scene(scene, document);
  place_couplings(builder);
  read_watch(builder, o);
  return scene;
}

}  // namespace

void read_watch(Builder& b, const Object& scene) {
  const auto list = scene.find("watch");
  if (!list) return;
  for (const Value& item : to_items(*list, "an array of quantities")) {
    const std::string text = to_text(item);
    const std::size_t dot = text.rfind('.');
    const std::string thing = text.substr(0, dot);
    const std::string quantity = dot == std::string::npos ? "" : text.substr(dot + 1);
    const auto joint = b.joints.entries.find(thing);
    const bool is_joint = joint != b.joints.entries.end();
    const bool is_body = b.bodies.entries.contains(thing);
    if (!is_joint && !is_body) {
      fail(item, "\"joint.coordinate\" or \"body.quantity\" with a joint or body of the scene");
    }
    if (is_body && contains(body_quantities, quantity)) {
      // A body and a joint may share a name; the quantity tells them apart.
    } else if (is_joint) {
      to_coordinate(b, item, quantity, joint->second.index);
    } else {
      fail(item, fmt::format("one of: {}", fmt::join(body_quantities, ", ")));
    }
    b.scene.watch.push_back(text);
  }
}

}  // namespace scene

Scene parse_scene(std::string_view text, std::string_view name,
                  std::span<const std::string> overrides) {
  using namespace urto::scene;
  Document document = read_document(text, name);
  for (const std::string& override_text : overrides) apply_override(document, override_text);
  const Variables parameters = evaluate_parameters(document);
  Document expanded = expand(document, parameters);
  embed_files(expanded);
  Scene scene = build(expanded);
  scene.parameters.insert(parameters.begin(), parameters.end());
  return scene;
}

Scene load_scene(const std::filesystem::path& file, std::span<const std::string> overrides) {
  return parse_scene(scene::read_part(file), file.string(), overrides);
}

}  // namespace urto
