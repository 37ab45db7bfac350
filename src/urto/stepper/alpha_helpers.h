// Internal: what the parts of the non-smooth generalised-α scheme share.
#pragma once

#include <algorithm>
#include <vector>

#include "urto/mechanics/interactions.h"
#include "urto/model/layout.h"

namespace urto::alpha_rows {

/// [m] A gap that counts as closed; 1e-13 to 1e-4 all do (recipe 004, supplement §2).
inline constexpr double closed_gap = 1e-9;

/// The node that a column of J belongs to.
inline int node_at(const Layout& layout, int column) {
  const auto after = std::upper_bound(layout.v_start.begin(), layout.v_start.end(), column);
  return static_cast<int>(after - layout.v_start.begin()) - 1;
}

inline bool is_contact(const Law& law) {
  return law.kind == LawKind::unilateral || law.kind == LawKind::coulomb;
}

inline bool is_rigid_contact(const Law& law) {
  return is_contact(law) && !is_soft(law);
}

inline double largest(const Eigen::Ref<const Vector>& v) {
  return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
}

}  // namespace urto::alpha_rows
