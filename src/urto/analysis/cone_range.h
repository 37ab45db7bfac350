// How far a linear function goes over points in cones: max c·s where scale·α(s) ≥ ‖β(s)‖ in every
// cone, α and β affine. Small and dense: the reactions of a body on a few contacts.
//
// By the logarithmic barrier −Σ log(α² − ‖β‖²) and Newton's iteration (Nesterov and Nemirovskii
// 1994): its distance to the maximum is at most 2/t a cone at the weight t.
#pragma once

#include <vector>

#include "urto/math/types.h"

namespace urto {

/// Rows (α; β) of a cone as offset + slopes · s; one row alone is α ≥ 0.
struct AffineCone {
  Vector offset;
  Matrix slopes;
};

class ConeRange {
 public:
  /// `size` is the scale of the rows. Cones are widened by 1e-9 of it, so that a set that is a
  /// single point has an inside.
  ConeRange(std::vector<AffineCone> cones, int unknowns, double size);

  /// Whether some s is in all cones.
  bool possible() const { return possible_; }
  /// Largest c·s; infinity where there is no bound.
  double highest(const Vector& c) const;

 private:
  std::vector<AffineCone> cones_;
  double size_;
  Vector inside_;
  bool possible_ = false;
};

}  // namespace urto
