// The step problem with polyhedral friction as a mixed linear complementarity problem (recipe 002
// §2.3; D. E. Stewart and J. C. Trinkle 1996; M. Anitescu and F. A. Potra, Nonlinear Dynamics 14
// (1997) 231–247), and solvers for it. With generators G of the impulses, λ = G y + f e_N,
//
//     w_y = Gᵀu + F s        y ≥ 0 of normals and edges, as the set says of other rows
//     w_s = μ (y_N + f) − Σ y_edge        s ≥ 0: the speed of slip of one friction bound
//
// in two forms. Condensed, u = W λ + q with W = J H⁻¹Jᵀ + E; sparse, x is an unknown besides, H x −
// Jᵀλ − a = 0. H need not be symmetric. Where its symmetric part is positive definite the condensed
// matrix is copositive and Lemke's method ends at a solution (theorem 5.1 of the source).
#pragma once

#include "urto/problem/certificate.h"
#include "urto/problem/complementarity.h"
#include "urto/solver/complementarity_solver.h"

namespace urto {

struct PolyhedralForm {
  ComplementarityProblem problem;
  int primal = 0;   ///< leading unknowns that are x; 0 if condensed
  double unit = 1;  ///< of the impulses, about a mass: with it all entries are of one size
  SparseMatrix G;   ///< rows × impulses y, which follow
  Vector shift;     ///< λ = unit G y + shift
};

/// Throws InputError where H is singular, or without edges although a block has two tangential
/// rows.
PolyhedralForm polyhedral_form(const StepProblem& problem, const FrictionLaw& law, bool condensed);

/// λ of a solution of the form.
Vector impulses_of(const PolyhedralForm& form, const Vector& z);

/// Solves step problems of a friction law one after the other. Several methods in turn, each
/// certified by the law itself, until one meets the tolerance: Lemke's first where the problem is
/// small, Newton's where it is not. Without edges polygons are turned until a corner of each lies
/// against its slip: that is the circle's solution.
class PolyhedralSolver {
 public:
  /// λ and x out; the certificate decides about the status.
  void solve(const StepProblem& problem, const FrictionLaw& law, const SolveOptions& options,
             Vector& x, Vector& lambda, StepSolveReport& report);

 private:
  bool solve_polygons(const StepProblem& problem, const FrictionLaw& law, double tolerance);
  void solve_circles(const StepProblem& problem, const FrictionLaw& law, double tolerance);
  void consider(const StepProblem& problem, const FrictionLaw& law, const PolyhedralForm& form,
                const ComplementaritySolution& found);
  double turn(const StepProblem& problem, std::vector<double>& phase);

  Certifier certifier_;
  Vector x_, lambda_;
  std::vector<double> last_turn_ = {}, last_step_ = {};  ///< per block, of `turn`
  double residual_ = 0;
  int iterations_ = 0;
  std::string method_ = {}, trouble_ = {};
};

}  // namespace urto
