#include "urto/problem/friction_polygon.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {

// Outside of an edge the foot of the perpendicular, cut off at its ends; the nearest edge wins.
Eigen::Vector2d nearest_in_polygon(int edges, double radius, const Eigen::Vector2d& z,
                                   double phase) {
  if (!(radius > 0)) return Eigen::Vector2d::Zero();
  if (edges == 0) return z.norm() <= radius ? z : Eigen::Vector2d(radius / z.norm() * z);
  const double inner = radius * std::cos(std::numbers::pi / edges);
  bool inside = true;
  double least = std::numeric_limits<double>::infinity();
  Eigen::Vector2d best = z;
  for (int k = 0; k < edges; ++k) {
    const Eigen::Vector2d a = radius * polygon_corner(edges, k, phase);
    const Eigen::Vector2d along = radius * polygon_corner(edges, k + 1, phase) - a;
    inside = inside && polygon_corner(2 * edges, 2 * k + 1, phase).dot(z) <= inner;
    const double part = std::clamp(along.dot(z - a) / along.squaredNorm(), 0.0, 1.0);
    const Eigen::Vector2d foot = a + part * along;
    const double away = (z - foot).squaredNorm();
    if (!(away < least)) continue;
    least = away;
    best = foot;
  }
  return inside ? z : best;
}

}  // namespace urto
