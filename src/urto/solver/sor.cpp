// Projected successive over-relaxation, plain and symmetric: one block after the other, each from the newest velocities.
// Source: recipe 000 §2.8, fixed-point family (SOR, SYMMSOR). Linear rate; stalls on long chains of contacts. A sweep costs
// the entries of J twice. With exact friction De Saxcé's term is taken at the block's current velocity.
#include <array>

#include "urto/solver/method.h"
#include "urto/solver/row_access.h"

namespace urto {
namespace {

void sweep(Run& run, bool symmetric) {
  Delassus& W = run.W;
  const SetProduct& K = W.K();
  const BlockStep step(W);
  RowAccess rows(W, run.lambda);
  const bool exact = run.options.friction == Friction::exact;
  const double sharpness = run.options.sharpness;
  const auto update = [&](int i) {
    const ConvexSet& set = K.sets[i];
    std::array<double, max_block> u{};
    std::array<double, max_block> trial{};
    double* lambda = run.lambda.data() + K.start[i];
    rows.velocity(i, run.lambda, u.data());
    if (exact) u[0] += de_saxce(set, u.data());
    step.descend(i, run.options.relaxation, lambda, u.data(), trial.data());
    project(set, trial.data(), trial.data());
    for (int k = 0; k < set.dim; ++k) {
      trial[k] = sharpness * (trial[k] - lambda[k]);
      lambda[k] += trial[k];
    }
    rows.changed(i, trial.data());
  };

  Vector u(W.rows());
  for (int iteration = 0;; ++iteration) {
    run.iterations = iteration;
    if (time_to_measure(iteration)) {
      rows.velocities(run.lambda, u);
      if (run.monitor.observe(iteration, run.lambda, u)) return;
    }
    for (int i = 0; i < W.blocks(); ++i) update(i);
    if (symmetric) {
      for (int i = W.blocks() - 1; i >= 0; --i) update(i);
    }
  }
}

}  // namespace

void sor(Run& run) { sweep(run, false); }
void symmetric_sor(Run& run) { sweep(run, true); }

}  // namespace urto
