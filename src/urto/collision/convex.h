// Convex solids as the narrow phase sees them: a core (point, segment, box, …) swept by a sphere of
// radius r, in a frame of its own. A sphere is a point, a capsule a segment; a shape with a margin
// ε_m is its core, shrunk by ε_m, swept by ε_m (recipe 000 §2.4.1: penetrations up to 2ε_m leave
// the cores apart).
#pragma once

#include <array>
#include <cstdint>

#include "urto/collision/aabb.h"
#include "urto/collision/polytope.h"
#include "urto/math/types.h"
#include "urto/model/shape.h"

namespace urto {

enum class CoreKind : std::uint8_t {
  point,
  segment,
  box,
  cylinder,
  cone,
  ellipsoid,
  polytope,
  triangle
};

struct Convex {
  CoreKind core = CoreKind::point;
  Vec3 size = Vec3::Zero();  ///< of the core, as Shape::size; segment: half length in [2]
  double radius = 0;         ///< of the sweep [m]
  double extent = 0;         ///< a length that bounds core and sweep, seen from the origin [m]
  double shift = 0;          ///< of a cone's core along its axis [m]
  const Polytope* polytope = nullptr;
  std::array<Vec3, 3> corners = {};  ///< of a triangle
};

/// Of a shape that is convex and bounded. `polytope` is the shrunk core of a hull (else unused) and
/// must outlive the result.
Convex convex_of(const Shape& shape, const Polytope* polytope);
Convex triangle_of(const Vec3& a, const Vec3& b, const Vec3& c);

/// A point of the core that is extreme in direction d (any length, zero gives some point).
Vec3 support(const Convex& c, const Vec3& d);
/// ∂ support / ∂ d: zero at vertices, the curvature of round parts.
Mat3 support_derivative(const Convex& c, const Vec3& d);
/// Whether `support` moves smoothly anywhere: the core has round parts.
inline bool is_curved(const Convex& c) {
  return c.core == CoreKind::cylinder || c.core == CoreKind::cone || c.core == CoreKind::ellipsoid;
}
/// Largest value of d·x over the core.
double extreme(const Convex& c, const Vec3& d);
/// Of the swept solid placed at x with axes R.
Aabb bounds(const Convex& c, const Mat3& R, const Vec3& x);

/// What a solid shows in a direction: the face, edge or point of the core there, carried out by the
/// sweep along that direction (the points of the swept solid that are extreme in it). Vertices of
/// polygons and rim points of discs turn counter-clockwise about the outward normal.
struct Feature {
  enum class Kind : std::uint8_t { point, segment, polygon, disc } kind = Kind::point;
  static constexpr int capacity = 32;
  int count = 0;
  std::array<Vec3, capacity> vertex;
  std::array<int, capacity> id = {};  ///< stable names of the vertices
  Vec3 normal = Vec3::Zero();         ///< of a polygon or disc, outward
  Vec3 center = Vec3::Zero();         ///< of a disc
  double radius = 0;                  ///< of a disc
};

/// The feature of c in the unit direction d, in c's frame. Faces and edges count if they lean less
/// than about 0.35 rad.
void feature_towards(const Convex& c, const Vec3& d, Feature& out);

/// Outward unit normal of the flat face whose normal is nearest to d; false if the solid has none
/// near it.
bool face_normal_near(const Convex& c, const Vec3& d, Vec3& normal);

}  // namespace urto
