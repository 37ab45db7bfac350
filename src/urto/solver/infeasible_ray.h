// Farkas' alternative for a step problem: if K has a direction d with W d = 0 and q·d < 0, no
// velocity satisfies the constraints.
#pragma once

#include "urto/solver/delassus.h"

namespace urto {

/// With the vectors that the questions need, kept.
class InfeasibleRay {
 public:
  /// Whether `step`, along which the multipliers grow without end, is such a direction up to
  /// rounding.
  bool runs_along(Delassus& W, const Vector& step);

  /// The size that multipliers would need, relative to a typical one, for the constraints to be met
  /// in spite of `lambda`: −q·λ / ‖Wλ‖ with rows weighted by 1/√w_i, over `energy_root`. For every
  /// solution λ', −q·λ ≤ λ'·Wλ. With `exact`, the normal parts of cones only: tangential motion is
  /// never forbidden.
  double infeasibility(Delassus& W, const Vector& lambda, bool exact, double energy_root);

 private:
  Vector d_, Wd_, projected_;
};

}  // namespace urto
