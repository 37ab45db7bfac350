#include "urto/solver/monitor.h"

#include <cmath>

#include "urto/solver/natural_map.h"

namespace urto {
namespace {

// Aim one digit below the tolerance: the velocity of a packing is off by ten times the residual or
// so, and solvers that stop at the same certificate should agree on the motion. That digit may cost
// a method as much as the ones before it cost each, not more.
constexpr double target = 0.1;
// The certificate recomputes everything and may differ in the last digits. Not less for exact
// friction: on degenerate walls the residual reaches 0.8 of the tolerance after 600 Newton steps
// and 0.7 after thousands.
constexpr double close_enough_exact = 0.9;
constexpr double close_enough_convex = 0.7;
constexpr double extra_effort = 0.15;

// Where the problem is convex the motion is unique, and the residual alone does not say how near it
// is: on packings the velocity is off by a hundred times the residual, in the direction in which
// the method creeps. So it must have settled as well, within this many tolerances of ‖q‖.
constexpr double settled = 2;
constexpr double exact_solution = 1e-3;  // residual, in tolerances, below which nothing is asked

}  // namespace

void MotionEstimate::forget() {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  growth_ = 1.2;
  iteration_ = -1;
  rate_ = 0;
  move_ = estimate_ = distance_ = infinite;
}

void MotionEstimate::record(int iteration, const Vector& u) {
  constexpr double slow =
      20;  // moves that get no shorter are rounding, if they are as short as that
  if (iteration_ >= 0 && iteration < growth_ * iteration_ + 1) return;
  if (iteration_ >= 0) {
    const double move = (u - u_).norm();
    const double rate = move > 0 ? move / move_ : 0;  // zero for the first move
    // One short move may be chance: gradient steps are not monotone, and accelerated ones start
    // slowly anew. The slower of two rates counts, and the worse of two estimates.
    const double slower = std::max(rate, rate_);
    const double estimate = move * std::min(slower < 1 ? slower / (1 - slower) : slow, slow);
    distance_ = std::max(estimate, estimate_);
    if (std::isfinite(move_)) estimate_ = estimate;
    rate_ = rate;
    move_ = move;
  }
  u_ = u;
  iteration_ = iteration;
}

void Monitor::begin(const Delassus& W, const SolveOptions& options, Friction law,
                    Clock::time_point start) {
  W_ = &W;
  options_ = &options;
  law_ = law;
  start_ = start;
  unique_motion_ = options.settle && (law == Friction::convex || !W.K().has_friction());
  tolerance_ = target * options.tolerance;
  enough_ = (unique_motion_ ? close_enough_convex : close_enough_exact) * options.tolerance;
  forget_best();
  last_residual_ = std::numeric_limits<double>::infinity();
  offset_ = 0;
  patience_ = 0;
  halved_at_ = 0;
  halved_ = std::numeric_limits<double>::infinity();
  status_ = Status::iteration_limit;
  motion_.forget();
  history_.clear();
  FreeMotion free;
  for (int i = 0; i < W.blocks(); ++i)
    free.add(W.q().data() + W.K().start[i], W.K().sets[i].dim, W.scale(i));
  norm_q_ = free.norm();
  energy_q_ = free.energy();
  if (best_.size() != W.rows()) best_.resize(W.rows());
  best_.setZero();
  if (options.record_history) history_.reserve(1024);
}

double Monitor::residual(const Vector& lambda, const Vector& u) const {
  const SetProduct& K = W_->K();
  NaturalMap map;
  for (int i = 0; i < W_->blocks(); ++i)
    map.add(K.sets[i], law_, lambda.data() + K.start[i], u.data() + K.start[i], W_->scale(i));
  return map.residual(norm_q_, energy_q_);
}

bool Monitor::out_of_time() const {
  return seconds() > options_->time_limit;
}

double Monitor::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

bool Monitor::observe(int iteration, const Vector& lambda, const Vector& u) {
  const double r = residual(lambda, u);
  last_residual_ = r;
  if (options_->record_history) history_.push_back({offset_ + iteration, seconds(), r});
  if (std::isnan(r)) {
    status_ = Status::failed;
    return true;
  }
  if (r < best_residual_) {
    best_residual_ = r;
    best_ = lambda;
  }
  if (best_residual_ <= enough_ && met_at_ < 0) met_at_ = offset_ + iteration;
  if (unique_motion_) motion_.record(offset_ + iteration, u);
  if (good_enough(offset_ + iteration, r, u)) {
    if (unique_motion_) {  // the best residual may be that of a velocity farther away
      best_residual_ = r;
      best_ = lambda;
    }
    status_ = Status::converged;
    return true;
  }
  return stop_requested(iteration) || limit_reached(iteration) || has_stalled(iteration);
}

bool Monitor::has_stalled(int iteration) {
  if (best_residual_ <= 0.5 * halved_) {
    halved_ = best_residual_;
    halved_at_ = offset_ + iteration;
  }
  if (patience_ == 0 || offset_ + iteration < 2 * halved_at_ + patience_) return false;
  status_ = Status::stalled;
  return true;
}

bool Monitor::stop_requested(int iteration) {
  if (options_->on_progress && !options_->on_progress(offset_ + iteration, last_residual_)) {
    status_ = Status::interrupted;
    return true;
  }
  if (!out_of_time()) return false;
  status_ = Status::time_limit;
  return true;
}

bool Monitor::good_enough(int iteration, double residual, const Vector& u) const {
  if (unique_motion_) {
    return residual <= exact_solution * options_->tolerance ||
           (residual <= enough_ && motion_.distance(u) <= settled * options_->tolerance * norm_q_);
  }
  return residual <= tolerance_ || (met_at_ >= 0 && iteration > (1 + extra_effort) * met_at_ + 5);
}

bool Monitor::limit_reached(int iteration) {
  if (out_of_time()) {
    status_ = Status::time_limit;
    return true;
  }
  if (offset_ + iteration >= options_->max_iterations) {
    status_ = Status::iteration_limit;
    return true;
  }
  return false;
}

}  // namespace urto
