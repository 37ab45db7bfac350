// Takes out of a step problem the rows whose multiplier has no freedom: the tangents of a cone with
// μ = 0, which becomes a scalar row (recipe 001 §2.6), and boxes with lo = hi. An interior point
// needs sets with an interior.
#pragma once

#include <optional>
#include <vector>

#include "urto/problem/step_problem.h"

namespace urto {

// NOLINTNEXTLINE(bugprone-exception-escape): Eigen moves a sparse matrix by copying.
struct FreeRows {
  StepProblem problem;
  std::vector<int> row;  ///< of the original problem, for each row that is left
  Vector lambda;         ///< of the original problem: the fixed values, zero elsewhere
};

/// Nothing if there are no such rows.
std::optional<FreeRows> without_fixed_rows(const StepProblem& problem);

}  // namespace urto
