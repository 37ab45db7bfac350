// Coulomb friction with a polygon in place of the circle (recipe 002 §2.2; D. E. Stewart and J. C.
// Trinkle, Int. J. Numer. Meth. Engng 39 (1996) 2673–2691): what was a disc of radius μ λ_N is the
// convex hull of `edges` corners on its rim, the first one along the first tangent. With an even
// number of them −d is a corner whenever d is. Where a law has one tangential row (2D, spin), disc
// and hull are the same interval.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "urto/math/types.h"

namespace urto {

/// The law of contacts with friction beside their sets.
struct FrictionLaw {
  int edges = 0;  ///< of the polygon; 0: the circle itself
  /// Per row block, an impulse that its normal has already: λ_N ≥ floor in place of λ_N ≥ 0, which
  /// bounds friction by μ λ_N all the same (decompression, recipe 002 §2.6). Empty: none anywhere.
  std::vector<double> floor = {};
  std::vector<double> phase = {};  ///< per row block, by which its polygon is turned; empty: none

  bool is_circle() const { return edges == 0 && floor.empty(); }
  double floor_of(int block) const { return floor.empty() ? 0 : floor[block]; }
  double phase_of(int block) const { return phase.empty() ? 0 : phase[block]; }
};

/// Corner `k` of a polygon of radius one, turned by `phase`.
inline Eigen::Vector2d polygon_corner(int edges, int k, double phase = 0) {
  const double angle = phase + 2 * std::numbers::pi * k / edges;
  return {std::cos(angle), std::sin(angle)};
}

/// The nearest point of such a polygon of that radius; of a circle if it has no edges.
Eigen::Vector2d nearest_in_polygon(int edges, double radius, const Eigen::Vector2d& z,
                                   double phase = 0);

}  // namespace urto
