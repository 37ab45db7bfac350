// The step problem of a whole model with H by blocks, as steppers assemble it.
#pragma once

#include <vector>

#include "urto/problem/step_problem.h"

namespace urto {

/// A block of H outside its diagonal, H(row, column) = values with row < column; the transposed block is implied.
struct CouplingBlock {
  int row = 0, column = 0;  ///< first dofs
  Eigen::Matrix<double, 6, 6> values;
};

/// A step problem with H by blocks. `problem` holds a, b, J, K and E; problem.H is filled where an island is handed on, and for the certificate.
struct BlockStepProblem {
  StepProblem problem;
  BlockDiagonal H;                           ///< diagonal blocks
  std::vector<CouplingBlock> coupling = {};  ///< springs between bodies, treated implicitly
  std::vector<double> compliance = {};       ///< diagonal of E, one a row
};

/// Fills problem.H and problem.E from the blocks; `soft` says whether any compliance is not zero.
void complete_problem(BlockStepProblem& p, bool soft);

}  // namespace urto
