// Projected successive over-relaxation, plain and symmetric: one block after the other, each from
// the newest velocities. Source: recipe 000 §2.8, fixed-point family (SOR, SYMMSOR). Linear rate;
// stalls on long chains of contacts. A sweep costs the entries of J twice.
#include "urto/solver/projected_relaxation.h"

namespace urto {
namespace {

void sweep(Run& run, bool symmetric) {
  const int blocks = run.W.blocks();
  ProjectedRelaxation relaxation(run);
  Vector u(run.W.rows());
  for (int iteration = 0;; ++iteration) {
    run.iterations = iteration;
    if (run.monitor.is_due(iteration)) {
      relaxation.velocities(run.lambda, u);
      if (run.monitor.observe(iteration, run.lambda, u)) return;
    }
    for (int i = 0; i < blocks; ++i) relaxation.relax(i, run.lambda);
    for (int i = blocks - 1; symmetric && i >= 0; --i) relaxation.relax(i, run.lambda);
  }
}

}  // namespace

void sor(Run& run) {
  sweep(run, false);
}
void symmetric_sor(Run& run) {
  sweep(run, true);
}

}  // namespace urto
