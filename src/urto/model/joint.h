// Joints as tables of measures: which measures are held at zero, and which remain as the joint's
// coordinates.
//
// Axes (of frame a and frame b, which coincide at zero of all coordinates):
//   revolute, cylindrical, screw, prismatic, point-on-line: along/about z;
//       planar and point-on-plane: z is the normal;
//   universal: x of a stays at right angles to y of b;  gear, rack-and-pinion: couplings of
//       coordinates of other joints.
// The one measure not held at zero is that of the distance joint: it is held at Joint::length,
// which the caller subtracts.
//
// Signs: a coordinate grows when b moves along, or turns right-handed about, its axis and a stands
// still. With F_b = F_a Rx(α) Ry(β) a universal joint has angle-1 = α and angle-2 = β.
//
// Rows: z of b is held at right angles to y and x of a, dot(y, z) and dot(x, z). A mixture such as
// dot(z, y) and dot(x, z) is as good at zero but loses rank after a quarter turn about z. The rank
// of these rows is full wherever they are held. Half a turn about x, y or z makes the dots zero as
// well, so a joint has to start near its assembled position.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/model/measure.h"

namespace urto {

enum class JointKind : std::uint8_t {
  fixed,
  revolute,
  prismatic,
  cylindrical,
  spherical,
  universal,
  planar,
  screw,
  point_on_line,
  point_on_plane,
  distance,
  free,
};
std::string_view to_string(JointKind kind);

/// A measure that stays free: what limits, motors, friction, couplings and springs can act on.
struct JointCoordinate {
  /// "angle", "displacement", "x", "y", "z", "angle-1", "angle-2", "swing" or "distance"
  std::string_view name;
  Measure measure;
  bool is_angle = false;  ///< counts turns: see State::angles
};

/// The held measures of a joint kind, at most six. A screw's fifth row (displacement = pitch ·
/// angle / 2π) is the coupling of its two coordinates and is not in this list.
std::span<const Measure> held_measures(JointKind kind);
std::span<const JointCoordinate> coordinates(JointKind kind);

/// Index of the coordinate called `name`, −1 if there is none.
int find_coordinate(JointKind kind, std::string_view name);

}  // namespace urto
