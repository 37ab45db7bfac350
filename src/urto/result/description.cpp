#include "urto/result/description.h"

#include <algorithm>

#include "urto/result/model_scales.h"
#include "urto/version.h"

namespace urto {
namespace {

const char* name_of(BodyKind kind) {
  switch (kind) {
    case BodyKind::dynamic:
      return "dynamic";
    case BodyKind::fixed:
      return "fixed";
    case BodyKind::kinematic:
      return "kinematic";
  }
  return "";
}

DescribedJoint describe_joint(const Model& model, const Joint& joint) {
  DescribedJoint out{std::string(joint.name), std::string(to_string(joint.kind))};
  const std::array<const Marker*, 2> markers = {&model.markers[joint.marker_a],
                                                &model.markers[joint.marker_b]};
  for (std::size_t side = 0; side < 2; ++side) {
    out.body[side] = markers[side]->body;
    out.position[side] = markers[side]->frame.p;
    out.axes[side] = markers[side]->frame.R;
  }
  return out;
}

template <typename Items>
NamedGroup named(std::string_view group, const Items& items) {
  NamedGroup out{std::string(group)};
  for (const auto& item : items) out.items.push_back(item.name);
  return out;
}

void describe_model(const Model& model, Description& out) {
  for (const Body& b : model.bodies)
    out.bodies.push_back({b.name, name_of(b.kind), b.mass, b.inertia});
  for (const Shape& s : model.shapes)
    out.shapes.push_back({s.kind, s.body, s.size, s.pose, s.geometry, s.material, s.collides});
  out.meshes = model.meshes;
  for (const Material& m : model.materials) out.materials.push_back(m.name);
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    out.joints.push_back(describe_joint(model, model.joints[k]));
    for (const JointCoordinate& c : coordinates(model.joints[k].kind))
      out.coordinates.push_back({static_cast<int>(k), std::string(c.name)});
  }
  out.groups = {named("motors", model.motors), named("limits", model.limits),
                named("frictions", model.frictions), named("couplings", model.couplings)};
  out.channels.assign(model_channels().begin(), model_channels().end());
}

}  // namespace

std::span<const Channel> model_channels() {
  static const std::vector<Channel> channels = {
      {"position", "bodies", "position", "m", 3},
      {"rotation", "bodies", "rotation", "–", 4},
      {"velocity", "bodies", "velocity", "m/s", 3},
      {"angular_velocity", "bodies", "angular velocity", "rad/s", 3},
      {"coordinate", "coordinates", "coordinate", "m, rad", 1},
      {"coordinate_rate", "coordinates", "rate", "m/s, rad/s", 1},
      {"joint_reaction", "joints", "reaction", "N, N·m", 6},
      {"motor_force", "motors", "force", "N, N·m", 1},
      {"limit_force", "limits", "force", "N, N·m", 1},
      {"friction_force", "frictions", "force", "N, N·m", 1},
      {"coupling_force", "couplings", "force", "N, N·m", 1},
  };
  return channels;
}

std::size_t Description::count(std::string_view group) const {
  if (group == "bodies") return bodies.size();
  if (group == "joints") return joints.size();
  if (group == "coordinates") return coordinates.size();
  const auto at = std::ranges::find(groups, group, &NamedGroup::name);
  return at == groups.end() ? 0 : at->items.size();
}

std::size_t Description::size(const Channel& channel) const {
  return count(channel.group) * static_cast<std::size_t>(channel.width);
}

int find_channel(const Description& description, std::string_view name) {
  const auto at = std::ranges::find(description.channels, name, &Channel::name);
  if (at == description.channels.end() || description.size(*at) == 0) return -1;
  return static_cast<int>(at - description.channels.begin());
}

Description describe(const Scene& scene, std::vector<std::string> warnings) {
  Description out;
  out.title = scene.title;
  out.scene = scene.normalized_json;
  out.urto_version = version;
  out.settings = scene.options;
  out.warnings = std::move(warnings);
  describe_model(scene.model, out);
  const ModelScales scales = scales_of(scene.model);
  const double T = scene.options.duration;
  out.scale = {.size = scales.size,
               .free_flight = scales.fastest * T + 0.5 * scene.model.gravity.norm() * T * T,
               .least_energy = least_energy(scene.model, scales, scene.options.step, T)};
  return out;
}

}  // namespace urto
