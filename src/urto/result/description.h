// What a result says about its model and its run besides what changed: enough to draw it, to name
// every number in it, and to run it again. A plain value: `describe` makes it from a scene, a
// result file gives it back.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/model/shape.h"
#include "urto/result/frame.h"
#include "urto/scene/scene.h"
#include "urto/stepper/options.h"

namespace urto {

struct DescribedBody {
  std::string name = {}, kind = {};  ///< kind: dynamic, fixed, kinematic
  double mass = 0;
  Mat3 inertia = Mat3::Zero();  ///< about the centre of mass, body axes
};

struct DescribedShape {
  ShapeKind kind = ShapeKind::sphere;
  int body = 0;
  Vec3 size = Vec3::Zero();  ///< as in shape.h
  Pose pose = {};            ///< from the body's centre of mass
  int geometry = -1;         ///< into the meshes
  int material = 0;          ///< into the materials
  bool collides = true;
};

struct DescribedJoint {
  std::string name = {}, kind = {};
  std::array<int, 2> body{};
  std::array<Vec3, 2> position = {Vec3::Zero(), Vec3::Zero()};  ///< of the markers in their bodies
  std::array<Mat3, 2> axes = {Mat3::Identity(), Mat3::Identity()};
};

struct DescribedCoordinate {
  int joint = 0;
  std::string name = {};  ///< "angle", "displacement" …
  bool is_angle() const { return name.starts_with("angle") || name == "swing"; }
};

/// Things of one kind that have names and channels of their own: motors, limits, nodes, scalars …
struct NamedGroup {
  std::string name = {};
  std::vector<std::string> items = {};
};

/// What a run's errors are judged beside (verdict.h).
struct DescribedScale {
  double size = 0;          ///< [m] of the model
  double free_flight = 0;   ///< [m] that gravity and the first velocities carry in the duration
  double least_energy = 0;  ///< [J] below it energies say nothing
  /// Shares (step_shares.h) of the start: what came later is the run's own.
  double start_limit = 0, start_penetration = 0;
};

/// "exact" or "convex".
inline std::string friction_word(const SimulationOptions& options) {
  return options.stepper.friction == Friction::exact ? "exact" : "convex";
}

struct Description {
  std::string title = {};
  std::string scene = {};  ///< the scene's text, as it ran
  std::string urto_version = {};
  SimulationOptions settings = {};
  std::vector<std::string> warnings = {};  ///< of the start (start_look.h)
  DescribedScale scale = {};

  std::vector<DescribedBody> bodies = {};
  std::vector<DescribedShape> shapes = {};
  std::vector<TriangleMesh> meshes = {};
  std::vector<std::string> materials = {};
  std::vector<DescribedJoint> joints = {};
  std::vector<DescribedCoordinate> coordinates = {};
  std::vector<NamedGroup> groups = {};
  std::vector<Channel> channels = {};  ///< of a 3D model: begins with `model_channels`

  /// How many items a group has; none for a name that is no group.
  std::size_t count(std::string_view group) const;
  /// Numbers of a channel in one frame.
  std::size_t size(const Channel& channel) const;
};

/// The channels of a 3D model, in the order in which the recorder fills them.
std::span<const Channel> model_channels();

/// The place of a channel; −1 if there is none of that name, or if nothing has it.
int find_channel(const Description& description, std::string_view name);

Description describe(const Scene& scene, std::vector<std::string> warnings = {});

}  // namespace urto
