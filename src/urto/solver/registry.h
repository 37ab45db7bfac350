// The solvers by name, with what each can do.
#pragma once

#include "urto/solver/method.h"

namespace urto {

struct RegisteredSolver {
  SolverInfo info;
  MethodFactory make;  ///< empty for "auto", which chooses among the others
};

/// Throws InputError with the names for a name that is none.
const RegisteredSolver& find_solver(std::string_view name);

/// Throws InputError, naming solvers that can, if this one cannot treat the problem.
void check_capabilities(const SolverInfo& info, const StepProblem& p, Friction friction);

/// Throws InputError for an option out of range.
void check_options(const SolveOptions& options);

}  // namespace urto
