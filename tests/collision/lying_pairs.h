// Solids that lie on each other along a line: A's lowest line or face and B's highest one along x
// at z = 0.
#pragma once

#include <string>

#include "collision/moving_pairs.h"

namespace urto::testing {

/// What of a solid lies along x.
enum class Lying {
  capsule,
  cylinder,
  rounded_cylinder,
  cone,
  face,          ///< of a box
  rounded_face,  ///< of a box with a margin
  edge,
  rounded_edge,
  prism_edge  ///< of a hull
};
inline constexpr std::array lying_lines{Lying::capsule,   Lying::cylinder, Lying::rounded_cylinder,
                                        Lying::cone,      Lying::edge,     Lying::rounded_edge,
                                        Lying::prism_edge};
inline constexpr std::array lying_supports{
    Lying::capsule,      Lying::cylinder, Lying::rounded_cylinder, Lying::cone,      Lying::face,
    Lying::rounded_face, Lying::edge,     Lying::rounded_edge,     Lying::prism_edge};

inline std::string to_string(Lying lying) {
  constexpr std::array names{"capsule",      "cylinder", "rounded_cylinder", "cone",      "face",
                             "rounded_face", "edge",     "rounded_edge",     "prism_edge"};
  return names[static_cast<std::size_t>(lying)];
}

/// Sharp edges that lie along sharp edges balance on a knife; they are not lines that bear.
inline bool bears(Lying line, Lying support) {
  const auto sharp = [](Lying l) {
    return l == Lying::edge || l == Lying::prism_edge || l == Lying::face;
  };
  return !sharp(line) || !sharp(support);
}

/// A hexagonal prism along z.
inline TriangleMesh prism(double radius, double half) {
  std::vector<Vec3> points;
  for (int k = 0; k < 6; ++k) {
    const double angle = k * M_PI / 3;
    for (const double z : {-half, half})
      points.emplace_back(radius * std::cos(angle), radius * std::sin(angle), z);
  }
  return convex_hull(points);
}

/// Lies on z = 0 along x with its middle at the origin; as a support, under z = 0.
struct LyingSolid {
  Shape shape = {};
  double length = 0;  ///< of the line
  Vec3 center = Vec3::Zero();
  Mat3 R = Mat3::Identity();

  LyingSolid(Lying lying, double r, double h, bool support) {
    const double margin = 0.3 * r;
    const Mat3 axis_to_x = turn({0, M_PI / 2, 0});
    double height = r;
    length = 2 * h;
    shape.size = {r, h, 0};
    R = axis_to_x;
    switch (lying) {
      case Lying::capsule:
        shape.kind = ShapeKind::capsule;
        break;
      case Lying::rounded_cylinder:
        shape.margin = margin;
        length = 2 * (h - margin);
        [[fallthrough]];
      case Lying::cylinder:
        shape.kind = ShapeKind::cylinder;
        break;
      case Lying::cone: {
        shape.kind = ShapeKind::cone;
        const double half_angle = std::atan2(r, 2 * h);
        // The middle of the side is r/2 from the axis.
        R = turn({0, half_angle, 0}) * axis_to_x;
        length = std::hypot(r, 2 * h);
        height = 0.5 * r * std::cos(half_angle);
        center[0] = 0.5 * r * std::sin(half_angle);
        break;
      }
      case Lying::rounded_face:
        shape.margin = margin;
        [[fallthrough]];
      case Lying::face:
        shape.kind = ShapeKind::box;
        shape.size = {h, r, r};
        length = 2 * (h - shape.margin);
        R = Mat3::Identity();
        break;
      case Lying::rounded_edge:
        shape.margin = margin;
        [[fallthrough]];
      case Lying::edge:
        shape.kind = ShapeKind::box;
        shape.size = {h, r, r};
        length = 2 * (h - shape.margin);
        R = turn({M_PI / 4, 0, 0});
        height = std::sqrt(2.0) * (r - shape.margin) + shape.margin;
        break;
      case Lying::prism_edge:
        shape.kind = ShapeKind::hull;
        R = axis_to_x;
        break;
    }
    center[2] = height;
    if (!support) return;
    // A support is the solid turned over about x.
    const Mat3 over = turn({M_PI, 0, 0});
    R = over * R;
    center = over * center;
  }
  static Mat3 turn(const Vec3& v) { return rotation_matrix(quaternion_exp(v)); }
};

/// Lines of A and B along x; hulls among them are prisms of their own sizes.
struct LyingPair {
  LyingSolid a, b;
  Polytope hull_a, hull_b;
  TriangleMesh mesh_a, mesh_b;

  LyingPair(Random& random, Lying line, Lying support)
      : LyingPair(line, support, random.uniform(0.1, 0.4), random.uniform(0.6, 1.5),
                  random.uniform(0.1, 0.4), random.uniform(0.6, 1.5)) {}
  LyingPair(Lying line, Lying support, double ra, double ha, double rb, double hb)
      : a(line, ra, ha, false),
        b(support, rb, hb, true),
        mesh_a(prism(ra, ha)),
        mesh_b(prism(rb, hb)) {
    hull_a = polytope_of(mesh_a);
    hull_b = polytope_of(mesh_b);
  }
  /// Half of what the lines share.
  double shared() const { return 0.5 * std::min(a.length, b.length); }
  /// A is turned about the origin and moved.
  PlacedPair placed(const Vec3& turn, const Vec3& shift) const {
    const Mat3 T = LyingSolid::turn(turn);
    PlacedPair p;
    p.a = convex_of(a.shape, &hull_a);
    p.b = convex_of(b.shape, &hull_b);
    p.at_a = {T * a.center + shift, T * a.R};
    p.at_b = {b.center, b.R};
    return p;
  }
  MovingPair moving(const Vec3& turn, const Vec3& shift) const {
    Shape first = a.shape, second = b.shape;
    first.geometry = 0;
    second.geometry = 1;
    MovingPair p(first, second, {mesh_a, mesh_b});
    const PlacedPair at = placed(turn, shift);
    p.set_position(0, at.at_a.x);
    p.set_position(1, at.at_b.x);
    p.set_rotation(0, quaternion_from_matrix(at.at_a.R));
    p.set_rotation(1, quaternion_from_matrix(at.at_b.R));
    return p;
  }
};

}  // namespace urto::testing
