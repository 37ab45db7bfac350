#include "urto/collision/shrunk_polytope.h"

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/model/convex_hull.h"

namespace urto {

// By duality: the half-spaces n·(x − c) ≤ d about an inner point c are the points n/d, a facet N·y
// = D of their hull is the corner c + N/D.
Polytope shrunk(const Polytope& p, double margin) {
  if (margin == 0) return p;
  Vec3 inner = Vec3::Zero();
  for (const Vec3& v : p.vertices) inner += v / static_cast<double>(p.vertices.size());
  std::vector<Vec3> dual;
  for (int f = 0; f < p.face_count(); ++f) {
    const double distance = p.offsets[f] - p.normals[f].dot(inner) - margin;
    if (!(distance > 0)) {
      throw InputError("margin of a hull", fmt::format("{} m", margin),
                       "less than the depth of the hull's middle under its faces");
    }
    dual.push_back(p.normals[f] / distance);
  }
  const TriangleMesh polar = convex_hull(dual);
  std::vector<Vec3> corners;
  for (const auto& [i, j, k] : polar.triangles) {
    const Vec3 &a = polar.vertices[i], &b = polar.vertices[j], &c = polar.vertices[k];
    const Vec3 n = (b - a).cross(c - a).normalized();
    corners.push_back(inner + n / n.dot(a));
  }
  return polytope_of(convex_hull(corners));
}

}  // namespace urto
