// One contact by itself: u = M r + q with M the diagonal block of W, 3 × 3 (up to 6 × 6 with
// rolling and spinning friction). Gauss–Seidel solves one of these after the other. Sources: recipe
// 003 §5.15 (quartic, corrected), §5.16 (Alart–Curnier), A2–A3 (projection).
#pragma once

#include "urto/math/convex_set.h"
#include "urto/problem/step_problem.h"

namespace urto {

/// What a local solver did; `solved` is measured by the natural map, not believed.
struct LocalResult {
  bool solved = false;
  int iterations = 0;
};

/// ‖r − Π(r − û/m)‖ · m with m = tr(M)/d: zero at a solution, in units of velocity.
double local_residual(const ConvexSet& set, const Eigen::Ref<const Matrix>& M, const double* q,
                      const double* r, Friction friction);

/// Fixed point r ← Π(r − ρ û) with an adaptive ρ. Any set, either law; linear rate.
LocalResult solve_local_projection(const ConvexSet& set, const Eigen::Ref<const Matrix>& M,
                                   const double* q, double* r, Friction friction, double tolerance,
                                   int max_iterations);

/// Exact Coulomb friction by cases: take-off, stick, and slip as the root of a quartic (3D) or in
/// closed form (2D). Finds the solution without iterating; `set` must be a cone of dimension 2 or
/// 3, M positive definite.
LocalResult solve_local_quartic(const ConvexSet& set, const Eigen::Ref<const Matrix>& M,
                                const double* q, double* r);

/// Newton on Alart and Curnier's function (exact law), or on the natural map (convex law), damped
/// by a line search; starts from r. Falls back on the quartic (cones) and then on the projection
/// when Newton fails. Cones of dimension 2 and 3, and rolling cones.
LocalResult solve_local_newton(const ConvexSet& set, const Eigen::Ref<const Matrix>& M,
                               const double* q, double* r, Friction friction, double tolerance);

}  // namespace urto
