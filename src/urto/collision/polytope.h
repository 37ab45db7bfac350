// Convex hulls as the narrow phase wants them: flat polygons, edges with their two faces, and
// neighbours to climb along; all in flat arrays.
#pragma once

#include <span>
#include <vector>

#include "urto/model/shape.h"

namespace urto {

struct Polytope {
  struct Edge {
    int from = -1, to = -1;  ///< vertices
    int left = -1,
        right = -1;  ///< faces; `left` runs from → to counter-clockwise, `right` the other way
  };

  std::vector<Vec3> vertices = {};  ///< those of the hull, in its order
  // Faces: {x : normal · x = offset}, all vertices at or below it up to rounding.
  std::vector<Vec3> normals = {};     ///< unit, outwards
  std::vector<double> offsets = {};   ///< [m]
  std::vector<int> loop_starts = {};  ///< of a face's vertices in `loops`; one more than faces
  std::vector<int> loops = {};        ///< counter-clockwise seen from outside, lowest vertex first
  std::vector<Edge> edges = {};       ///< between two faces; from < to, sorted
  // Vertices connected by an edge of the hull, flat edges within a face too: a vertex that is not
  // below any of its neighbours in some direction is a farthest one in that direction, also where
  // three vertices of an edge are on a line.
  std::vector<int> neighbour_starts = {};
  std::vector<int> neighbours = {};

  int face_count() const { return static_cast<int>(normals.size()); }
  std::span<const int> loop(int face) const {
    return {loops.data() + loop_starts[face], loops.data() + loop_starts[face + 1]};
  }
  std::span<const int> neighbours_of(int vertex) const {
    return {neighbours.data() + neighbour_starts[vertex],
            neighbours.data() + neighbour_starts[vertex + 1]};
  }
};

/// Triangles of a closed convex surface that lie in a plane, within `flatness` times the diagonal,
/// become one face. The default takes in what coordinates in single precision leave of a plane. A
/// face is always a convex polygon: where the tolerance would make something else of it, its
/// triangles stay as they are. n log n.
Polytope polytope_of(const TriangleMesh& hull, double flatness = 2e-7);

/// A vertex that is farthest in a direction, by climbing from `start`.
int support(const Polytope& p, const Vec3& direction, int start = 0);

}  // namespace urto
