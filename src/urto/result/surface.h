// Surfaces of shapes as triangles, for files that other programs draw.
#pragma once

#include <array>
#include <vector>

#include "urto/result/drawn_model.h"

namespace urto {

/// Counter-clockwise seen from outside; a normal a point, so that edges have several points at one
/// place.
struct Surface {
  std::vector<Vec3> points = {}, normals = {};
  std::vector<std::array<int, 3>> triangles = {};
};

/// In the shape's own axes. `turns`: how many facets go round. Empty for a shape that has no
/// surface to draw.
Surface surface_of(const DrawnShape& shape, const DrawnModel& model, int turns = 24);

}  // namespace urto
