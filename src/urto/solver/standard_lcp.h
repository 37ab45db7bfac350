// Internal: a mixed complementarity problem as an LCP, w = M y + q, y ≥ 0 ⊥ w ≥ 0, for the methods
// that pivot. Bounds are shifted to zero, an upper bound beside a lower one gets a slack row, and a
// free unknown is eliminated, or where its block is singular split in two of opposite sign. A
// positive semi-definite M stays one. Dense.
#pragma once

#include "urto/problem/complementarity.h"

namespace urto::complementarity {

/// z = z₀ + S y with y ≥ 0, M y + q ≥ 0 complementary.
struct StandardLcp {
  Matrix M;
  Vector q;
  Matrix S;
  Vector z0;
  bool is_itself = false;  ///< the problem was an LCP

  int size() const { return static_cast<int>(q.size()); }
  /// z of y, within its bounds.
  Vector recover(const ComplementarityProblem& p, const Vector& y) const {
    return (z0 + S * y).cwiseMax(p.lo).cwiseMin(p.hi);
  }
};

StandardLcp standard_lcp(const ComplementarityProblem& problem);

/// Does y prove that no point satisfies the inequalities? By Farkas' lemma one with y ≥ 0, Mᵀy ≤ 0,
/// qᵀy < 0 does.
bool proves_infeasible(const StandardLcp& lcp, const Vector& y);

}  // namespace urto::complementarity
