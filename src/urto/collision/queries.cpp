#include "urto/collision/queries.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

Closest reversed(Closest c) {
  std::swap(c.a, c.b);
  c.normal = -c.normal;
  return c;
}

Closest to_half_space(const Vec3& lowest, const Collider& plane) {
  const Vec3 n = plane.place.R.col(2);
  const double gap = n.dot(lowest - plane.place.x);
  return {lowest, lowest - gap * n, n, gap};
}

Vec3 lowest_point(const Collider& c, const Vec3& n) {
  if (c.surface == nullptr) {
    return c.place.x + c.place.R * support(c.convex, -(c.place.R.transpose() * n)) -
           c.convex.radius * n;
  }
  const Vec3 down = -(c.place.R.transpose() * n);
  const auto& vertices = c.surface->mesh().vertices;
  return c.place.x + c.place.R * *std::max_element(vertices.begin(), vertices.end(),
                                                   [&](const Vec3& p, const Vec3& q) {
                                                     return down.dot(p) < down.dot(q);
                                                   });
}

// Triangles nearer than the best so far; the first vertex bounds the search.
Closest to_surface(const Convex& a, const Place& at_a, const MeshSurface& mesh,
                   const Place& at_mesh) {
  const Place local{at_mesh.R.transpose() * (at_a.x - at_mesh.x), at_mesh.R.transpose() * at_a.R};
  Closest best;
  best.gap = (mesh.mesh().vertices[0] - local.x).norm();
  mesh.tree().for_overlaps(inflated(bounds(a, local.R, local.x), best.gap), [&](int t) {
    const Place at_t{mesh.center(t), Mat3::Identity()};
    const Closest c = closest(a, local, mesh.triangle(t), at_t);
    if (c.gap <= best.gap) best = c;
  });
  best.a = at_mesh.x + at_mesh.R * best.a;
  best.b = at_mesh.x + at_mesh.R * best.b;
  best.normal = at_mesh.R * best.normal;
  return best;
}

Closest between_surfaces(const Collider& a, const Collider& b) {
  Closest best;
  best.gap = infinite;
  for (int t = 0; t < static_cast<int>(a.surface->mesh().triangles.size()); ++t) {
    const Place at{a.place.x + a.place.R * a.surface->center(t), a.place.R};
    const Closest c = to_surface(a.surface->triangle(t), at, *b.surface, b.place);
    if (c.gap < best.gap) best = c;
  }
  return best;
}

// A point that goes from one supporting plane to the next never passes a convex solid: finitely
// many steps for polytopes, few for others.
std::optional<RayHit> meet_convex(const Collider& c, const Vec3& from, const Vec3& unit,
                                  double reach) {
  const Convex point;
  const double tolerance = 1e-12 * (c.convex.extent + (from - c.place.x).norm());
  double t = 0;
  for (int k = 0; k < 200; ++k) {
    const Closest now = closest(point, {from + t * unit, Mat3::Identity()}, c.convex, c.place);
    if (now.gap <= tolerance) {
      return RayHit{.shape = c.shape,
                    .distance = t,
                    .point = now.b,
                    .normal = now.gap < 0 && t == 0 ? Vec3(-unit) : now.normal};
    }
    const double closing = -unit.dot(now.normal);
    if (closing <= 0) return std::nullopt;
    t += now.gap / closing;
    if (!(t <= reach)) return std::nullopt;
  }
  return std::nullopt;  // grazes
}

// Möller and Trumbore 1997, from either side.
std::optional<RayHit> meet_surface(const Collider& c, const Vec3& from, const Vec3& unit,
                                   double reach) {
  const Vec3 o = c.place.R.transpose() * (from - c.place.x), d = c.place.R.transpose() * unit;
  const TriangleMesh& mesh = c.surface->mesh();
  std::optional<RayHit> hit;
  c.surface->tree().for_ray(o, d, reach, [&](int t, double nearest) {
    const auto& [i, j, k] = mesh.triangles[t];
    const Vec3 &a = mesh.vertices[i], e = mesh.vertices[j] - a, f = mesh.vertices[k] - a;
    const Vec3 p = d.cross(f);
    const double det = e.dot(p);
    if (det == 0) return nearest;
    const Vec3 s = o - a, q = s.cross(e);
    const double u = s.dot(p) / det, v = d.dot(q) / det, at = f.dot(q) / det;
    // Edges belong to both triangles: a ray does not slip through between them.
    if (u < -1e-12 || v < -1e-12 || u + v > 1 + 1e-12 || at < 0 || at > nearest) return nearest;
    const Vec3 n = c.place.R * c.surface->normal(t);
    hit = RayHit{.shape = c.shape,
                 .distance = at,
                 .point = from + at * unit,
                 .normal = n.dot(unit) > 0 ? Vec3(-n) : n};
    return at;
  });
  return hit;
}

std::optional<RayHit> meet_half_space(const Collider& c, const Vec3& from, const Vec3& unit,
                                      double reach) {
  const Vec3 n = c.place.R.col(2);
  const double height = n.dot(from - c.place.x);
  if (height <= 0) return RayHit{.shape = c.shape, .distance = 0, .point = from, .normal = -unit};
  const double t = -height / n.dot(unit);
  if (!(t >= 0 && t <= reach)) return std::nullopt;
  return RayHit{.shape = c.shape, .distance = t, .point = from + t * unit, .normal = n};
}

}  // namespace

Queries::Queries(const Model& model) : model_(model), finder_(model) {
  for (int k = 0; k < static_cast<int>(finder_.colliders().size()); ++k)
    (finder_.colliders()[k].half_space ? planes_ : bounded_).push_back(k);
}

void Queries::update(const State& state) {
  finder_.place_colliders(state, 0);
  std::vector<Aabb> boxes;
  for (const int k : bounded_) boxes.push_back(bounds(finder_.colliders()[k]));
  tree_.build(boxes);
}

std::optional<Closest> Queries::closest_of(const Collider& a, const Collider& b) const {
  if (a.half_space && b.half_space) return std::nullopt;
  if (b.half_space) return to_half_space(lowest_point(a, b.place.R.col(2)), b);
  if (a.half_space) return reversed(to_half_space(lowest_point(b, a.place.R.col(2)), a));
  if (a.surface != nullptr && b.surface != nullptr) return between_surfaces(a, b);
  if (b.surface != nullptr) return to_surface(a.convex, a.place, *b.surface, b.place);
  if (a.surface != nullptr) return reversed(to_surface(b.convex, b.place, *a.surface, a.place));
  return closest(a.convex, a.place, b.convex, b.place);
}

std::optional<BodyDistance> Queries::distance(int body_a, int body_b) const {
  std::optional<BodyDistance> best;
  for (const Collider& a : finder_.colliders()) {
    if (model_.shapes[a.shape].body != body_a) continue;
    for (const Collider& b : finder_.colliders()) {
      if (model_.shapes[b.shape].body != body_b) continue;
      const auto c = closest_of(a, b);
      if (c && (!best || c->gap < best->closest.gap)) best = BodyDistance{a.shape, b.shape, *c};
    }
  }
  return best;
}

std::optional<RayHit> Queries::meet(const Collider& c, const Vec3& from, const Vec3& unit,
                                    double reach) const {
  auto hit = c.half_space           ? meet_half_space(c, from, unit, reach)
             : c.surface != nullptr ? meet_surface(c, from, unit, reach)
                                    : meet_convex(c, from, unit, reach);
  if (hit) hit->body = model_.shapes[c.shape].body;
  return hit;
}

std::optional<RayHit> Queries::cast_ray(const Vec3& from, const Vec3& direction,
                                        double reach) const {
  const double length = direction.norm();
  if (!(length > 0) || !std::isfinite(length) || !from.allFinite() || !(reach >= 0)) {
    throw InputError("ray", fmt::format("direction of length {}, reach {}", length, reach),
                     "a finite start, a direction that is not zero and a reach of 0 or more");
  }
  const Vec3 unit = direction / length;
  std::optional<RayHit> best;
  const auto look = [&](int k, double nearest) {
    const auto hit = meet(finder_.colliders()[k], from, unit, nearest);
    if (!hit || (best && hit->distance >= best->distance)) return nearest;
    best = hit;
    return hit->distance;
  };
  for (const int k : planes_) reach = look(k, reach);
  if (tree_.size() > 0) {
    tree_.for_ray(from, unit, reach,
                  [&](int k, double nearest) { return look(bounded_[k], nearest); });
  }
  return best;
}

std::vector<int> Queries::overlaps(const Convex& solid, const Place& at) const {
  std::vector<int> found;
  const Collider probe{.convex = solid, .place = at};
  const auto look = [&](int k) {
    const Collider& c = finder_.colliders()[k];
    const auto nearest = closest_of(probe, c);
    if (nearest && nearest->gap <= 0) found.push_back(c.shape);
  };
  for (const int k : planes_) look(k);
  if (tree_.size() > 0)
    tree_.for_overlaps(bounds(solid, at.R, at.x), [&](int k) { look(bounded_[k]); });
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace urto
