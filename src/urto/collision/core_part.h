// Which part of a core a point lies on: what the curvature of a contact depends on.
#pragma once

#include "urto/collision/convex.h"

namespace urto {

/// The surroundings of a point of a core, in the core's frame.
struct CorePart {
  enum class Kind : std::uint8_t {
    vertex,    ///< held
    edge,      ///< free along `along`, a straight line or a circle
    face,      ///< flat
    ruled,     ///< the side of a cylinder or cone: round along `along`, straight across it
    ellipsoid  ///< smooth and round both ways
  } kind = Kind::vertex;
  Vec3 along = Vec3::Zero();  ///< unit; of an edge or of the circle round a side
  double curvature = 0;       ///< along it, positive where the solid is convex [1/m]
};

/// The part at the point x of the surface of the core, met along the outward unit normal m. Points
/// within `tolerance` [m] of a vertex or an edge are on it.
CorePart part_at(const Convex& c, const Vec3& x, const Vec3& m, double tolerance);
/// The edge nearest to x, however far; what `part_at` says where the core has no edges.
CorePart edge_near(const Convex& c, const Vec3& x, const Vec3& m, double tolerance);

}  // namespace urto
