// Exact Coulomb friction around a convex solver. De Saxcé's term makes the normal velocity depend
// on the tangential one; with the term frozen the problem is a convex cone problem. Lagging it
// gives the fixed point
//     s ← μ‖u_T(s)‖,   u(s) the velocity of the convex problem with q + s,
// (recipe 000 §2.7.3; Acary, Cadoux, Lemaréchal, Malick 2011). A skew part of W from a file is
// lagged in the same way.
#include <algorithm>

#include "urto/solver/method.h"

namespace urto {
namespace {

class LaggedTerms final : public Method {
 public:
  explicit LaggedTerms(std::unique_ptr<ConvexMethod> method) : method_(std::move(method)) {}

  void solve(Run& run) override {
    exact_ = run.options.friction == Friction::exact && run.W.K().has_friction();
    if (exact_ && method_->takes_live_terms() && solve_live(run)) return;
    if (exact_ || !run.W.is_symmetric()) {
      begin(run);
      iterate(run);
      return;
    }
    ConvexTask task{run.W, run.W.q(), run.options, run.monitor, run.lambda};
    method_->solve(task);
    run.iterations = task.iterations;
    run.factorizations = task.factorizations;
  }

 private:
  // Where bodies rest the term hardly changes, and needs no loop. False if that leads nowhere.
  bool solve_live(Run& run) {
    constexpr int patience = 100;  // iterations in which the residual must halve
    const int given = run.monitor.patience();
    run.monitor.set_patience(given > 0 ? std::min(given, patience) : patience);
    ConvexTask task{run.W, run.W.q(), run.options, run.monitor, run.lambda};
    task.live = true;
    method_->solve(task);
    run.monitor.set_patience(given);
    run.iterations = task.iterations;
    run.factorizations = task.factorizations;
    if (run.monitor.status() != Status::stalled || given > 0) return true;
    run.monitor.set_status(Status::iteration_limit);
    return false;
  }

  void begin(Run& run) {
    options_ = run.options;
    options_.record_history = false;
    // Inside, progress is only a way to stop: its residual is that of another problem.
    if (run.options.on_progress) {
      options_.on_progress = [&run](int iteration, double) {
        return run.options.on_progress(iteration, run.monitor.last_residual());
      };
    }
    options_.time_limit = run.options.time_limit - run.monitor.seconds();
    inner_.begin(run.W, options_, Friction::convex, Monitor::Clock::now());
    u_.resize(run.W.rows());
    skew_.setZero(run.W.rows());
  }

  void iterate(Run& run) {
    Delassus& W = run.W;
    for (;;) {
      W.apply(run.lambda, u_);
      u_ += W.q();
      if (!W.is_symmetric()) {
        W.apply_skew(run.lambda, skew_);
        u_ += skew_;
      }
      if (run.monitor.observe(run.iterations, run.lambda, u_)) return;
      if (run.monitor.last_residual() > 1e3 * run.monitor.best_residual()) {
        run.message = "the loop on De Saxcé's term diverges";
        run.monitor.set_status(Status::stalled);
        return;
      }
      if (!solve_frozen(run)) {
        run.monitor.set_status(Status::failed);
        run.message = "the convex solver broke down";
        return;
      }
    }
  }

  // The convex problem at u_. False if the method breaks down.
  bool solve_frozen(Run& run) {
    const SetProduct& K = run.W.K();
    q_ = run.W.q() + skew_;
    for (int i = 0; exact_ && i < K.blocks(); ++i)
      q_[K.start[i]] += de_saxce(K.sets[i], u_.data() + K.start[i]);
    ++run.outer_iterations;
    // The inner solve needs to be only somewhat better than the outer error it can remove.
    inner_.set_tolerance(
        std::max(0.5 * run.monitor.tolerance(), 0.05 * run.monitor.last_residual()));
    inner_.forget_best();
    inner_.set_iteration_offset(run.iterations);
    ConvexTask task{run.W, q_, options_, inner_, run.lambda};
    method_->solve(task);
    run.iterations += std::max(1, task.iterations);
    run.factorizations += task.factorizations;
    return inner_.status() != Status::failed;
  }

  std::unique_ptr<ConvexMethod> method_;
  bool exact_ = false;
  SolveOptions options_;
  Monitor inner_;
  Vector u_, skew_, q_;
};

}  // namespace

std::unique_ptr<Method> with_lagged_terms(std::unique_ptr<ConvexMethod> method) {
  return std::make_unique<LaggedTerms>(std::move(method));
}

}  // namespace urto
