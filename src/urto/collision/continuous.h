// When two moving convex solids first come near: conservative advancement (Mirtich 1996).
#pragma once

#include <optional>

#include "urto/collision/narrow_phase.h"

namespace urto {

/// A solid carried by a body that keeps its velocities during the step.
struct Sweep {
  Place start = {};
  Vec3 pivot = Vec3::Zero();     ///< the body's centre of mass
  Vec3 velocity = Vec3::Zero();  ///< of the pivot
  Vec3 spin = Vec3::Zero();      ///< angular velocity, world axes
  double arm = 0;                ///< no point of the solid is farther from the pivot [m]

  Place at(double t) const;
};

struct Impact {
  double time = 0;
  Vec3 normal = Vec3::UnitZ();              ///< then, from B to A
  Vec3 a = Vec3::Zero(), b = Vec3::Zero();  ///< where the points that meet are at the start
};

/// The first time in [0, h] at which the gap is `near` [m] or less; none if it stays larger.
std::optional<Impact> time_of_impact(const Convex& a, const Sweep& sweep_a, const Convex& b,
                                     const Sweep& sweep_b, double h, double near);

}  // namespace urto
