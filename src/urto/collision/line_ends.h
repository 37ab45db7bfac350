// The ends of lines that touch along their length: a capsule's axis, the lines of a cylinder's or
// cone's side, rounded edges.
//
// The nearest points of two such lines jump from one end to the other as the lines pass through
// being parallel. An end of a line, the ball, corner or rim there, is itself part of its solid: how
// far it is from the other solid is a gap that must not close, whatever the angle. So each end is
// a contact of its own, with the gap, points and normal of *its* nearest points. Far from parallel
// an end's gap is beyond reach; as the lines become parallel it closes as the square of the angle,
// and the load goes over to it as the step problem finds. Nothing is chosen by an angle.
#pragma once

#include "urto/collision/gjk.h"
#include "urto/collision/manifold.h"

namespace urto {

/// Whether the faces of both solids are flat and their edges sharp: edges that cross then touch
/// where the faces beside them let them, along the normal of the pair.
bool is_sharp_and_flat(const ConvexPair& pair);

/// Appends the ends of the lines among `scratch.a` and `scratch.b` (in A's frame, as
/// `shared_region` takes them) that `scratch.candidates` does not have yet and whose gap is up to
/// `reach`. `tolerance` [m]: ends this far beyond the other line's end count as beside it.
void add_line_ends(const ConvexPair& pair, const Nearest& nearest, double reach, double tolerance,
                   ManifoldScratch& scratch);

/// Of two lines' ends, those that lie outermost on either side and the nearest one; the others are
/// the same points within the square of the angle. Ties go to A's.
void keep_outermost_ends(const Vec3& n, double tolerance, ManifoldScratch& scratch);

}  // namespace urto
