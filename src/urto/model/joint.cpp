// Joints as tables of measures; joint.h says which axes and why these rows.
#include "urto/model/joint.h"

#include <array>

namespace urto {
namespace {

constexpr std::uint8_t x = 0, y = 1, z = 2;

constexpr Measure along_x{MeasureKind::along, x, 0};
constexpr Measure along_y{MeasureKind::along, y, 0};
constexpr Measure along_z{MeasureKind::along, z, 0};
constexpr Measure between{MeasureKind::distance, 0, 0};

// Small turns (φ_x, φ_y, φ_z) of b against a make these −φ_x, φ_y and φ_z. Because z of b is in the
// first two, all three vanish only at half turns about the axes; the cyclic choice dot(z, y),
// dot(x, z), dot(y, x) would also accept a third of a turn about (1, 1, 1).
constexpr Measure tilt_x{MeasureKind::dot, y, z};
constexpr Measure tilt_y{MeasureKind::dot, x, z};
constexpr Measure twist_z{MeasureKind::dot, y, x};

constexpr Measure about_z{MeasureKind::angle, z, x};
constexpr Measure swing_z{MeasureKind::swing, z, z};

constexpr std::array held_fixed{along_x, along_y, along_z, tilt_x, tilt_y, twist_z};
constexpr std::array held_revolute{along_x, along_y, along_z, tilt_x, tilt_y};
constexpr std::array held_prismatic{along_x, along_y, tilt_x, tilt_y, twist_z};
constexpr std::array held_cylindrical{along_x, along_y, tilt_x, tilt_y};
constexpr std::array held_spherical{along_x, along_y, along_z};
constexpr std::array held_universal{along_x, along_y, along_z, Measure{MeasureKind::dot, x, y}};
constexpr std::array held_planar{along_z, tilt_x, tilt_y};
constexpr std::array held_on_line{along_x, along_y};
constexpr std::array held_on_plane{along_z};
constexpr std::array held_distance{between};

constexpr JointCoordinate coordinate_x{"x", along_x, false};
constexpr JointCoordinate coordinate_y{"y", along_y, false};
constexpr JointCoordinate coordinate_z{"z", along_z, false};
constexpr JointCoordinate displacement{"displacement", along_z, false};
constexpr JointCoordinate angle{"angle", about_z, true};
constexpr JointCoordinate swing{"swing", swing_z, false};
constexpr JointCoordinate apart{"distance", between, false};

constexpr std::array of_revolute{angle};
constexpr std::array of_prismatic{displacement};
constexpr std::array of_cylindrical{displacement, angle};
constexpr std::array of_spherical{swing, angle};
// y of b stays in the y–z plane of a and x of a in the z–x plane of b: both angles are exact
// anywhere.
constexpr std::array of_universal{
    JointCoordinate{"angle-1", {MeasureKind::angle, x, y}, true},
    JointCoordinate{"angle-2", {MeasureKind::angle_about_b, x, y}, true}};
constexpr std::array of_planar{coordinate_x, coordinate_y, angle};
constexpr std::array on_plane{coordinate_x, coordinate_y};
constexpr std::array of_distance{apart};
constexpr std::array of_free{coordinate_x, coordinate_y, coordinate_z, apart, angle, swing};

}  // namespace

std::string_view to_string(JointKind kind) {
  switch (kind) {
    case JointKind::fixed:
      return "fixed";
    case JointKind::revolute:
      return "revolute";
    case JointKind::prismatic:
      return "prismatic";
    case JointKind::cylindrical:
      return "cylindrical";
    case JointKind::spherical:
      return "spherical";
    case JointKind::universal:
      return "universal";
    case JointKind::planar:
      return "planar";
    case JointKind::screw:
      return "screw";
    case JointKind::point_on_line:
      return "point-on-line";
    case JointKind::point_on_plane:
      return "point-on-plane";
    case JointKind::distance:
      return "distance";
    case JointKind::free:
      return "free";
  }
  return "unknown";
}

std::span<const Measure> held_measures(JointKind kind) {
  switch (kind) {
    case JointKind::fixed:
      return held_fixed;
    case JointKind::revolute:
      return held_revolute;
    case JointKind::prismatic:
      return held_prismatic;
    case JointKind::cylindrical:
    case JointKind::screw:
      return held_cylindrical;
    case JointKind::spherical:
      return held_spherical;
    case JointKind::universal:
      return held_universal;
    case JointKind::planar:
      return held_planar;
    case JointKind::point_on_line:
      return held_on_line;
    case JointKind::point_on_plane:
      return held_on_plane;
    case JointKind::distance:
      return held_distance;
    case JointKind::free:
      return {};
  }
  return {};
}

std::span<const JointCoordinate> coordinates(JointKind kind) {
  switch (kind) {
    case JointKind::fixed:
      return {};
    case JointKind::revolute:
      return of_revolute;
    case JointKind::prismatic:
    case JointKind::point_on_line:
      return of_prismatic;
    case JointKind::cylindrical:
    case JointKind::screw:
      return of_cylindrical;
    case JointKind::spherical:
      return of_spherical;
    case JointKind::universal:
      return of_universal;
    case JointKind::planar:
      return of_planar;
    case JointKind::point_on_plane:
      return on_plane;
    case JointKind::distance:
      return of_distance;
    case JointKind::free:
      return of_free;
  }
  return {};
}

int find_coordinate(JointKind kind, std::string_view name) {
  const std::span<const JointCoordinate> all = coordinates(kind);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].name == name) return static_cast<int>(k);
  }
  return -1;
}

}  // namespace urto
