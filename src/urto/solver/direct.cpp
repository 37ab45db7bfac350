// Sparse direct LDLᵀ of the saddle point, for problems with joints only (recipe 000 §2.8 "direct",
// the stand-in for PARDISO). The zero block gets a shift of −1e-9 tr(W_ii)/d, which makes the
// matrix quasi-definite: LDLᵀ exists for every ordering (Vanderbei 1995), and redundant but
// consistent rows do no harm. Refinement on the unshifted system takes the shift's effect away: it
// is a proximal-point iteration whose rate is the shift over the smallest nonzero eigenvalue of W.
#include <Eigen/SparseCholesky>

#include "urto/solver/linear_system.h"
#include "urto/solver/method.h"

namespace urto {

void direct_ldlt(Run& run) {
  constexpr double relative_shift = 1e-9;
  constexpr int refinement_limit = 50;
  SaddleSystem system(run.W);
  Eigen::SimplicialLDLT<SparseMatrix, Eigen::Lower> factor(system.lower_triangle(relative_shift));
  ++run.factorizations;
  if (factor.info() != Eigen::Success) {
    run.monitor.set_status(Status::failed);
    run.message = "LDLᵀ of the saddle-point matrix broke down";
    return;
  }
  const Vector rhs = system.right_hand_side();
  Vector y = Vector::Zero(system.size());
  y.tail(run.W.rows()) = -run.lambda;
  Vector residual(system.size());
  double best = std::numeric_limits<double>::infinity();
  int without_progress = 0;
  for (int iteration = 0; iteration <= refinement_limit; ++iteration) {
    system.apply(y, residual);
    residual = rhs - residual;
    y += factor.solve(residual);
    if (system.observe(iteration + 1, y, run)) return;
    without_progress = run.monitor.last_residual() < 0.5 * best ? 0 : without_progress + 1;
    best = std::min(best, run.monitor.last_residual());
    if (without_progress == 5) break;
  }
  run.monitor.set_status(Status::stalled);
  run.message = "refinement stalls: the joint rows contradict each other, or are nearly dependent";
}

}  // namespace urto
