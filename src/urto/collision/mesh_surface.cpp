#include "urto/collision/mesh_surface.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/collision/closed_forms.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

constexpr double cone_slack = 1e-4;  // sine by which a normal may leave a surface's normal cone:
                                     // round solids are met with such an error
constexpr double same_group =
    0.995;  // cosine: contacts whose normals lean less are reduced together
// A solid that has a triangle inside it and would have to be pushed this much farther along a
// normal of the surface than out of the triangle's way lies beside it.
constexpr double beside = 10;
constexpr double nearly_beside = 3;  // where there are other triangles to touch
constexpr double exact = 1e-9;       // of the size

// Weights of the point of triangle c nearest to p.
Vec3 weights_in(const Convex& c, const Vec3& p) {
  const Vec3 e = c.corners[1] - c.corners[0], f = c.corners[2] - c.corners[0], d = p - c.corners[0];
  const double ee = e.dot(e), ef = e.dot(f), ff = f.dot(f), de = d.dot(e), df = d.dot(f);
  const double det = ee * ff - ef * ef;
  const double v = (ff * de - ef * df) / det, w = (ee * df - ef * de) / det;
  return {1 - v - w, v, w};
}

bool in_triangle(const Vec3& weights, double slack) {
  return weights.minCoeff() >= -slack;
}

// Of a contact whose A is triangle s of a mesh: its corner by its number there, its edge by 3s +
// edge.
std::uint32_t named_in_mesh(std::uint32_t feature, const std::array<int, 3>& corners, int s) {
  if (feature >> 30 == 1) return vertex_of_a(corners[feature & 3U]);
  if (feature >> 30 != 3) return feature;
  const int edge = static_cast<int>(feature >> 15) & 3;
  return edges_of_both(3 * s + edge, static_cast<int>(feature & 0x7fffU));
}

}  // namespace

MeshSurface::MeshSurface(const TriangleMesh& mesh) : mesh_(&mesh) {
  const int count = static_cast<int>(mesh.triangles.size());
  std::vector<Aabb> boxes(count);
  normals_.resize(count);
  for (int t = 0; t < count; ++t) {
    const auto& [i, j, k] = mesh.triangles[t];
    const Vec3 &a = mesh.vertices[i], &b = mesh.vertices[j], &c = mesh.vertices[k];
    boxes[t] = {a.cwiseMin(b).cwiseMin(c), a.cwiseMax(b).cwiseMax(c)};
    normals_[t] = (b - a).cross(c - a).normalized();
    box_ = t == 0 ? boxes[0] : merged(box_, boxes[t]);
  }
  tree_.build(boxes);
  neighbours_ = neighbours(mesh, "mesh");
  for (const Vec3& v : mesh.vertices) extent_ = std::max(extent_, v.norm());

  std::vector<std::array<int, 2>> edges;
  for (const auto& t : mesh.triangles) {
    for (int k = 0; k < 3; ++k) {
      edges.push_back({t[k], t[(k + 1) % 3]});
      edges.push_back({t[(k + 1) % 3], t[k]});
    }
  }
  std::sort(edges.begin(), edges.end());
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  ring_start_.assign(mesh.vertices.size() + 1, 0);
  for (const auto& e : edges) {
    ++ring_start_[e[0] + 1];
    ring_.push_back(e[1]);
  }
  for (std::size_t v = 0; v < mesh.vertices.size(); ++v) ring_start_[v + 1] += ring_start_[v];
}

Vec3 MeshSurface::center(int t) const {
  const auto& [i, j, k] = mesh_->triangles[t];
  return (mesh_->vertices[i] + mesh_->vertices[j] + mesh_->vertices[k]) / 3;
}

Convex MeshSurface::triangle(int t) const {
  const auto& [i, j, k] = mesh_->triangles[t];
  const Vec3 o = center(t);
  return triangle_of(mesh_->vertices[i] - o, mesh_->vertices[j] - o, mesh_->vertices[k] - o);
}

bool MeshSurface::leaves(int t, const Vec3& weights, const Vec3& n) const {
  constexpr double at_border =
      1e-4;  // of a weight: nearest points on edges are found with an error
  const std::array<int, 3>& corner = mesh_->triangles[t];
  int inner = -1, inside_count = 0;
  for (int k = 0; k < 3; ++k) {
    if (weights[k] > at_border) {
      inner = k;
      ++inside_count;
    }
  }
  const auto below = [&](int vertex, const Vec3& p) {
    const Vec3 d = mesh_->vertices[vertex] - p;
    return n.dot(d) <= cone_slack * d.norm();
  };
  // From behind, a flat surface looks the same; triangles that face the other way have their own
  // say.
  if (n.dot(normals_[t]) < 0) return false;
  if (inside_count == 3) return n.dot(normals_[t]) > 1 - cone_slack;
  if (inside_count == 1) {
    const int v = corner[inner];
    for (int k = ring_start_[v]; k < ring_start_[v + 1]; ++k) {
      if (!below(ring_[k], mesh_->vertices[v])) return false;
    }
    return true;
  }
  for (int k = 0; k < 3; ++k) {
    if (weights[(k + 2) % 3] > at_border) continue;
    // On the edge k → k+1: the third corners of both triangles.
    const Vec3& p = mesh_->vertices[corner[k]];
    if (!below(corner[(k + 2) % 3], p)) return false;
    const int beyond = neighbours_[t][k];
    if (beyond < 0) return true;
    for (const int v : mesh_->triangles[beyond]) {
      if (v != corner[k] && v != corner[(k + 1) % 3] && !below(v, p)) return false;
    }
    return true;
  }
  return false;
}

// A convex edge is met along any normal between those of its two faces: the one along which the
// solid is least deep, if that beats n.
void MeshSurface::try_edges(const Convex& a, const Place& at_a, int t, const Convex& triangle,
                            Vec3& n, double& gap) const {
  for (int k = 0; k < 3; ++k) {
    const int beyond = neighbours_[t][k];
    if (beyond < 0) continue;
    const Vec3& p = triangle.corners[k];
    const Vec3 edge = triangle.corners[(k + 1) % 3] - p;
    const Vec3 &from = normals_[t], &to = normals_[beyond];
    if (!(from.cross(to).dot(edge) > 1e-6 * edge.norm())) continue;  // flat or concave
    const auto between = [&](double s) { return ((1 - s) * from + s * to).normalized(); };
    const auto along = [&](const Vec3& m) {
      return m.dot(at_a.x - p) - extreme(a, -(at_a.R.transpose() * m)) - a.radius;
    };
    double low = 0, high = 1;
    while (high - low > 1e-9) {
      const double s = low + (high - low) / 3, r = high - (high - low) / 3;
      if (along(between(s)) < along(between(r))) {
        low = s;
      } else {
        high = r;
      }
    }
    const Vec3 best = between(0.5 * (low + high));
    if (along(best) > gap) {
      gap = along(best);
      n = best;
    }
  }
}

// All in the mesh's axes, about the triangle's centre.
void MeshPhase::against_triangle(const Convex& a, const Place& in_mesh, const MeshSurface& mesh,
                                 int t, double reach, bool lenient) {
  const Convex triangle = mesh.triangle(t);
  const Vec3 center = mesh.center(t);
  const Place at_a{in_mesh.x - center, in_mesh.R};
  const Vec3& face = mesh.normal(t);
  const double along_face =
      face.dot(at_a.x - triangle.corners[0]) - extreme(a, -(at_a.R.transpose() * face)) - a.radius;
  if (along_face > reach) return;
  const Closest nearest = closest(a, at_a, triangle, {});
  if (nearest.gap > reach) return;

  Vec3 n = nearest.normal;
  double gap = nearest.gap;
  // What iterations found of a face's normal is a little off.
  const bool on_face = n.dot(face) > 1 - 1e-8;
  if (on_face) {
    n = face;
    gap = along_face;
  } else if (!mesh.leaves(t, weights_in(triangle, nearest.b), n)) {
    if (nearest.gap > exact * a.extent) {
      // Apart, a neighbour is nearer and says so itself. If none does, rounding hid it, and this
      // one will do.
      if (!lenient) {
        refused_ = true;
        return;
      }
      if (n.dot(face) < 0) {
        n = face;
        gap = along_face;
      }
    } else {
      gap = along_face;
      n = face;
      mesh.try_edges(a, at_a, t, triangle, n, gap);
      if (-gap >
          (lenient ? beside : nearly_beside) * std::max(-nearest.gap, 0.0) + exact * a.extent) {
        refused_ = true;
        return;
      }
    }
  }
  narrow_.collide_along(a, at_a, triangle, {}, n, reach, manifold_);
  // Ends of lines have normals of their own, which must be the surface's too.
  const auto is_foreign = [&](const ManifoldPoint& p) {
    const Vec3 foot = p.point - 0.5 * p.gap * p.normal;
    return p.own_normal && !mesh.leaves(t, weights_in(triangle, foot), p.normal);
  };
  const auto points = manifold_.points.begin();
  manifold_.count =
      static_cast<int>(std::remove_if(points, points + manifold_.count, is_foreign) - points);
  double least = reach;
  for (int k = 0; k < manifold_.count; ++k) least = std::min(least, manifold_.points[k].gap);
  if (manifold_.count == 0 || least > gap + exact * (a.extent + triangle.extent)) {
    // The point of A that lies deepest; its foot must be on this triangle, or it is a neighbour's
    // affair.
    const Vec3 down = at_a.R.transpose() * -n;
    const Vec3 deepest = at_a.x + at_a.R * support(a, down) - a.radius * n;
    const Vec3 foot = deepest - gap * n;
    const bool own = n == nearest.normal;
    if (own || in_triangle(weights_in(triangle, foot), 1e-6)) {
      const Vec3 midway = own ? 0.5 * (nearest.a + nearest.b) : 0.5 * (deepest + foot);
      found_.push_back({{center + midway, n, gap, 0, t}});
    } else {
      refused_ = true;
    }
  }
  const std::array<int, 3>& corner = mesh.mesh().triangles[t];
  for (int k = 0; k < manifold_.count; ++k) {
    const ManifoldPoint& p = manifold_.points[k];
    std::uint32_t feature = p.feature;
    const int local = static_cast<int>(feature & 3U);
    if (feature >> 30 == 2) {
      feature = vertex_of_b(corner[local]);
    } else if (feature >> 30 == 3) {
      feature = edges_of_both(static_cast<int>(feature >> 15) & 0x7fff, 3 * t + local);
    }
    found_.push_back({{center + p.point, p.normal, p.gap, feature, t, -1, p.own_normal}});
  }
}

// Triangles of one floor each bring their points: those with nearly one normal are a manifold
// together.
void MeshPhase::reduce(double size, const Place& at_mesh, std::vector<SurfacePointContact>& out) {
  std::sort(found_.begin(), found_.end(), [](const Found& p, const Found& q) {
    return p.contact.gap != q.contact.gap ? p.contact.gap < q.contact.gap
                                          : p.contact.feature < q.contact.feature;
  });
  for (Found& f : found_) f.group = -1;
  for (std::size_t first = 0; first < found_.size(); ++first) {
    if (found_[first].group >= 0) continue;
    const Vec3 n = found_[first].contact.normal;
    candidates_.clear();
    for (std::size_t k = first; k < found_.size(); ++k) {
      const SurfacePointContact& c = found_[k].contact;
      if (found_[k].group >= 0 || c.normal.dot(n) < same_group) continue;
      found_[k].group = static_cast<int>(first);
      // The index finds the contact again; the order by gap and name makes it a good tie-breaker
      // too.
      ManifoldScratch::Candidate q = candidate_at(n, c.point, c.gap, static_cast<std::uint32_t>(k));
      const auto twin = std::find_if(
          candidates_.begin(), candidates_.end(),
          [&](const auto& other) { return (other.x - q.x).squaredNorm() < 1e-12 * size * size; });
      if (twin == candidates_.end()) {
        candidates_.push_back(q);
      } else if (q.gap < twin->gap + exact * size &&
                 c.feature < found_[twin->feature].contact.feature) {
        *twin = q;  // neighbours name one point apart, and rounding is not to choose the name
      }
    }
    choose_points(n, 1e-9 * size, candidates_, manifold_);
    for (int k = 0; k < manifold_.count; ++k) {
      SurfacePointContact c = found_[manifold_.points[k].feature].contact;
      c.point = at_mesh.x + at_mesh.R * c.point;
      c.normal = at_mesh.R * c.normal;
      out.push_back(c);
    }
  }
}

int MeshPhase::take_all(double size, const Place& at_mesh, std::vector<SurfacePointContact>& out) {
  out.clear();
  reduce(size, at_mesh, out);
  const int chosen = static_cast<int>(out.size());
  for (const Found& f : found_) {
    out.push_back(f.contact);
    out.back().point = at_mesh.x + at_mesh.R * f.contact.point;
    out.back().normal = at_mesh.R * f.contact.normal;
  }
  return chosen;
}

void MeshPhase::collide(const Convex& a, const Place& at_a, const MeshSurface& mesh,
                        const Place& at_mesh, double reach, std::vector<SurfacePointContact>& out) {
  out.clear();
  gather(a, at_a, mesh, at_mesh, reach);
  reduce(a.extent, at_mesh, out);
}

int MeshPhase::measure(const Convex& a, const Place& at_a, const MeshSurface& mesh,
                       const Place& at_mesh, double reach, std::vector<SurfacePointContact>& out) {
  gather(a, at_a, mesh, at_mesh, reach);
  return take_all(a.extent, at_mesh, out);
}

// Into `found_`, in the mesh's axes.
void MeshPhase::gather(const Convex& a, const Place& at_a, const MeshSurface& mesh,
                       const Place& at_mesh, double reach) {
  const Place local{at_mesh.R.transpose() * (at_a.x - at_mesh.x), at_mesh.R.transpose() * at_a.R};
  triangles_.clear();
  mesh.tree().for_overlaps(inflated(bounds(a, local.R, local.x), reach),
                           [&](int t) { triangles_.push_back(t); });
  std::sort(triangles_.begin(), triangles_.end());
  found_.clear();
  refused_ = false;
  for (const int t : triangles_) against_triangle(a, local, mesh, t, reach, false);
  // Deeper inside than the triangles are wide: any face is better than none.
  if (found_.empty() && refused_) {
    for (const int t : triangles_) against_triangle(a, local, mesh, t, reach, true);
  }
  if (found_.empty() && refused_) push_out(a, local, mesh);
}

// Where no normal of the surface fits, in jagged terrain: of the triangles that it cuts and whose
// front its origin is at, the face that lets it out by the shortest way, with the depth of the cut.
void MeshPhase::push_out(const Convex& a, const Place& in_mesh, const MeshSurface& mesh) {
  double best = -std::numeric_limits<double>::infinity();
  for (const int t : triangles_) {
    const Vec3& face = mesh.normal(t);
    const Vec3 center = mesh.center(t);
    const Place at_a{in_mesh.x - center, in_mesh.R};
    const double along_face =
        face.dot(at_a.x) - extreme(a, -(at_a.R.transpose() * face)) - a.radius;
    if (!(face.dot(at_a.x) > 0) || !(along_face > best)) continue;
    const Closest nearest = closest(a, at_a, mesh.triangle(t), {});
    if (!(nearest.gap < 0)) continue;
    best = along_face;
    found_.assign(1, {{center + 0.5 * (nearest.a + nearest.b), face, nearest.gap, 0, t}});
  }
}

void MeshPhase::collide_half_space(const MeshSurface& mesh, const Place& at, const Vec3& n,
                                   double offset, double reach, Manifold& out) {
  candidates_.clear();
  const std::vector<Vec3>& vertices = mesh.mesh().vertices;
  for (int k = 0; k < static_cast<int>(vertices.size()); ++k) {
    const Vec3 x = at.R * vertices[k];
    const double gap = n.dot(at.x + x) - offset;
    if (gap <= reach) {
      candidates_.push_back(candidate_at(n, x - 0.5 * gap * n, gap, vertex_of_a(k)));
    }
  }
  choose_points(n, 1e-9 * mesh.extent(), candidates_, out);
  for (int k = 0; k < out.count; ++k) out.points[k].point += at.x;
}

void MeshPhase::collide(const MeshSurface& a, const Place& at_a, const MeshSurface& b,
                        const Place& at_b, double reach, std::vector<SurfacePointContact>& out) {
  out.clear();
  gather(a, at_a, b, at_b, reach);
  reduce(std::min(a.extent(), b.extent()), at_b, out);
}

int MeshPhase::measure(const MeshSurface& a, const Place& at_a, const MeshSurface& b,
                       const Place& at_b, double reach, std::vector<SurfacePointContact>& out) {
  gather(a, at_a, b, at_b, reach);
  return take_all(std::min(a.extent(), b.extent()), at_b, out);
}

void MeshPhase::gather(const MeshSurface& a, const Place& at_a, const MeshSurface& b,
                       const Place& at_b, double reach) {
  const Place local{at_b.R.transpose() * (at_a.x - at_b.x), at_b.R.transpose() * at_a.R};
  found_.clear();
  const int count = static_cast<int>(a.mesh().triangles.size());
  for (int s = 0; s < count; ++s) {
    // A triangle is about its own centre.
    const Convex solid = a.triangle(s);
    const Place at_solid{local.x + local.R * a.center(s), local.R};
    triangles_.clear();
    b.tree().for_overlaps(inflated(bounds(solid, at_solid.R, at_solid.x), reach),
                          [&](int t) { triangles_.push_back(t); });
    std::sort(triangles_.begin(), triangles_.end());
    const std::size_t before = found_.size();
    for (const int t : triangles_) against_triangle(solid, at_solid, b, t, reach, false);
    for (std::size_t k = before; k < found_.size(); ++k) {
      SurfacePointContact& c = found_[k].contact;
      c.triangle_a = s;
      c.feature = named_in_mesh(c.feature, a.mesh().triangles[s], s);
    }
  }
}

}  // namespace urto
