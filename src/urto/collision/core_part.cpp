#include "urto/collision/core_part.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

using Kind = CorePart::Kind;

double distance_to_line(const Vec3& x, const Vec3& p, const Vec3& q) {
  const Vec3 d = q - p;
  const double u = std::clamp(d.dot(x - p) / d.squaredNorm(), 0.0, 1.0);
  return (x - p - u * d).norm();
}

CorePart straight_edge(const Vec3& direction) {
  return {Kind::edge, direction.normalized(), 0};
}

// A circle round z through x. As a point moves along it by p, its tangent turns by −u p/ρ, u
// radial; m stays across the tangent, so m turns by (m·u) p/ρ along it. That holds for a rim and,
// by Meusnier's theorem, for the circles of a cylinder or cone.
CorePart circle(Kind kind, const Vec3& x, const Vec3& m) {
  const double rho = std::hypot(x[0], x[1]);
  const Vec3 u(x[0] / rho, x[1] / rho, 0);
  return {kind, {-u[1], u[0], 0}, m.dot(u) / rho};
}

CorePart on_box(const Vec3& half, const Vec3& x, double tolerance) {
  int held = 0, axis = 0;
  for (int k = 0; k < 3; ++k) {
    if (half[k] - std::abs(x[k]) <= tolerance) {
      ++held;
    } else {
      axis = k;
    }
  }
  if (held == 3) return {};
  return held == 2 ? straight_edge(Vec3::Unit(axis)) : CorePart{Kind::face};
}

CorePart on_cylinder(const Convex& c, const Vec3& x, const Vec3& m, double tolerance) {
  const bool side = std::hypot(x[0], x[1]) >= c.size[0] - tolerance;
  const bool cap = std::abs(x[2]) >= c.size[1] - tolerance;
  if (!side) return {Kind::face};
  return circle(cap ? Kind::edge : Kind::ruled, x, m);
}

CorePart on_cone(const Convex& c, const Vec3& x, const Vec3& m, double tolerance) {
  const double base = c.shift - c.size[1], apex = c.shift + c.size[1];
  const double rho = std::hypot(x[0], x[1]);
  if (std::hypot(rho, x[2] - apex) <= tolerance) return {};
  if (x[2] > base + tolerance) return circle(Kind::ruled, x, m);
  return rho >= c.size[0] - tolerance ? circle(Kind::edge, x, m) : CorePart{Kind::face};
}

// Calls visit(p, q) for every edge of a core with corners.
template <class Visit>
void for_edges(const Convex& c, Visit&& visit) {
  if (c.core == CoreKind::polytope) {
    for (const Polytope::Edge& e : c.polytope->edges) {
      visit(c.polytope->vertices[e.from], c.polytope->vertices[e.to]);
    }
  } else if (c.core == CoreKind::triangle) {
    for (int k = 0; k < 3; ++k) visit(c.corners[k], c.corners[(k + 1) % 3]);
  } else if (c.core == CoreKind::segment) {
    visit(Vec3(0, 0, -c.size[2]), Vec3(0, 0, c.size[2]));
  }
}

CorePart on_edges(const Convex& c, const Vec3& x, double tolerance) {
  CorePart part{c.core == CoreKind::segment ? Kind::edge : Kind::face, Vec3::UnitZ()};
  bool vertex = false;
  double least = tolerance;
  for_edges(c, [&](const Vec3& p, const Vec3& q) {
    vertex = vertex || (x - p).norm() <= tolerance || (x - q).norm() <= tolerance;
    const double d = distance_to_line(x, p, q);
    if (d > least) return;
    least = d;
    part = straight_edge(q - p);
  });
  return vertex ? CorePart{} : part;
}

}  // namespace

CorePart part_at(const Convex& c, const Vec3& x, const Vec3& m, double tolerance) {
  switch (c.core) {
    case CoreKind::point:
      return {};
    case CoreKind::box:
      return on_box(c.size, x, tolerance);
    case CoreKind::cylinder:
      return on_cylinder(c, x, m, tolerance);
    case CoreKind::cone:
      return on_cone(c, x, m, tolerance);
    case CoreKind::ellipsoid:
      return {Kind::ellipsoid};
    case CoreKind::segment:
    case CoreKind::polytope:
    case CoreKind::triangle:
      return on_edges(c, x, tolerance);
  }
  return {};
}

CorePart edge_near(const Convex& c, const Vec3& x, const Vec3& m, double tolerance) {
  if (c.core == CoreKind::box) {
    // The axis along which x is farthest from the ends.
    int axis = 0;
    (c.size - x.cwiseAbs()).maxCoeff(&axis);
    return straight_edge(Vec3::Unit(axis));
  }
  if (c.core != CoreKind::polytope && c.core != CoreKind::triangle) {
    return part_at(c, x, m, tolerance);
  }
  CorePart part;
  double least = -1;
  for_edges(c, [&](const Vec3& p, const Vec3& q) {
    const double d = distance_to_line(x, p, q);
    if (least >= 0 && d >= least) return;
    least = d;
    part = straight_edge(q - p);
  });
  return part;
}

}  // namespace urto
