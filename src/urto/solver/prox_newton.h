// Proximal point with a semi-smooth Newton inside; the most robust of the solvers here, redundant
// contacts included.
//
// Step k solves the problem with α(λ − λ_k) added to the velocity, α_i = σ tr(W_ii)/d
// (proximal_subproblem.h). For convex friction each step is a convex problem, and σ falls quickly.
// For exact friction De Saxcé's term, taken at the current velocity, is frozen during a step: a
// fixed point around convex problems that converges where the plain loop (lagged_terms.cpp) cycles,
// because the shift holds each step back; σ is steered by how the residual moves. Near a solution a
// Newton step on Alart and Curnier's function, which needs no lagging, is tried: it ends the
// iteration at once where the solution is not degenerate.
//
// Cost: a sparse factorisation a Newton step (positive definite; LU for the last kind). Sources:
// Rockafellar 1976; Acary, Cadoux, Lemaréchal, Malick 2011 (the lagged term); Alart, Curnier 1991
// with recipe 003 §5.16–5.17; Acary, Brémond, Huber 2018 (proximal point for friction).
#pragma once

#include "urto/solver/infeasible_ray.h"
#include "urto/solver/method.h"
#include "urto/solver/proximal_subproblem.h"

namespace urto {

/// As the last resort of another method: a first shift that suits the start, and an end where
/// nothing is gained.
struct ProximalStart {
  double shift = 0.1;
  double smallest_shift = 0;  ///< none smaller than this, whatever the tolerance allows
  int patience =
      std::numeric_limits<int>::max();  ///< steps in which the residual must fall by a tenth
};

class ProximalPoint {
 public:
  void solve(Run& run, const ProximalStart& start);

 private:
  void begin(Run& run);
  void iterate(const ProximalStart& start);
  void velocity(const Vector& lambda);
  bool measure();
  double goal(double residual) const;
  ProximalSubproblem::Report run_subproblem(ProximalSubproblem& subproblem, double sigma,
                                            double residual);
  void set_lagged_terms(bool with_coulomb_cones);
  bool lagged_step(double sigma);
  bool polish(double residual);

  Run* run_ = nullptr;
  Delassus* W_ = nullptr;
  bool exact_ = false;
  bool stopped_ = false;  ///< by the clock or the caller, inside a subproblem
  ProximalSubproblem convex_, coulomb_;
  InfeasibleRay ray_;
  Vector u_, c_, skew_, alpha_, before_;
};

}  // namespace urto
