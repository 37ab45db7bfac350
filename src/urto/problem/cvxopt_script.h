// A step problem as a cone program for CVXOPT's coneqp: a check by somebody else's solver (recipe
// 001 checklist 72).
//
// With z = (x, λ) every kind of row fits, compliance included:
//     min ½ xᵀH x + ½ λᵀE λ + bᵀλ,     H x − Jᵀλ = a,     λ ∈ K
// Convex friction: a cone program has no De Saxcé term.
#pragma once

#include <string>

#include "urto/problem/step_problem.h"

namespace urto {

/// A Python script that defines P, q, A, b, G, h and dims, and solves them when it is run.
std::string cvxopt_script(const StepProblem& problem);

}  // namespace urto
