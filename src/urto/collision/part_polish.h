// Nearest points of cores with round parts to the last digits. Iterations that only ask for
// supports leave half of the digits where a round part meets an edge or a face, along which
// supports jump.
#pragma once

#include "urto/collision/gjk.h"

namespace urto {

/// Newton's method on the parts (core_part.h) that the points found lie on. Changes `nearest` only
/// to what is certain: the new normal supports both cores at the new points, and along it they are
/// at least as far apart as along the old one. False if there is no such thing.
bool polish_on_parts(const ConvexPair& pair, Nearest& nearest);

/// The same from points that are only near the solution, on the parts that lie within `tolerance`
/// [m] of them, and at most `way` [m] from there. The solution is a local one where the cores
/// overlap; the normal supports both cores at its points.
bool meet_on_parts(const ConvexPair& pair, double tolerance, double way, Nearest& nearest);

}  // namespace urto
