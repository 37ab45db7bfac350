// Nearest points that have a formula: a point against every core but a polytope, and two segments.
#pragma once

#include "urto/collision/gjk.h"

namespace urto {

/// The surface point of a core nearest to p.
struct SurfacePoint {
  Vec3 point = Vec3::Zero();
  Vec3 normal = Vec3::UnitZ();  ///< outward there; towards p where p is outside
  double distance = 0;          ///< negative inside
};

/// True for the cores that `nearest_on_surface` knows.
bool has_point_formula(CoreKind core);
SurfacePoint nearest_on_surface(const Convex& core, const Vec3& p);

/// Fills `out` and returns true if the pair of cores has a formula.
bool closed_form(const ConvexPair& pair, Nearest& out);

}  // namespace urto
