// An island of contacts as a linear system, for a guess of who sticks, slips and parts: the way out
// of slow sweeps where little changes from step to step (a stack, an arch, a pile at rest).
//
// Sticking contacts and joints are equalities, sliding ones an equality along the normal with the
// tangential force as it is, parted ones nothing; a bounded row is an equality inside its bounds
// and a constant force at them. The system is that of a mechanism (linalg/saddle_ldlt.h) and is
// corrected from the last multipliers, so forces of redundant contacts stay near those. What the
// result says of each contact is the next guess. No proof of convergence: the caller measures the
// residual and goes on otherwise if it does not get small.
#pragma once

#include <cstdint>
#include <vector>

#include "urto/linalg/saddle_ldlt.h"
#include "urto/solver/row_access.h"

namespace urto {

class ActiveSet {
 public:
  /// Roles by what λ − ρu is projected to. False if a law here is not one of those above.
  bool guess(const RowAccess& rows, Friction friction);
  /// Solves for the guess, well below `tolerance` (relative); x and λ of `rows` are changed.
  /// `island`: the nodes, couplings and places of the rows. False if the factorisation fails.
  bool solve(RowAccess& rows, const SaddleLdlt::System& island, double tolerance);

 private:
  enum class Role : std::uint8_t { held, sliding, apart };

  bool role_of(const ConvexSet& set, Friction friction, const double* force, const double* u,
               double rho, Role& role, double& bound) const;
  void release(RowAccess& rows);
  void enter_cones(RowAccess& rows) const;

  std::vector<Role> role_ = {};                  ///< per row block of the island
  std::vector<double> bound_ = {};               ///< per row block: the force of one that is apart
  std::vector<int> blocks_ = {}, heights_ = {};  ///< of the system
  SaddleLdlt saddle_;
};

}  // namespace urto
