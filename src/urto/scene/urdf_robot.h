// Internal: what a URDF file says, as values.
#pragma once

#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Geometry>

#include "urto/math/types.h"

namespace urto::urdf {

struct Inertial {
  Eigen::Isometry3d frame = Eigen::Isometry3d::Identity();
  double mass = 0;
  Mat3 inertia = Mat3::Zero();  ///< about the centre of mass, in the axes of the frame
};

struct Geometry {
  enum class Kind : std::uint8_t { box, cylinder, sphere, mesh };
  Kind kind = Kind::box;
  Eigen::Isometry3d frame = Eigen::Isometry3d::Identity();
  Vec3 size = Vec3::Zero();  ///< of a box; radius and length of others; scale of a mesh
  std::string file = {};     ///< of a mesh, as it is written
  std::string place = {};    ///< "link 'arm', collision 2, line 31"
};

struct Link {
  std::string name = {};
  std::optional<Inertial> inertial = {};
  std::vector<Geometry> collision = {}, visual = {};
};

enum class JointKind : std::uint8_t { revolute, continuous, prismatic, fixed, floating, planar };

struct Mimic {
  std::string joint = {};
  double multiplier = 1, offset = 0;
};

struct Joint {
  std::string name = {};
  JointKind kind = JointKind::fixed;
  std::string parent = {}, child = {};
  Eigen::Isometry3d origin = Eigen::Isometry3d::Identity();
  Vec3 axis = Vec3::UnitX();
  std::optional<std::array<double, 2>> limits = {};
  double effort = std::numeric_limits<double>::infinity();
  double damping = 0, friction = 0;
  std::optional<Mimic> mimic = {};
};

struct Robot {
  std::string name = {};
  std::vector<Link> links = {};
  std::vector<Joint> joints = {};
  std::vector<std::string> warnings = {};
};

/// Throws InputError with the line of what is wrong.
Robot read_robot(const std::filesystem::path& file);

}  // namespace urto::urdf
