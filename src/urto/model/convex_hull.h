// Convex hulls of points, by qhull (C. B. Barber, D. P. Dobkin, H. Huhdanpaa, The Quickhull
// algorithm for convex hulls, 1996).
#pragma once

#include <span>
#include <string_view>

#include "urto/model/shape.h"

namespace urto {

/// The closed surface around the points, every vertex on it. Vertices are in the order of the
/// points; points inside, on a face within rounding, and nearer than 1e-8 of the extent to another
/// or to an edge are left out. Every triangle begins with its lowest vertex, and triangles are in
/// the order of their vertices. The same points give the same bits. Throws InputError, naming
/// `name`, for fewer than four points, coordinates that are not finite, and points that are within
/// 1e-6 of their extent of a point, a line or a plane. n log n for n points.
TriangleMesh convex_hull(std::span<const Vec3> points, std::string_view name = "hull");

/// Whether a closed surface is convex, up to rounding: no vertex across an edge is above the
/// triangle.
bool is_convex(const TriangleMesh& mesh, std::string_view name);

/// Distance from the centre of mass to the nearest face [m]: a ball of this radius fits into the
/// hull.
double inner_radius(const TriangleMesh& hull);

}  // namespace urto
