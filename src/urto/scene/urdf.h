// Robots in URDF as scenes: `urto convert robot.urdf`. docs/robots.md says what becomes what.
//
// Links that fixed joints hold together become one body, which has the name and the frame of the
// first; the frames of the others are its markers. What is left out is said, never dropped in
// silence.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "urto/math/types.h"

namespace urto {

struct UrdfOptions {
  /// Without it a root link that has a mass is free, another one is fixed.
  std::optional<bool> fixed_base = {};
  Vec3 at = Vec3::Zero();                   ///< [m] where the root's frame starts
  std::map<std::string, double> pose = {};  ///< [rad, m] joints not at zero
  std::map<std::string, std::filesystem::path> packages = {};  ///< where "package://NAME" lies
  /// "", or the mode of a motor on every joint: "position" holds the pose, "speed" a standstill
  /// with the joint's effort as its bound, "force" applies none.
  std::string motors = {};
  bool self_collision = true;
  bool ground = false;  ///< a floor at z = 0
};

struct ConvertedScene {
  std::string json = {};
  std::vector<std::string> warnings = {};  ///< what was left out or chosen, with its place
  int links = 0, bodies = 0, joints = 0;
};

/// Names of files in the scene are relative to `directory`, where it will be. Throws InputError
/// with the line for what is no URDF, and with the name for what cannot be simulated.
ConvertedScene urdf_scene(const std::filesystem::path& file, const UrdfOptions& options,
                          const std::filesystem::path& directory);

}  // namespace urto
