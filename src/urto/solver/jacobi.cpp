// Projected Jacobi. Solves λ = Π_K(λ − ω η (W λ + q + s)) with all blocks updated at once from the old velocities.
// Source: recipe 000 §2.8, fixed-point family. Needs ω ≈ 0.2–0.5 where bodies touch many neighbours. Linear rate, cost of one
// product with W an iteration. With exact friction s = (μ‖u_T‖, 0, 0) is taken at the current velocity.
#include <array>

#include "urto/solver/method.h"
#include "urto/solver/row_access.h"

namespace urto {

void jacobi(Run& run) {
  Delassus& W = run.W;
  const SetProduct& K = W.K();
  const BlockStep step(W);
  const bool exact = run.options.friction == Friction::exact;
  const double sharpness = run.options.sharpness;
  Vector u(W.rows());
  Vector skew = Vector::Zero(W.rows());
  for (int iteration = 0;; ++iteration) {
    W.apply(run.lambda, u);
    u += W.q();
    if (!W.is_symmetric()) {
      W.apply_skew(run.lambda, skew);
      u += skew;
    }
    run.iterations = iteration;
    if (run.monitor.is_due(iteration) && run.monitor.observe(iteration, run.lambda, u)) return;
    std::array<double, max_block> trial{};
    for (int i = 0; i < W.blocks(); ++i) {
      const ConvexSet& set = K.sets[i];
      double* lambda = run.lambda.data() + K.start[i];
      double* v = u.data() + K.start[i];
      if (exact) v[0] += de_saxce(set, v);
      step.descend(i, run.options.jacobi_relaxation, lambda, v, trial.data());
      project(set, trial.data(), trial.data());
      for (int k = 0; k < set.dim; ++k) lambda[k] += sharpness * (trial[k] - lambda[k]);
    }
  }
}

}  // namespace urto
