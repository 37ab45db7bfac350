// Nearest points of two convex cores, signed: Gilbert–Johnson–Keerthi with the signed-volumes
// sub-algorithm (Montanari et al. 2017) where they are apart, expanding polytope (van den Bergen
// 2001) where they touch or overlap.
//
// W = A − B = {a − b}. Apart: the point of W nearest to the origin; certified by the gap between
// |v| and the best lower bound v·w/|v|. Overlap: the direction in which W reaches least far beyond
// the origin. The polytope is grown by its facet of smallest *signed* offset, so it need not hold
// the origin at the start and its answer is continuous through touching, where GJK's v has no
// direction left. Polytopes: exact to rounding after finitely many steps. Curved: linear
// convergence.
#pragma once

#include "urto/collision/convex.h"

namespace urto {

/// Two solids in A's frame: x_A = R x_B + t.
struct ConvexPair {
  const Convex& a;
  const Convex& b;
  Mat3 R = Mat3::Identity();
  Vec3 t = Vec3::Zero();
};

struct Nearest {
  Vec3 a = Vec3::Zero(), b = Vec3::Zero();  ///< on the cores, in A's frame
  Vec3 normal = Vec3::UnitZ();              ///< unit, from B to A
  double distance = 0;  ///< of the cores: negative where they overlap, then the least depth
  int iterations = 0;
};

Nearest nearest_points(const ConvexPair& pair);

/// How far the cores are apart along the unit direction n (from B to A): a lower bound of their
/// distance.
double separation(const ConvexPair& pair, const Vec3& n);

}  // namespace urto
