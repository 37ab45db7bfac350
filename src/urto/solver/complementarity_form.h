// A step problem without friction as the problem of its multipliers alone (recipe 001 §2.6): with N
// = J H⁻¹ Jᵀ + E and r = J H⁻¹ a + b
//
//     u = N λ + r,     lo ≤ λ ≤ hi,     u ≥ 0 where λ = lo, u ≤ 0 where λ = hi, else u = 0
//
// a mixed linear complementarity problem, an LCP where all rows are contacts: for the solvers of
// complementarity_solver.h, whose pivoting is exact, and for other people's.
#pragma once

#include "urto/problem/complementarity.h"
#include "urto/problem/step_problem.h"

namespace urto {

/// Tangential rows of a cone with μ = 0 are fixed at zero. Throws InputError for cones with
/// friction, whose law is no bound row by row, and where H is not positive definite.
ComplementarityProblem complementarity_form(const StepProblem& problem);

/// x of these multipliers: H x = a + Jᵀλ.
Vector velocity_of(const StepProblem& problem, const Vector& lambda);

}  // namespace urto
