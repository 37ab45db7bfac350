// The natural map of the solvers: the running measure of how well −û ∈ N_K(λ) holds. The
// certificate measures the same with code of its own, on purpose (problem/certificate_laws.cpp).
#pragma once

#include "urto/math/convex_set.h"
#include "urto/problem/step_problem.h"

namespace urto {

/// Sums over row blocks of ‖λ − Π(λ − û)‖² and of ‖λ − Π(λ − ρû)‖²/ρ, an energy.
struct NaturalMap {
  double plain = 0, scaled = 0;

  void add(const ConvexSet& set, Friction law, const double* lambda, const double* u, double rho);
  /// The larger root, relative to ‖q‖ and to √Σ ρ‖q‖²; NaN if either is.
  double residual(double norm_q, double energy_q) const;
};

/// What residuals are relative to, from the sums of ‖q‖² and ρ‖q‖²: 1 where q is zero.
struct FreeMotion {
  double plain = 0, scaled = 0;  ///< sums of squares
  void add(const double* q, int rows, double rho) {
    double squares = 0;
    for (int k = 0; k < rows; ++k) squares += q[k] * q[k];
    plain += squares;
    scaled += rho * squares;
  }
  double norm() const;
  double energy() const;
};

}  // namespace urto
