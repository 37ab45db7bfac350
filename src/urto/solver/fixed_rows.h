// Takes out of a step problem the rows whose multiplier has no freedom: the tangents of a cone with
// μ = 0, which becomes a scalar row (recipe 001 §2.6), and boxes with lo = hi. An interior point
// needs sets with an interior.
#pragma once

#include <vector>

#include "urto/linalg/sparse_builder.h"
#include "urto/problem/step_problem.h"

namespace urto {

// NOLINTNEXTLINE(bugprone-exception-escape): Eigen moves a sparse matrix by copying.
struct FreeRows {
  StepProblem problem;
  std::vector<int> row = {};  ///< of the original problem, for each row that is left
  Vector lambda;              ///< of the original problem: the fixed values, zero elsewhere

  // Storage that is kept.
  Vector shifted_b;
  std::vector<int> place = {};
  SparseBuilder builder;
};

/// How many rows of the set have a multiplier without freedom.
int fixed_rows(const ConvexSet& set);

/// False if there are no such rows; `out` is then as it was.
bool without_fixed_rows(const StepProblem& problem, FreeRows& out);

/// The problem without row block `block`, in the storage that is there: its constraint is dropped,
/// the other rows keep their order.
void without_block(const StepProblem& problem, int block, StepProblem& out);

}  // namespace urto
