// Surfaces of triangles: which triangle is beside which, what is wrong with them, what the solid
// inside weighs.
//
// Lengths are judged relative to the diagonal of the bounding box, so that a mesh in millimetres
// and one in kilometres are treated alike. All of it is sorting or one pass: n log n for n
// triangles.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include <Eigen/Geometry>

#include "urto/model/shape.h"

namespace urto {

using Box3 = Eigen::AlignedBox3d;

Box3 bounds(const TriangleMesh& mesh);

/// Vertices that are equal, or nearer than `tolerance` times the diagonal, become the first of
/// them; triangles that collapse thereby and vertices that nobody uses are dropped. The order of
/// the rest stays. Refuses what `check_mesh` refuses of indices and coordinates.
TriangleMesh weld(const TriangleMesh& mesh, std::string_view name, double tolerance = 1e-9);

/// For each triangle those across its edges (0, 1), (1, 2), (2, 0); −1 at a border. Throws
/// InputError, naming the mesh, the edge and the triangles, where more than two meet or two
/// neighbours are not turned the same way.
std::vector<std::array<int, 3>> neighbours(const TriangleMesh& mesh, std::string_view name);

enum class Surface {
  open,   ///< may have a border: terrain
  closed  ///< the skin of a solid, seen from outside counter-clockwise
};

/// Everything that can be wrong: no triangles, indices out of range, coordinates that are not
/// finite, triangles without area, edges of three and more triangles, neighbours turned against
/// each other; of closed ones also borders, no volume, inside out. Throws InputError naming the
/// mesh and the place.
void check_mesh(const TriangleMesh& mesh, std::string_view name, Surface surface);

bool is_closed(const TriangleMesh& mesh, std::string_view name);
/// Of the solid inside [m³]; negative if the triangles are seen clockwise from outside.
double signed_volume(const TriangleMesh& mesh);
/// Inside out.
TriangleMesh flipped(TriangleMesh mesh);
/// Mirrors (an odd number of negative factors) are turned outside again.
TriangleMesh scaled(TriangleMesh mesh, const Vec3& factors);

/// Of the homogeneous solid inside a closed surface, in the frame of its vertices: exact, as a sum
/// of tetrahedra. Throws InputError for what `check_mesh` refuses of closed surfaces.
MassProperties mass_properties(const TriangleMesh& mesh, double density,
                               std::string_view name = "mesh");

/// Half widths along the principal axes of the surface, smallest first.
Vec3 half_widths(const TriangleMesh& mesh);

/// A grid of heights over the plane z = 0, centred on the origin: heights[j·columns + i] stands at
/// x = (i − (columns − 1)/2)·spacing_x and y = (j − (rows − 1)/2)·spacing_y. Every cell is cut from
/// its corner of least x and y to the opposite one.
TriangleMesh height_field(const std::vector<double>& heights, int columns, double spacing_x,
                          double spacing_y);

}  // namespace urto
