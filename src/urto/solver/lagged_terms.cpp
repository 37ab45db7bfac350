// Exact Coulomb friction around a convex solver. De Saxcé's term makes the normal velocity depend
// on the tangential one; with the term frozen the problem is a convex cone problem. Lagging it
// gives the fixed point
//     s ← μ‖u_T(s)‖,   u(s) the velocity of the convex problem with q + s,
// (recipe 000 §2.7.3; Acary, Cadoux, Lemaréchal, Malick 2011). A skew part of W from a file is
// lagged in the same way.
#include <algorithm>

#include "urto/solver/method.h"

namespace urto {

void solve_with_lagged_terms(Run& run, ConvexMethod method) {
  Delassus& W = run.W;
  const bool exact = run.options.friction == Friction::exact && W.K().has_friction();
  if (!exact && W.is_symmetric()) {
    ConvexTask task{W, W.q(), run.options, run.monitor, run.lambda};
    method(task);
    run.iterations = task.iterations;
    run.factorizations = task.factorizations;
    return;
  }

  SolveOptions inner_options = run.options;
  inner_options.record_history = false;
  // Inside, progress is only a way to stop: its residual is that of another problem.
  if (run.options.on_progress) {
    inner_options.on_progress = [&](int iteration, double) {
      return run.options.on_progress(iteration, run.monitor.last_residual());
    };
  }
  inner_options.time_limit = run.options.time_limit - run.monitor.seconds();
  Monitor inner(W, inner_options, Friction::convex, Monitor::Clock::now());
  Vector u(W.rows());
  Vector skew = Vector::Zero(W.rows());
  Vector q(W.rows());
  for (;;) {
    W.apply(run.lambda, u);
    u += W.q();
    if (!W.is_symmetric()) {
      W.apply_skew(run.lambda, skew);
      u += skew;
    }
    if (run.monitor.observe(run.iterations, run.lambda, u)) return;
    if (run.monitor.last_residual() > 1e3 * run.monitor.best_residual()) {
      run.message = "the loop on De Saxcé's term diverges";
      run.monitor.set_status(Status::stalled);
      return;
    }

    q = W.q() + skew;
    if (exact) {
      for (int i = 0; i < W.blocks(); ++i) {
        q[W.K().start[i]] += de_saxce(W.K().sets[i], u.data() + W.K().start[i]);
      }
    }
    ++run.outer_iterations;
    // The inner solve needs to be only somewhat better than the outer error it can remove.
    inner.set_tolerance(
        std::max(0.5 * run.monitor.tolerance(), 0.05 * run.monitor.last_residual()));
    inner.forget_best();
    inner.set_iteration_offset(run.iterations);
    ConvexTask task{W, q, inner_options, inner, run.lambda};
    method(task);
    run.iterations += std::max(1, task.iterations);
    run.factorizations += task.factorizations;
    if (inner.status() == Status::failed) {
      run.monitor.set_status(Status::failed);
      run.message = "the convex solver broke down";
      return;
    }
  }
}

}  // namespace urto
