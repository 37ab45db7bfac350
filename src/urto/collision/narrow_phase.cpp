#include "urto/collision/narrow_phase.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/collision/box_box.h"
#include "urto/collision/closed_forms.h"
#include "urto/collision/line_ends.h"

namespace urto {
namespace {

using Candidate = ManifoldScratch::Candidate;

constexpr double name_tolerance =
    1e-6;                        // of the size: aligned faces keep the names of their corners
constexpr double exact = 1e-11;  // of the size: gaps this close are the same
constexpr double snap_cosine = 1 - 1e-8;  // a normal this near a face's is that face's

ConvexPair pair_of(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b) {
  return {a, b, at_a.R.transpose() * at_b.R, at_a.R.transpose() * (at_b.x - at_a.x)};
}

bool is_round(const Convex& c) {
  return c.core == CoreKind::point || c.core == CoreKind::ellipsoid;
}

Nearest nearest_of(const ConvexPair& pair) {
  Nearest out;
  if (!closed_form(pair, out)) out = nearest_points(pair);
  return out;
}

// Faces that meet have exact normals; what iterations found of them is a little off.
void snap_to_face(const ConvexPair& pair, Nearest& nearest) {
  Vec3 face;
  const double slack = exact * (pair.a.extent + pair.b.extent);
  const auto take = [&](const Vec3& n) {
    if (n.dot(nearest.normal) < snap_cosine) return false;
    const double along = separation(pair, n);
    if (along < nearest.distance - slack) return false;
    nearest.normal = n;
    nearest.distance = along;
    return true;
  };
  if (face_normal_near(pair.b, pair.R.transpose() * nearest.normal, face) && take(pair.R * face))
    return;
  if (face_normal_near(pair.a, -nearest.normal, face)) take(-face);
}

void to_world(const Place& at_a, Manifold& m) {
  m.normal = at_a.R * m.normal;
  for (int k = 0; k < m.count; ++k) {
    ManifoldPoint& p = m.points[k];
    p.point = at_a.x + at_a.R * p.point;
    p.normal = p.own_normal ? Vec3(at_a.R * p.normal) : m.normal;
  }
}

Vec3 midway(const ConvexPair& pair, const Nearest& nearest) {
  return 0.5 * (nearest.a + nearest.b + (pair.b.radius - pair.a.radius) * nearest.normal);
}

// Where the planes across n touch the two cores: what the ends of lines need of nearest points.
Nearest extremes(const ConvexPair& pair, const Vec3& n) {
  Nearest out;
  out.normal = n;
  out.a = support(pair.a, -n);
  out.b = pair.R * support(pair.b, pair.R.transpose() * n) + pair.t;
  return out;
}

// The rim of a disc around z against a plane: its lowest point and three more at right angles;
// fixed ones where it lies flat.
template <class Add>
void rim_candidates(double radius, double z, const Vec3& down, int name, Add&& add) {
  const double lean = std::hypot(down[0], down[1]);
  const Eigen::Vector2d u =
      lean > 1e-6 ? Eigen::Vector2d(down[0] / lean, down[1] / lean) : Eigen::Vector2d(1, 0);
  add({radius * u[0], radius * u[1], z}, name);
  add({-radius * u[1], radius * u[0], z}, name + 1);
  add({-radius * u[0], -radius * u[1], z}, name + 2);
  add({radius * u[1], -radius * u[0], z}, name + 3);
}

// Points of the core that can be lowest in direction `down` (unit, core's frame).
template <class Add>
void lowest_candidates(const Convex& c, const Vec3& down, Add&& add) {
  switch (c.core) {
    case CoreKind::point:
    case CoreKind::ellipsoid:
      return add(support(c, down), 0);
    case CoreKind::segment:
      add({0, 0, -c.size[2]}, 0);
      return add({0, 0, c.size[2]}, 1);
    case CoreKind::cylinder:
      rim_candidates(c.size[0], -c.size[1], down, 0, add);
      return rim_candidates(c.size[0], c.size[1], down, 4, add);
    case CoreKind::cone:
      rim_candidates(c.size[0], c.shift - c.size[1], down, 0, add);
      return add({0, 0, c.shift + c.size[1]}, 4);
    case CoreKind::polytope:
      for (int k = 0; k < static_cast<int>(c.polytope->vertices.size()); ++k)
        add(c.polytope->vertices[k], k);
      return;
    case CoreKind::triangle:
      for (int k = 0; k < 3; ++k) add(c.corners[k], k);
      return;
    case CoreKind::box:
      break;
  }
  // The face that looks down most holds the lowest corner and its lowest edge.
  int axis = 0;
  down.cwiseAbs().maxCoeff(&axis);
  for (int k = 0; k < 8; ++k) {
    const Vec3 corner((k & 1) != 0 ? c.size[0] : -c.size[0], (k & 2) != 0 ? c.size[1] : -c.size[1],
                      (k & 4) != 0 ? c.size[2] : -c.size[2]);
    if (corner[axis] * down[axis] > 0) add(corner, k);
  }
}

}  // namespace

Closest closest(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b) {
  const ConvexPair pair = pair_of(a, at_a, b, at_b);
  const Nearest n = nearest_of(pair);
  return {at_a.x + at_a.R * (n.a - a.radius * n.normal),
          at_a.x + at_a.R * (n.b + b.radius * n.normal), at_a.R * n.normal,
          n.distance - a.radius - b.radius};
}

// Where the features that face each other along n meet; returns the least gap there, `reach` if
// they do not.
double NarrowPhase::find_candidates(const ConvexPair& pair, const Vec3& n, double reach) {
  scratch_.candidates.clear();
  if (is_round(pair.a) || is_round(pair.b)) return reach;
  feature_towards(pair.a, -n, scratch_.a);
  feature_towards(pair.b, pair.R.transpose() * n, scratch_.b);
  Feature& b = scratch_.b;
  for (int k = 0; k < b.count; ++k) b.vertex[k] = pair.R * b.vertex[k] + pair.t;
  b.normal = pair.R * b.normal;
  b.center = pair.R * b.center + pair.t;
  const bool lines =
      scratch_.a.kind == Feature::Kind::segment && scratch_.b.kind == Feature::Kind::segment;
  if (lines && !is_sharp_and_flat(pair)) return reach;
  shared_region(n, reach, name_tolerance * (pair.a.extent + pair.b.extent), scratch_);
  double least = reach;
  for (const auto& c : scratch_.candidates) least = std::min(least, c.gap);
  return least;
}

// Candidates for a normal that is known. False if no point is as near as `nearest` says and that
// was not `certain`.
bool NarrowPhase::candidates_along(const ConvexPair& pair, const Nearest& nearest, double reach,
                                   bool certain) {
  const double size = pair.a.extent + pair.b.extent;
  const Vec3& n = nearest.normal;
  const double gap = nearest.distance - pair.a.radius - pair.b.radius;
  // Whether an end is a corner of the common region must not depend on the reach.
  double least = find_candidates(pair, n, std::numeric_limits<double>::infinity());
  if (!certain && least > gap + exact * size) return false;
  if (!is_round(pair.a) && !is_round(pair.b)) {
    // Axes of boxes come without points.
    const bool sharp = is_sharp_and_flat(pair);
    const Nearest& planes = certain || sharp ? nearest : extremes(pair, n);
    add_line_ends(pair, planes, reach, name_tolerance * size, scratch_);
  }
  std::vector<Candidate>& all = scratch_.candidates;
  std::erase_if(all, [&](const Candidate& c) { return c.gap > reach; });
  for (const Candidate& c : all) least = std::min(least, c.gap);
  if (all.empty() || least > gap + exact * size) {
    all.push_back(candidate_at(n, midway(pair, nearest), gap, 0));
  }
  return true;
}

// Candidates and their normal in A's frame; false if the solids are farther apart than `reach`.
bool NarrowPhase::candidates_of(const ConvexPair& pair, double reach, Vec3& normal) {
  const double core_reach = reach + pair.a.radius + pair.b.radius;
  if (pair.a.core == CoreKind::box && pair.b.core == CoreKind::box) {
    const Nearest axes = box_axes(pair, core_reach);
    if (axes.distance > core_reach) return false;
    normal = axes.normal;
    if (candidates_along(pair, axes, reach, false)) return true;
  }
  Nearest nearest = nearest_of(pair);
  if (nearest.distance > core_reach) return false;
  snap_to_face(pair, nearest);
  normal = nearest.normal;
  return candidates_along(pair, nearest, reach, true);
}

void NarrowPhase::collide_along(const Convex& a, const Place& at_a, const Convex& b,
                                const Place& at_b, const Vec3& normal, double reach,
                                Manifold& out) {
  const ConvexPair pair = pair_of(a, at_a, b, at_b);
  const Vec3 n = at_a.R.transpose() * normal;
  find_candidates(pair, n, std::numeric_limits<double>::infinity());
  if (!is_round(a)) {
    add_line_ends(pair, extremes(pair, n), reach, name_tolerance * (a.extent + b.extent), scratch_);
  }
  std::erase_if(scratch_.candidates, [&](const Candidate& c) { return c.gap > reach; });
  choose_points(n, 1e-9 * (a.extent + b.extent), scratch_.candidates, out);
  to_world(at_a, out);
}

void NarrowPhase::collide(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b,
                          double reach, Manifold& out) {
  out.count = 0;
  const ConvexPair pair = pair_of(a, at_a, b, at_b);
  Vec3 n;
  if (!candidates_of(pair, reach, n)) return;
  keep_outermost_ends(n, name_tolerance * (a.extent + b.extent), scratch_);
  choose_points(n, 1e-9 * (a.extent + b.extent), scratch_.candidates, out);
  to_world(at_a, out);
}

void NarrowPhase::measure(const Convex& a, const Place& at_a, const Convex& b, const Place& at_b,
                          Vec3& normal, std::vector<ManifoldPoint>& out) {
  Vec3 n;
  candidates_of(pair_of(a, at_a, b, at_b), std::numeric_limits<double>::infinity(), n);
  all_points(n, scratch_.candidates, out);
  normal = at_a.R * n;
  for (ManifoldPoint& p : out) {
    p.point = at_a.x + at_a.R * p.point;
    p.normal = p.own_normal ? Vec3(at_a.R * p.normal) : normal;
  }
}

// Into the candidates: the points of A that can be lowest, seen from its origin.
void NarrowPhase::lowest(const Convex& a, const Place& at_a, const Vec3& n, double offset,
                         double reach) {
  const Vec3 down = -(at_a.R.transpose() * n);
  scratch_.candidates.clear();
  const double base = n.dot(at_a.x) - offset - a.radius;
  lowest_candidates(a, down, [&](const Vec3& x, int name) {
    const double gap = base - down.dot(x);
    if (gap > reach) return;
    const Vec3 point = at_a.R * x - a.radius * n;
    scratch_.candidates.push_back(candidate_at(n, point - 0.5 * gap * n, gap, vertex_of_a(name)));
  });
}

void NarrowPhase::measure_half_space(const Convex& a, const Place& at_a, const Vec3& n,
                                     double offset, std::vector<ManifoldPoint>& out) {
  lowest(a, at_a, n, offset, std::numeric_limits<double>::infinity());
  all_points(n, scratch_.candidates, out);
  for (ManifoldPoint& p : out) p.point += at_a.x;
}

void NarrowPhase::collide_half_space(const Convex& a, const Place& at_a, const Vec3& n,
                                     double offset, double reach, Manifold& out) {
  out.count = 0;
  lowest(a, at_a, n, offset, reach);
  choose_points(n, 1e-9 * a.extent, scratch_.candidates, out);
  for (int k = 0; k < out.count; ++k) out.points[k].point += at_a.x;
}

}  // namespace urto
