// Surfaces of known solids, for tests.
#pragma once

#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "support/message_of.h"
#include "urto/error.h"
#include "urto/model/shape.h"

namespace urto::samples {

/// Half edges as given; corners numbered by bits x, y, z.
inline TriangleMesh box_mesh(const Vec3& half, const Vec3& center = Vec3::Zero()) {
  TriangleMesh mesh;
  for (int k = 0; k < 8; ++k) {
    mesh.vertices.push_back(center + Vec3((k & 1) != 0 ? half[0] : -half[0],
                                          (k & 2) != 0 ? half[1] : -half[1],
                                          (k & 4) != 0 ? half[2] : -half[2]));
  }
  mesh.triangles = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  return mesh;
}

/// The corner at the origin and one on each axis.
inline TriangleMesh corner_mesh(const Vec3& edges) {
  return {{Vec3::Zero(), Vec3(edges[0], 0, 0), Vec3(0, edges[1], 0), Vec3(0, 0, edges[2])},
          {{0, 2, 1}, {0, 1, 3}, {0, 3, 2}, {1, 2, 3}}};
}

/// An octahedron whose triangles are cut into four, `level` times, with vertices on the unit
/// sphere.
inline TriangleMesh ball_mesh(int level) {
  TriangleMesh mesh{
      {Vec3::UnitX(), -Vec3::UnitX(), Vec3::UnitY(), -Vec3::UnitY(), Vec3::UnitZ(), -Vec3::UnitZ()},
      {{0, 2, 4}, {2, 1, 4}, {1, 3, 4}, {3, 0, 4}, {2, 0, 5}, {1, 2, 5}, {3, 1, 5}, {0, 3, 5}}};
  for (int k = 0; k < level; ++k) {
    std::map<std::pair<int, int>, int> middles;
    const auto middle = [&](int a, int b) {
      const auto [it, is_new] =
          middles.try_emplace(std::minmax(a, b), static_cast<int>(mesh.vertices.size()));
      if (is_new) mesh.vertices.push_back((mesh.vertices[a] + mesh.vertices[b]).normalized());
      return it->second;
    };
    std::vector<std::array<int, 3>> finer;
    for (const auto& [a, b, c] : mesh.triangles) {
      const int ab = middle(a, b), bc = middle(b, c), ca = middle(c, a);
      finer.insert(finer.end(), {{a, ab, ca}, {ab, b, bc}, {ca, bc, c}, {ab, bc, ca}});
    }
    mesh.triangles = std::move(finer);
  }
  return mesh;
}

}  // namespace urto::samples
