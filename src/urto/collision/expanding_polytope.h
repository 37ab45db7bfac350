// Internal: the expanding polytope, and points of the Minkowski difference that it shares with GJK.
#pragma once

#include "urto/collision/gjk.h"

namespace urto {

struct MinkowskiPoint {
  Vec3 w;     ///< a − b
  Vec3 a, b;  ///< on the cores
};

/// The point of A − B that is extreme in direction d.
MinkowskiPoint minkowski_support(const ConvexPair& pair, const Vec3& d);

/// Newton's method for w(n) ∥ n, with w the support point of W along −n: where both solids are
/// round or pointed near the nearest points it ends what GJK or the polytope began, quadratically.
/// False, and nothing changed, if it does not converge to a point near by (flat parts that meet).
bool polish(const ConvexPair& pair, Nearest& nearest);

/// For cores that overlap, touch or hardly part.
Nearest expand_polytope(const ConvexPair& pair);

}  // namespace urto
