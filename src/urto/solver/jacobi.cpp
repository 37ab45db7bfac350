// Projected Jacobi. Solves λ = Π_K(λ − ω η (W λ + q + s)) with all blocks updated at once from the
// old velocities. Source: recipe 000 §2.8, fixed-point family. Needs ω ≈ 0.2–0.5 where bodies touch
// many neighbours. Linear rate, cost of one product with W an iteration. With exact friction s =
// (μ‖u_T‖, 0, 0) is taken at the current velocity.
#include <array>

#include "urto/solver/method.h"
#include "urto/solver/row_access.h"

namespace urto {
namespace {

class Jacobi final : public Method {
 public:
  void solve(Run& run) override {
    for (int iteration = 0;; ++iteration) {
      run.W.apply(run.lambda, u_);
      u_ += run.W.q();
      if (!run.W.is_symmetric()) {
        run.W.apply_skew(run.lambda, skew_);
        u_ += skew_;
      }
      run.iterations = iteration;
      if (run.monitor.is_due(iteration) && run.monitor.observe(iteration, run.lambda, u_)) return;
      relax(run);
    }
  }

 private:
  void relax(Run& run) {
    const SetProduct& K = run.W.K();
    const bool exact = run.options.friction == Friction::exact;
    std::array<double, max_block> trial{};
    for (int i = 0; i < run.W.blocks(); ++i) {
      const ConvexSet& set = K.sets[i];
      double* lambda = run.lambda.data() + K.start[i];
      double* v = u_.data() + K.start[i];
      if (exact) v[0] += de_saxce(set, v);
      descend(run.W.row_blocks(), set, i, run.options.jacobi_relaxation, lambda, v, trial.data());
      project(set, trial.data(), trial.data());
      for (int k = 0; k < set.dim; ++k) lambda[k] += run.options.sharpness * (trial[k] - lambda[k]);
    }
  }

  Vector u_, skew_;
};

}  // namespace

std::unique_ptr<Method> make_jacobi() {
  return std::make_unique<Jacobi>();
}

}  // namespace urto
