// Sparse direct LDLᵀ of the saddle point, for problems with joints only (recipe 000 §2.8 "direct",
// the stand-in for PARDISO). The zero block gets a shift of −1e-9 tr(W_ii)/d, which makes the
// matrix quasi-definite: LDLᵀ exists for every ordering (Vanderbei 1995), and redundant but
// consistent rows do no harm. Refinement on the unshifted system takes the shift's effect away: it
// is a proximal-point iteration whose rate is the shift over the smallest nonzero eigenvalue of W.
#include <optional>

#include "urto/solver/linear_system.h"
#include "urto/solver/method.h"

namespace urto {
namespace {

constexpr double relative_shift = 1e-9;
constexpr int refinement_limit = 50;

class DirectLdlt final : public Method {
 public:
  void solve(Run& run) override {
    system_.set(run.W);
    const SparseMatrix& A = system_.lower_triangle(relative_shift);
    factor_.emplace(run.W.symbolic_store(), A);
    const bool factored = (*factor_)->factorize(A);
    ++run.factorizations;
    if (!factored) {
      run.monitor.set_status(Status::failed);
      run.message = "LDLᵀ of the saddle-point matrix broke down";
    } else if (!refine(run)) {
      run.monitor.set_status(Status::stalled);
      run.message =
          "refinement stalls: the joint rows contradict each other, or are nearly dependent";
    }
    factor_.reset();  // back to the store
  }

 private:
  // False where it stalls.
  bool refine(Run& run) {
    system_.right_hand_side(rhs_);
    y_.setZero(system_.size());
    y_.tail(run.W.rows()) = -run.lambda;
    double best = std::numeric_limits<double>::infinity();
    int without_progress = 0;
    for (int iteration = 0; iteration <= refinement_limit; ++iteration) {
      system_.apply(y_, residual_);
      residual_ = rhs_ - residual_;
      (*factor_)->solve(residual_, change_);
      y_ += change_;
      if (system_.observe(iteration + 1, y_, run)) return true;
      without_progress = run.monitor.last_residual() < 0.5 * best ? 0 : without_progress + 1;
      best = std::min(best, run.monitor.last_residual());
      if (without_progress == 5) break;
    }
    return false;
  }

  SaddleSystem system_;
  std::optional<LentFactor<SparseLdlt>> factor_;
  Vector rhs_, y_, residual_, change_;
};

}  // namespace

std::unique_ptr<Method> make_ldlt() {
  return std::make_unique<DirectLdlt>();
}

}  // namespace urto
