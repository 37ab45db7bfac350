// The last digits, by Newton on the complementarity itself, from where the interior point is.
#include <algorithm>
#include <cmath>

#include "urto/solver/interior_point.h"

namespace urto {
namespace {

constexpr int polish_steps = 6, polish_quick = 10, polish_careful = 15, polish_most = 60;
constexpr int finish_tries = 3, finish_substitutions = 6;
constexpr double finish_shift = 1e-6;  // over tr(W_ii)/d
constexpr double finished = 1e-3;      // in tolerances: a solution up to rounding

// The proximal shift over tr(W_ii)/d: rounding of the velocity is magnified by its inverse and must
// stay below the tolerance (docs/solvers/prox.md).
double polish_shift(double tolerance) {
  return std::clamp(50 * std::numeric_limits<double>::epsilon() / tolerance, 1e-6, 1e-2);
}

}  // namespace

// Without cones there is no point in a guess of the active set before the pairs agree on it.
bool InteriorPoint::ripe(double residual, double finish_at) {
  if (exact_ || pairs_.has_cones()) return residual < finish_at;
  int changes = 0;
  for (int i = 0; i < W_->blocks(); ++i) {
    for (int r = W_->K().start[i]; r < W_->K().start[i + 1]; ++r) {
      const bool active = lambda_[r] * W_->mean_diagonal(i) > u_[r];
      changes += active != (active_[r] != 0) ? 1 : 0;
      active_[r] = active;
    }
  }
  return residual < finish_at && changes == 0;
}

// True when this ends the solve. Convex cones reach the tolerance by themselves, up to rounding.
bool InteriorPoint::finish() {
  if (!exact_) return !pairs_.has_cones() && finish_by_active_set();
  const double shift = polish_shift(run_->options.tolerance);
  polish_from_ = run_->lambda;
  return polish(polish_from_, shift, careful_ ? polish_careful : polish_quick) ||
         (careful_ && polish(polish_from_, 1e2 * shift, polish_careful));
}

// Which side of each pair is zero; T as small as redundant rows allow where it is û, as large as if
// there were no row where it is λ.
void InteriorPoint::guess_active_set() {
  const SetProduct& K = W_->K();
  std::fill(blocks_.T.begin(), blocks_.T.end(), 0.0);
  blocks_.inverse = blocks_.left = blocks_.right = blocks_.T;
  held_.assign(W_->rows(), false);
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    if (set.kind == SetKind::free) continue;
    const double w = W_->mean_diagonal(i);
    const bool box = set.kind == SetKind::box;
    for (int k = 0; k < set.dim; ++k) {
      const int row = K.start[i] + k;
      const double z = lambda_[row] - u_[row] / w;
      const double lo = box ? set.lo : 0;
      const double hi = box ? set.hi : std::numeric_limits<double>::infinity();
      held_[row] = z <= lo || z >= hi;
      if (held_[row]) lambda_[row] = z <= lo ? lo : hi;
      const int at = blocks_.start[i] + k * (set.dim + 1);
      blocks_.right[at] = blocks_.T[at] = w * (held_[row] ? 1e16 : finish_shift);
      blocks_.inverse[at] = 1 / blocks_.T[at];
      blocks_.left[at] = 1;
    }
  }
}

// Without cones a guess of the active set leaves one linear system, and a wrong guess corrects
// itself: semi-smooth Newton on the natural map. The multipliers of redundant rows stay where the
// interior point has them (a proximal term); substituting again takes its effect away.
bool InteriorPoint::finish_by_active_set() {
  kept_x_ = x_;
  kept_lambda_ = lambda_;
  double before = run_->monitor.last_residual();
  for (int k = 0; k < finish_tries; ++k) {
    guess_active_set();
    if (!system_.factorize(blocks_, true)) break;
    ++iteration_;
    bool solved = true;
    for (int j = 0; j < finish_substitutions && solved; ++j) {
      residuals();
      r1_ = -rd_;
      for (int r = 0; r < W_->rows(); ++r) r2_[r] = held_[r] ? 0 : -u_[r];
      solved = solve_linear(r1_, r2_);
      if (!solved) break;
      x_ += dx_;
      for (int r = 0; r < W_->rows(); ++r) lambda_[r] += held_[r] ? 0 : dl_[r];
    }
    if (!solved) break;
    residuals();
    const Vector& u = publish();
    const double now = run_->monitor.residual(run_->lambda, u);
    if (now <= finished * run_->options.tolerance) {
      // The pairs stayed where they were; here one of the two is zero, and what is left of the
      // other equation is u where λ is free.
      for (int r = 0; r < W_->rows(); ++r) rp_[r] = held_[r] ? 0 : u_[r];
      if (observe(0)) return true;
    }
    if (!(now < 0.3 * before)) break;
    before = now;
  }
  x_ = kept_x_;
  lambda_ = kept_lambda_;
  residuals();
  return false;
}

// True when this ends the solve. Works on the unreduced problem.
bool InteriorPoint::polish(const Vector& from, double shift, int most_steps) {
  Delassus& W = run_->W;
  if (!polisher_begun_) polisher_.begin(W, exact_ ? Friction::exact : Friction::convex);
  polisher_begun_ = true;
  alpha_.resize(W.blocks());
  for (int i = 0; i < W.blocks(); ++i) alpha_[i] = shift * W.mean_diagonal(i);
  polish_lambda_ = from;
  polish_c_.setZero(W.rows());
  for (int k = 0; k < polish_steps; ++k) {
    if (!W.is_symmetric()) W.apply_skew(polish_lambda_, polish_c_);
    polisher_.set(polish_lambda_, alpha_, polish_c_);
    const double before = measure_polished();
    const double goal =
        1e-3 * run_->monitor.energy_of_q() * std::max(run_->monitor.tolerance(), 1e-2 * before);
    const auto report = polisher_.solve(goal, [this, most_steps](int steps) {
      return steps >= most_steps || run_->monitor.stop_requested(iteration_ + steps);
    });
    iteration_ += std::max(1, report.iterations);
    run_->factorizations += report.iterations;
    ++run_->outer_iterations;
    if (report.stopped && run_->monitor.stop_requested(iteration_)) return true;
    polish_lambda_ = polisher_.lambda();
    if (!W.is_symmetric()) W.apply_skew(polish_lambda_, polish_c_);
    const double after = measure_polished();
    if (!(after < before)) break;
    run_->iterations = iteration_;
    run_->has_x = false;
    run_->lambda = polish_lambda_;
    if (run_->monitor.observe(iteration_, polish_lambda_, polish_u_)) return true;
    if (!(after < 0.3 * before)) break;
  }
  return false;
}

// The residual at polish_lambda_, and the velocity there.
double InteriorPoint::measure_polished() {
  run_->W.apply(polish_lambda_, polish_u_);
  polish_u_ += run_->W.q();
  polish_u_ += polish_c_;
  return run_->monitor.residual(polish_lambda_, polish_u_);
}

// Where the interior point ends: with larger shifts where that does not end the solve.
bool InteriorPoint::polish_best() {
  for (const double factor : {1.0, 1e2, 1e4}) {
    if (polish(run_->monitor.best(), factor * polish_shift(run_->options.tolerance), polish_most))
      return true;
  }
  return false;
}

}  // namespace urto
