// Solving the mixed complementarity problem  w = M z + q,  lo ≤ z ≤ hi  (see
// problem/complementarity.h).
//
//   pgs     projected Gauss–Seidel: cheap, for M with a positive diagonal (recipe 003 A4)
//   newton  semismooth Newton on the Fischer–Burmeister form, with a line search: most
//           problems, sparse
//   lemke   Lemke's pivoting with lexicographic ratios: dense and exact; proves that there is no
//           solution where no point satisfies the inequalities
//   principal  principal pivoting, many pairs at once and then by least index: dense and exact,
//           for P-matrices and positive semi-definite ones
//   auto    these four in turn, each from the best point so far, until the residual meets the
//           tolerance
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "urto/problem/complementarity.h"
#include "urto/solver/solver.h"

namespace urto {

struct ComplementarityOptions {
  std::string solver = "auto";
  double tolerance = 1e-8;     ///< on natural_map_residual
  int max_iterations = 10000;  ///< of each method: sweeps, Newton steps or pivots
  double time_limit = std::numeric_limits<double>::infinity();  ///< [s] wall time
};

struct ComplementaritySolution {
  Vector z;
  double residual = std::numeric_limits<double>::infinity();  ///< natural_map_residual of z
  Status status = Status::failed;
  int iterations = 0;   ///< of the method named by `solver`
  std::string solver;   ///< the method that produced z
  std::string message;  ///< why, when the status is not `converged`
  double seconds = 0;
  /// Of an LCP that is infeasible: y ≥ 0 with Mᵀy ≤ 0, qᵀy < 0 and largest entry one, so that no z
  /// ≥ 0 has M z + q ≥ 0.
  Vector certificate = {};
};

struct ComplementaritySolverInfo {
  std::string_view name;
  std::string_view summary;
};
std::span<const ComplementaritySolverInfo> complementarity_solvers();

/// Throws InputError if the solver is unknown or an option is out of range; a problem that is hard
/// or has no solution gives a status and a message instead. The problem must be valid.
ComplementaritySolution solve(const ComplementarityProblem& problem,
                              const ComplementarityOptions& options = {},
                              const Vector* warm_start = nullptr);

}  // namespace urto
