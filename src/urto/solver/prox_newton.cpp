#include "urto/solver/prox_newton.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

// Shifts σ relative to the mean diagonal of W, hence free of units.
constexpr double shift_start = 1e-1;  // a first step that Newton always manages
constexpr double shift_max_lagged = 1e-1;
constexpr double shift_give_up = 1e6;
constexpr double shift_polish = 1e-6;
constexpr double polish_below = 1e-2;  // residual from which Newton on the exact law is worth a try
constexpr int polish_wait_min = 5, polish_wait_max = 80;

// The multipliers are recovered as (αλ_k − v)/A: rounding of the velocity v is magnified by 1/σ.
// Where the motion is unique it has to settle, and what rounding moves must stay well below the
// tolerance. With exact friction ShiftControl raises σ when rounding shows, and a small one is
// fast.
double smallest_shift(double tolerance, bool exact) {
  const double rounding = std::numeric_limits<double>::epsilon() / tolerance;
  return exact ? std::clamp(0.5 * rounding, 1e-8, 1e-2) : std::clamp(50 * rounding, 1e-7, 1e-2);
}

bool is_coulomb_cone(const ConvexSet& set) {
  return set.kind == SetKind::rolling_cone || (set.kind == SetKind::cone && set.dim <= 3);
}

// Steers σ by windows of a few steps. A shift that is too small makes the residual wander (De
// Saxcé's term overshoots, or rounding shows), one that is too large makes it creep; a flat
// residual is creeping too (multipliers moving along a redundant direction). A shift that works is
// kept.
class ShiftControl {
 public:
  ShiftControl(double smallest, bool exact)
      : smallest_(smallest), fast_(exact ? 0 : 0.1), exact_(exact) {}

  double next(double sigma, double residual) {
    if (residual > 1.05 * last_) ++rises_;
    last_ = residual;
    best_ = std::min(best_, residual);
    if (++steps_ < window_) return sigma;
    const double ratio = best_ / best_before_;
    if (ratio > fast_ && (ratio < 0.5 || rises_ == 0)) {
      sigma = std::max(smallest_, 0.3 * sigma);
    } else if (ratio > 0.95) {
      sigma = std::min(shift_max_lagged, 3 * sigma);
    }
    if (exact_ || rises_ > 0) window_ = 5;
    best_before_ = std::min(best_before_, best_);
    best_ = std::numeric_limits<double>::infinity();
    steps_ = 0;
    rises_ = 0;
    return sigma;
  }

 private:
  double smallest_, fast_;
  bool exact_;
  int window_ = 1;
  int steps_ = 0;
  int rises_ = 0;
  double last_ = std::numeric_limits<double>::infinity();
  double best_ = std::numeric_limits<double>::infinity();
  double best_before_ = std::numeric_limits<double>::infinity();
};

// When to try Newton on the exact law: after each tenfold gain, else ever more rarely while it
// fails.
class PolishSchedule {
 public:
  bool due(int step, double residual) const {
    return residual < polish_below && (residual < 0.1 * residual_ || step >= next_);
  }
  void done(int step, double residual, bool success) {
    wait_ = success ? polish_wait_min : std::min(polish_wait_max, 2 * wait_);
    residual_ = success ? std::numeric_limits<double>::infinity() : residual;
    next_ = step + wait_;
  }

 private:
  double residual_ = std::numeric_limits<double>::infinity();
  int wait_ = polish_wait_min;
  int next_ = 0;
};

class Prox final : public Method {
 public:
  void solve(Run& run) override { point_.solve(run, {.shift = shift_start}); }

 private:
  ProximalPoint point_;
};

}  // namespace

void ProximalPoint::begin(Run& run) {
  run_ = &run;
  W_ = &run.W;
  exact_ = run.options.friction == Friction::exact && W_->K().has_friction();
  stopped_ = false;
  u_.resize(W_->rows());
  c_.resize(W_->rows());
  skew_.setZero(W_->rows());
  alpha_.resize(W_->blocks());
  convex_.begin(*W_, Friction::convex);
  if (exact_) coulomb_.begin(*W_, Friction::exact);
}

void ProximalPoint::solve(Run& run, const ProximalStart& start) {
  begin(run);
  iterate(start);
  convex_.release();
  coulomb_.release();
}

void ProximalPoint::iterate(const ProximalStart& start) {
  Run& run = *run_;
  double sigma = start.shift;
  const double smallest =
      std::max(start.smallest_shift, smallest_shift(run.options.tolerance, exact_));
  double best = std::numeric_limits<double>::infinity();
  int best_at = run.outer_iterations;
  ShiftControl control(smallest, exact_);
  PolishSchedule polishing;
  while (!measure()) {
    const double residual = run.monitor.last_residual();
    if (residual < 0.9 * best) {
      best = residual;
      best_at = run.outer_iterations;
    }
    if (run.outer_iterations - best_at > start.patience) {
      run.monitor.set_status(Status::stalled);
      run.message = "no further progress by proximal steps";
      return;
    }
    if (exact_ && polishing.due(run.outer_iterations, residual)) {
      const bool success = polish(residual);
      if (stopped_) return;
      polishing.done(run.outer_iterations, residual, success);
      continue;
    }
    before_ = run.lambda;
    const bool converged = lagged_step(sigma);
    if (stopped_) return;
    before_ = run.lambda - before_;
    if (run.outer_iterations % 10 == 0 && ray_.runs_along(*W_, before_)) {
      run.monitor.set_status(Status::infeasible);
      run.message =
          "the constraints contradict each other: a combination of them asks for a velocity that "
          "does not exist";
      return;
    }
    sigma = converged ? control.next(sigma, residual) : 5 * sigma;
    if (sigma > shift_give_up) {
      run.monitor.set_status(Status::failed);
      run.message = "Newton does not converge even with a large proximal shift";
      return;
    }
  }
}

// u and the lagged skew part at λ.
void ProximalPoint::velocity(const Vector& lambda) {
  W_->apply(lambda, u_);
  u_ += W_->q();
  if (W_->is_symmetric()) return;
  W_->apply_skew(lambda, skew_);
  u_ += skew_;
}

bool ProximalPoint::measure() {
  velocity(run_->lambda);
  return run_->monitor.observe(run_->iterations, run_->lambda, u_);
}

// Well below what the residual asks for: a Newton step more costs less than a proximal step more.
double ProximalPoint::goal(double residual) const {
  return 1e-3 * run_->monitor.energy_of_q() *
         std::max(run_->monitor.tolerance(), std::min(1.0, residual));
}

ProximalSubproblem::Report ProximalPoint::run_subproblem(ProximalSubproblem& subproblem,
                                                         double sigma, double residual) {
  Run& run = *run_;
  for (int i = 0; i < W_->blocks(); ++i) alpha_[i] = sigma * W_->mean_diagonal(i);
  subproblem.set(run.lambda, alpha_, c_);
  const auto report = subproblem.solve(goal(residual), [&run](int steps) {
    return run.monitor.stop_requested(run.iterations + steps);
  });
  stopped_ = report.stopped;
  ++run.outer_iterations;
  run.iterations += std::max(1, report.iterations);
  run.factorizations += report.iterations;
  return report;
}

// De Saxcé's term on the blocks that the map of the subproblem does not treat by itself.
void ProximalPoint::set_lagged_terms(bool with_coulomb_cones) {
  c_ = skew_;
  for (int i = 0; exact_ && i < W_->blocks(); ++i) {
    const ConvexSet& set = W_->K().sets[i];
    const int first = W_->K().start[i];
    if (with_coulomb_cones || !is_coulomb_cone(set)) c_[first] += de_saxce(set, u_.data() + first);
  }
}

bool ProximalPoint::lagged_step(double sigma) {
  set_lagged_terms(true);
  const auto report = run_subproblem(convex_, sigma, run_->monitor.last_residual());
  if (report.converged) run_->lambda = convex_.lambda();
  return report.converged;
}

bool ProximalPoint::polish(double residual) {
  set_lagged_terms(false);
  const double sigma = std::max(shift_polish, smallest_shift(run_->options.tolerance, exact_));
  run_subproblem(coulomb_, sigma, 1e-2 * residual);
  velocity(coulomb_.lambda());
  if (!(run_->monitor.residual(coulomb_.lambda(), u_) < 0.3 * residual)) return false;
  run_->lambda = coulomb_.lambda();
  return true;
}

std::unique_ptr<Method> make_prox() {
  return std::make_unique<Prox>();
}

}  // namespace urto
