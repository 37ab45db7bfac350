// An island of contacts as a linear system, for a guess of who sticks, slips and parts: the way out of slow sweeps where little changes from step to step (a stack, an arch, a pile at rest).
//
// Sticking contacts and joints are equalities, sliding ones an equality along the normal with the tangential force as it is, parted ones nothing. The system is that of a mechanism (BlockLdlt) and is
// corrected from the last multipliers, so forces of redundant contacts stay near those. What the result says of each contact is the next guess. No proof of convergence: the caller measures the
// residual and goes on otherwise if it does not get small.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "urto/linalg/block_ldlt.h"
#include "urto/solver/solver.h"

namespace urto {

class ActiveSet {
 public:
  enum class Role : std::uint8_t { held, sliding, apart };

  /// The island's nodes (blocks of H, which is block-diagonal here), its row blocks, the node of every dof, and a step ρ for every row block.
  struct Island {
    std::span<const int> nodes, blocks, node_of_dof;
    std::span<const double> rho, compliance;
    const BlockMatrix* H = nullptr;
  };

  /// Roles by what λ − ρu is projected to. False if a law here is not one of stick, slip and part.
  bool guess(const StepProblem& p, const Island& island, Friction friction, const Vector& x,
             const Vector& lambda);
  /// Solves for the guess, well below `tolerance` (relative); x and λ are changed. False if the factorisation fails.
  bool solve(const StepProblem& p, const Island& island, double tolerance, Vector& x,
             Vector& lambda);

 private:
  void analyse(const StepProblem& p, const Island& island);
  void fill(const StepProblem& p, const Island& island);
  double residual(const StepProblem& p, const Island& island, const Vector& x,
                  const Vector& lambda);

  std::vector<Role> role_ = {};       ///< one a row block of the island
  std::vector<int> row_blocks_ = {};  ///< places in the island's list that have rows here
  std::vector<int> node_index_ = {};  ///< of a node in the factor, −1 outside
  std::vector<int> sizes_ = {}, sign_ = {}, pattern_ = {}, last_pattern_ = {};
  std::vector<std::pair<int, int>> edges_ = {};
  BlockLdlt factor_;
  Vector rhs_;
};

}  // namespace urto
