#include "urto/collision/polytope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <tuple>

#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using Triangle = std::array<int, 3>;

// Regions of triangles being made into faces.
struct Regions {
  const TriangleMesh& mesh;
  std::vector<Triangle> across;
  std::vector<Vec3> areas = {};  // doubled, as vectors
  std::vector<int> of = {};      // by triangle: the lowest triangle of its region
  std::vector<int> stamp = {};   // by triangle: the last region it was looked at for
  int stamps = 0;
  double tolerance = 0;  // [m]
};

// All triangles that are connected with the first and in its plane.
std::vector<int> flat_region(Regions& r, int first) {
  const Vec3 normal = r.areas[first].normalized();
  const Vec3& origin = r.mesh.vertices[r.mesh.triangles[first][0]];
  const auto is_flat = [&](int t) {
    // A wedge thinner than the tolerance has a back side.
    if (!(r.areas[t].dot(normal) > 0)) return false;
    return std::all_of(r.mesh.triangles[t].begin(), r.mesh.triangles[t].end(), [&](int v) {
      return std::abs(normal.dot(r.mesh.vertices[v] - origin)) <= r.tolerance;
    });
  };
  std::vector<int> region{first};
  r.stamp[first] = ++r.stamps;
  for (std::size_t k = 0; k < region.size(); ++k) {
    for (const int t : r.across[region[k]]) {
      if (r.stamp[t] == r.stamps || r.of[t] >= 0 || !is_flat(t)) continue;
      r.stamp[t] = r.stamps;
      region.push_back(t);
    }
  }
  return region;
}

// The border of a region as one loop of vertices; empty if it is not one.
std::vector<int> border(Regions& r, const std::vector<int>& region) {
  ++r.stamps;
  for (const int t : region) r.stamp[t] = r.stamps;
  std::vector<std::array<int, 2>> edges;
  for (const int t : region) {
    for (int e = 0; e < 3; ++e) {
      if (r.stamp[r.across[t][e]] == r.stamps) continue;
      edges.push_back({r.mesh.triangles[t][e], r.mesh.triangles[t][(e + 1) % 3]});
    }
  }
  std::sort(edges.begin(), edges.end());
  std::vector<int> loop;
  if (edges.empty()) return loop;
  std::size_t at = 0;
  do {
    loop.push_back(edges[at][0]);
    const auto next = std::lower_bound(edges.begin(), edges.end(), std::array{edges[at][1], -1});
    at = static_cast<std::size_t>(next - edges.begin());
  } while (at != 0 && at < edges.size() && loop.size() <= edges.size());
  // Holes are left over; a corner where the border touches itself ends the walk too early or too
  // late.
  return loop.size() == edges.size() ? loop : std::vector<int>{};
}

// Twice the area of a polygon, as a vector (M. E. Newell).
Vec3 polygon_area(const std::vector<Vec3>& vertices, std::span<const int> loop) {
  Vec3 sum = Vec3::Zero();
  const Vec3& origin = vertices[loop[0]];
  for (std::size_t k = 1; k + 1 < loop.size(); ++k) {
    sum += (vertices[loop[k]] - origin).cross(vertices[loop[k + 1]] - origin);
  }
  return sum;
}

bool is_convex_polygon(const Regions& r, const std::vector<int>& loop) {
  const Vec3 normal = polygon_area(r.mesh.vertices, loop).normalized();
  const std::size_t n = loop.size();
  for (std::size_t k = 0; k < n; ++k) {
    const Vec3& a = r.mesh.vertices[loop[k]];
    const Vec3& b = r.mesh.vertices[loop[(k + 1) % n]];
    const Vec3& c = r.mesh.vertices[loop[(k + 2) % n]];
    const Vec3 inwards = normal.cross(b - a).normalized();
    if (!(inwards.dot(c - b) >= -r.tolerance)) return false;
  }
  return true;
}

// Largest triangles first: their planes are the best known.
void make_regions(Regions& r) {
  std::vector<int> order(r.mesh.triangles.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return r.areas[a].norm() > r.areas[b].norm(); });
  for (const int first : order) {
    if (r.of[first] >= 0) continue;
    std::vector<int> region = flat_region(r, first);
    const std::vector<int> loop = border(r, region);
    if (loop.empty() || !is_convex_polygon(r, loop)) region = {first};
    const int lowest = *std::min_element(region.begin(), region.end());
    for (const int t : region) r.of[t] = lowest;
  }
}

void add_edges(Polytope& p) {
  for (int f = 0; f < p.face_count(); ++f) {
    const std::span<const int> loop = p.loop(f);
    for (std::size_t k = 0; k < loop.size(); ++k) {
      const int a = loop[k], b = loop[(k + 1) % loop.size()];
      if (a < b) {
        p.edges.push_back({a, b, f, -1});
      } else {
        p.edges.push_back({b, a, -1, f});
      }
    }
  }
  // The two sides of an edge stand together; they become one.
  std::sort(p.edges.begin(), p.edges.end(), [](const auto& a, const auto& b) {
    return std::tie(a.from, a.to, a.right) < std::tie(b.from, b.to, b.right);
  });
  for (std::size_t k = 0; 2 * k < p.edges.size(); ++k) {
    p.edges[k] = {p.edges[2 * k].from, p.edges[2 * k].to, p.edges[2 * k].left,
                  p.edges[2 * k + 1].right};
  }
  p.edges.resize(p.edges.size() / 2);
}

void add_neighbours(Polytope& p, const TriangleMesh& hull) {
  std::vector<std::array<int, 2>> pairs;
  for (const Triangle& t : hull.triangles) {
    for (int e = 0; e < 3; ++e) pairs.push_back({t[e], t[(e + 1) % 3]});
  }
  std::sort(pairs.begin(), pairs.end());
  p.neighbour_starts.assign(hull.vertices.size() + 1, 0);
  for (const auto& [a, b] : pairs) {
    ++p.neighbour_starts[a + 1];
    p.neighbours.push_back(b);
  }
  std::partial_sum(p.neighbour_starts.begin(), p.neighbour_starts.end(),
                   p.neighbour_starts.begin());
}

}  // namespace

Polytope polytope_of(const TriangleMesh& hull, double flatness) {
  Regions r{hull, neighbours(hull, "hull")};
  r.tolerance = flatness * bounds(hull).diagonal().norm();
  r.of.assign(hull.triangles.size(), -1);
  r.stamp.assign(hull.triangles.size(), 0);
  for (const Triangle& t : hull.triangles) {
    const Vec3& a = hull.vertices[t[0]];
    r.areas.push_back((hull.vertices[t[1]] - a).cross(hull.vertices[t[2]] - a));
  }
  make_regions(r);

  std::vector<std::vector<int>> members(hull.triangles.size());
  for (int t = 0; t < static_cast<int>(hull.triangles.size()); ++t) members[r.of[t]].push_back(t);
  Polytope p;
  p.vertices = hull.vertices;
  p.loop_starts = {0};
  add_neighbours(p, hull);
  for (const std::vector<int>& region : members) {
    if (region.empty()) continue;
    const std::vector<int> loop = border(r, region);
    p.loops.insert(p.loops.end(), loop.begin(), loop.end());
    p.loop_starts.push_back(static_cast<int>(p.loops.size()));
    const Vec3 normal = polygon_area(p.vertices, loop).normalized();
    p.normals.push_back(normal);
    p.offsets.push_back(normal.dot(p.vertices[support(p, normal, loop[0])]));
  }
  add_edges(p);
  return p;
}

int support(const Polytope& p, const Vec3& direction, int start) {
  double height = direction.dot(p.vertices[start]);
  for (int at = start, previous = -1; at != previous;) {
    previous = at;
    for (const int v : p.neighbours_of(previous)) {
      const double other = direction.dot(p.vertices[v]);
      if (other > height) {
        height = other;
        at = start = v;
      }
    }
  }
  return start;
}

}  // namespace urto
