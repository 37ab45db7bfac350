// The mixed complementarity problem  w = M z + q,  lo ≤ z ≤ hi,  w the normal-cone multiplier of
// the bounds:
//   w_i ≥ 0 where z_i = lo_i,  w_i = 0 between,  w_i ≤ 0 where z_i = hi_i.
// M may be non-symmetric. LCP: lo = 0, hi = ∞; equality rows: lo = −∞, hi = ∞; relay: finite
// bounds.
#pragma once

#include <string_view>

#include "urto/math/types.h"

namespace urto {

struct ComplementarityProblem {
  SparseMatrix M;
  Vector q, lo, hi;
  int size() const { return static_cast<int>(q.size()); }
};

/// Throws InputError (with `name` in front) on sizes that do not fit, numbers that are not finite,
/// empty bounds.
void validate(const ComplementarityProblem& problem, std::string_view name);

/// ‖z − Π_[lo,hi](z − (M z + q))‖ / ‖q‖ (absolute when q = 0).
double natural_map_residual(const ComplementarityProblem& problem, const Vector& z);

}  // namespace urto
