// Two boxes by their separating axes (Gottschalk, Lin and Manocha 1996): three faces of each and
// nine crossings of edges.
#pragma once

#include "urto/collision/gjk.h"

namespace urto {

/// The unit direction (from B to A) along which the cores, both boxes, are furthest apart, or
/// overlap least, among the fifteen axes. The result's `distance` is exact where they overlap, else
/// a lower bound (exact unless the nearest features are two vertices, or a vertex and an edge). No
/// points. Stops, with a distance above `reach`, as soon as an axis shows one.
Nearest box_axes(const ConvexPair& pair, double reach);

}  // namespace urto
