// Axis-aligned boxes: the bounds that broad phase and trees work with.
#pragma once

#include "urto/math/types.h"

namespace urto {

/// Closed on both sides: boxes that only touch overlap.
struct Aabb {
  Vec3 lower = Vec3::Zero();
  Vec3 upper = Vec3::Zero();

  Vec3 center() const { return 0.5 * (lower + upper); }
  Vec3 extent() const { return upper - lower; }
};

inline bool overlap(const Aabb& a, const Aabb& b) {
  return (a.lower.array() <= b.upper.array()).all() && (b.lower.array() <= a.upper.array()).all();
}

inline Aabb merged(const Aabb& a, const Aabb& b) {
  return {a.lower.cwiseMin(b.lower), a.upper.cwiseMax(b.upper)};
}

/// Wider by `margin` [m] on every side.
inline Aabb inflated(const Aabb& box, double margin) {
  return {box.lower.array() - margin, box.upper.array() + margin};
}

/// Finite and not inside out; false also for NaN.
inline bool is_bounded(const Aabb& box) {
  return box.lower.allFinite() && box.upper.allFinite() &&
         (box.lower.array() <= box.upper.array()).all();
}

}  // namespace urto
