// From two solids that are near each other to contact points. Pairs with a formula use it, two
// boxes their separating axes, all others GJK and the expanding polytope; faces and edges that meet
// give up to four points.
#pragma once

#include <span>

#include "urto/collision/gjk.h"
#include "urto/collision/manifold.h"

namespace urto {

/// Where a solid is.
struct Place {
  Vec3 x = Vec3::Zero();
  Mat3 R = Mat3::Identity();
};

/// The nearest points of two swept solids, in world axes.
struct Closest {
  Vec3 a = Vec3::Zero(), b = Vec3::Zero();  ///< on the surfaces
  Vec3 normal = Vec3::UnitZ();              ///< unit, from B to A
  double gap = 0;                           ///< [m] negative: depth of the overlap
};
Closest closest(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b);

class NarrowPhase {
 public:
  /// Contact points with gaps up to `reach` [m]: none, or up to four with one normal, in world
  /// axes.
  void collide(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b, double reach,
               Manifold& out);
  /// Contact points along a normal that is given (unit, from B to A, world): where faces and edges
  /// meet. None if they do not.
  void collide_along(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b,
                     const Vec3& normal, double reach, Manifold& out);
  /// Against the half-space n·x ≤ offset, as B.
  void collide_half_space(const Convex& a, const Place& at_a, const Vec3& n, double offset,
                          double reach, Manifold& out);

  /// All points that `collide` chooses from, however far apart: to find one again by its name.
  void measure(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b, Vec3& normal,
               std::vector<ManifoldPoint>& out);
  /// The same for `collide_half_space`.
  void measure_half_space(const Convex& a, const Place& at_a, const Vec3& n, double offset,
                          std::vector<ManifoldPoint>& out);

 private:
  double find_candidates(const ConvexPair& pair, const Vec3& n, double reach);
  bool candidates_along(const ConvexPair& pair, const Nearest& nearest, double reach, bool certain);
  bool candidates_of(const ConvexPair& pair, double reach, Vec3& normal);
  void lowest(const Convex& a, const Place& at_a, const Vec3& n, double offset, double reach);
  ManifoldScratch scratch_ = {};
};

}  // namespace urto
