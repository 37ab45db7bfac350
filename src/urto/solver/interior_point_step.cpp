#include <algorithm>
#include <cmath>

#include "urto/solver/interior_point.h"

namespace urto {
namespace {

// On scalars the adaptive η may come close to 1; cones fail there (recipe 001 §2.8.7).
constexpr double eta_scalar = 0.9999, eta_cone = 0.99;
// Width of the smoothing of ‖u_T‖ over √μ. Without it Newton cycles about sticking contacts that
// are about to slide: the pyramids and walls of the published problems stop at 1e-4 instead of
// 1e-7. With 1, some piles do not start.
constexpr double smoothing = 0.1;
// Careful steps of exact friction: shorter ones are replaced, and μ is kept above so much of the
// residual, which frozen steps do not take down with it.
constexpr double blocked = 0.1;
constexpr double balance = 0.1;
// Common steps shorter than this are given up for separate ones: with masses of 10¹⁸ kg on light
// ones, multipliers have decades to grow at a standing velocity.
constexpr double short_common = 0.1;
// σ is looked for among 1, 0.1, … down to here: more courage than this costs centrality, which
// later steps pay for.
constexpr double least_sigma = 1e-3;
// How far beyond the step found a correction of centrality looks, and the step that needs none.
constexpr double most_longer = 0.5, least_longer = 0.125, long_enough_step = 0.97;
// Where the law is convex a correction asks no pair for less than this share of μ, whatever σ: with
// it, and as many corrections as it takes, steps stay near 0.97 and μ falls tenfold an iteration in
// boxes of 64 balls and of 1190.
constexpr double least_aim = 0.1;
constexpr int corrections_exact = 6;
// The parts of a correction that are tried, and what it must gain. Coulomb's law punishes finer
// ones: 22 iterations instead of 12 for 64 balls in a box.
constexpr int parts = 4, parts_exact = 2;
constexpr double worth_it = 0.005, worth_it_exact = 0.02;

}  // namespace

void InteriorPoint::residuals() {
  measure();
  weigh_residuals();
}

// Both residuals from x, λ and ŷ.
void InteriorPoint::measure() {
  const StepProblem& p = W_->problem();
  if (n_ > 0) {
    multiply(p.J, x_, u_);
    u_ += p.b;
    multiply_mass(p, x_, rd_);
    reaction_.setZero(n_);
    transpose_multiply_add(p.J, lambda_, reaction_);
    momentum_terms_ = rd_.norm() + p.a.norm() + reaction_.norm();
    rd_ -= p.a;
    rd_ -= reaction_;
    momentum_ = momentum_terms_ > 0 ? rd_.norm() / momentum_terms_ : 0;
  } else {
    u_ = W_->q();
  }
  if (W_->compliance().nonZeros() > 0) u_.noalias() += W_->compliance() * lambda_;
  if (!W_->is_symmetric()) {
    W_->apply_skew(lambda_, skew_);
    u_ += skew_;
  }
  pairs_.set_smoothing(smoothing * std::sqrt(pairs_.mu()));
  pairs_.velocity(y_);
  rp_ = u_ + s_ - y_;
  if (direct_) pairs_.add_de_saxce(rp_);
  velocity_terms_ = u_.norm() + s_.norm() + y_.norm();
}

void InteriorPoint::weigh_residuals() {
  dual_norm_ = n_ > 0 ? rd_.norm() / energy_ : 0;
  double joints = 0;
  double others = 0;
  for (int i = 0; i < W_->blocks(); ++i) {
    const int first = W_->K().start[i];
    const int d = W_->K().sets[i].dim;
    const double sum = rp_.segment(first, d).cwiseProduct(weight_.segment(first, d)).squaredNorm();
    (W_->K().sets[i].kind == SetKind::free ? joints : others) += sum;
  }
  joint_norm_ = std::sqrt(joints);
  primal_norm_ = std::sqrt(others);
}

bool InteriorPoint::solve_linear(const Vector& r1, const Vector& r2) {
  double error = system_.solve(r1, r2, dx_, dl_);
  while (error > InteriorPointSystem::residual_limit && system_.strengthen())
    error = system_.solve(r1, r2, dx_, dl_);
  linear_residual_ = std::max(linear_residual_, error);
  return std::isfinite(error) && dl_.allFinite() && dx_.allFinite();
}

// From the residuals, `keep` times, and the pairs' target.
bool InteriorPoint::newton_direction(bool exact, double keep) {
  r1_ = -keep * rd_;
  r2_ = -keep * rp_;
  pairs_.add_target(exact, r2_);
  if (!solve_linear(r1_, r2_)) return false;
  pairs_.direction(dl_);
  return true;
}

BarrierPairs::Step InteriorPoint::shortened(BarrierPairs::Step step, double mu) {
  // Recipe 001 §2.7.3; constants near 1 measured better where the law is convex (box of balls,
  // frictionless: 14.4 iterations instead of 15.2).
  const double adaptive = 0.9 + 0.1 * std::exp(-mu * pairs_.degree());
  const double most = pairs_.has_cones() ? eta_cone : eta_scalar;
  if (options_->fixed_eta > 0) {
    eta_ = options_->fixed_eta;
  } else {
    eta_ = options_->fixed_eta < 0 || exact_ ? std::min(adaptive, most) : most;
  }
  const auto shorten = [&](double length) {
    return options_->shorten_full_steps ? eta_ * std::min(1.0, length)
                                        : std::min(1.0, eta_ * length);
  };
  return {shorten(step.primal), shorten(step.dual)};
}

BarrierPairs::Step InteriorPoint::equalised(BarrierPairs::Step s) const {
  using Steps = InteriorPointOptions::Steps;
  const double shorter = std::min(s.primal, s.dual);
  if (options_->steps == Steps::common ||
      (options_->steps == Steps::automatic && (pairs_.has_cones() || shorter > short_common))) {
    s.primal = s.dual = shorter;
  }
  return s;
}

bool InteriorPoint::step() {
  linear_residual_ = 0;
  Candidate found;
  if (!find_step(direct_, found)) return false;
  // The law is not monotone: its Newton matrix may be singular on the way, and steps of 1e-5
  // follow. With De Saxcé's term frozen in the matrix (not in the residual) it is that of a convex
  // program, whose steps are long.
  if (careful_ && direct_ && found.step.primal < blocked && !find_step(false, found)) return false;
  advance(found);
  record(found);
  show();
  return true;
}

void InteriorPoint::show() const {
  if (!options_->on_iterate) return;
  options_->on_iterate({.iteration = iteration_,
                        .x = x_,
                        .lambda = lambda_,
                        .velocity = y_,
                        .dual_residual = rd_,
                        .primal_residual = rp_,
                        .mu = pairs_.mu(),
                        .energy = energy_ * energy_});
}

BarrierPairs::Step InteriorPoint::longest_step(double mu) {
  return equalised(shortened(pairs_.max_step(options_->step_length, 1e300), mu));
}

void InteriorPoint::keep_direction(Direction& out) const {
  out.x = dx_;
  out.lambda = dl_;
  out.pairs = pairs_.last_direction();
}

// a + t (b − a)
void InteriorPoint::set_direction(const Direction& a, const Direction& b, double t) {
  dx_ = a.x + t * (b.x - a.x);
  dl_ = a.lambda + t * (b.lambda - a.lambda);
  pairs_.set_direction(a.pairs, b.pairs, t);
}

bool InteriorPoint::find_step(bool exact, Candidate& found) {
  pairs_.scale(exact, blocks_);
  if (!system_.factorize(blocks_, !exact && options_->use_symmetry)) return false;
  pairs_.predictor_target();
  if (!newton_direction(exact, 1)) return false;
  const double mu = pairs_.mu();
  found = {.affine = equalised(pairs_.max_step(options_->step_length, 1))};
  found.affine_mu = pairs_.mu_after(found.affine);
  if (pairs_.degree() == 0) return true;
  if (!options_->predictor_only && !choose_centring(exact, mu, found)) return false;
  found.step = longest_step(mu);
  if (!options_->predictor_only) correct_centrality(exact, mu, found);
  return true;
}

// Mehrotra's corrector. Its direction is linear in σ: two substitutions, for σ = 0 and σ = 1, give
// that of any σ, and the one that leaves least of the residuals and of μ is taken (after Nocedal,
// Wächter and Waltz 2009). Mehrotra's own rule asks how far the predictor goes, which says little
// about how far the corrected step goes: the search saves two iterations of fourteen in the box of
// 595 balls.
bool InteriorPoint::choose_centring(bool exact, double mu, Candidate& found) {
  double least = 0;
  if (careful_) {
    const double off = primal_norm_ / std::sqrt(pairs_.degree());
    least = std::min(1.0, balance * off / mu);
  }
  if (options_->centring == InteriorPointOptions::Centring::mehrotra) {
    found.sigma = std::max(least, std::pow(std::clamp(found.affine_mu / mu, 0.0, 1.0), 3));
    pairs_.corrector_target(found.sigma * mu, true);
    return newton_direction(exact, damping(found.sigma));
  }
  keep_direction(predictor_);
  pairs_.corrector_target(0, true);
  if (!newton_direction(exact, 1)) return false;
  keep_direction(uncentred_);
  pairs_.set_direction(predictor_.pairs, predictor_.pairs, 0);  // the second-order term is its
  pairs_.corrector_target(mu, true);
  if (!newton_direction(exact, damping(1))) return false;
  keep_direction(centred_);
  const double off = (dual_norm_ + joint_norm_ + primal_norm_) / std::sqrt(pairs_.degree());
  double best = std::numeric_limits<double>::infinity();
  for (double sigma = 1; sigma > 0.5 * std::max(least, least_sigma); sigma *= 0.1) {
    pairs_.set_direction(uncentred_.pairs, centred_.pairs, sigma);
    const BarrierPairs::Step step = longest_step(mu);
    const double left =
        (1 - damping(sigma) * std::min(step.primal, step.dual)) * off + pairs_.mu_after(step);
    if (left < best) {
      best = left;
      found.sigma = sigma;
    }
  }
  set_direction(uncentred_, centred_, found.sigma);
  return true;
}

// Gondzio 1996: more substitutions for a longer step. One that fails is asked for less, which
// near-redundant contacts that change sides need (595 balls in a narrow box: 9.5 iterations instead
// of 11).
void InteriorPoint::correct_centrality(bool exact, double mu, Candidate& found) {
  const int corrections = exact_ ? std::min(corrections_exact, options_->centrality_corrections)
                                 : options_->centrality_corrections;
  const double aim = (exact_ ? found.sigma : std::max(found.sigma, least_aim)) * mu;
  double longer_by = most_longer;
  for (int k = 0; k < corrections; ++k) {
    if (std::min(found.step.primal, found.step.dual) > long_enough_step) return;
    if (lengthen(exact, mu, aim, longer_by, found)) {
      longer_by = most_longer;
    } else if (exact_ || longer_by <= least_longer) {
      return;
    } else {
      longer_by *= 0.5;
    }
  }
}

// Of the correction the part that leads furthest (after Colombo and Gondzio 2008); false, and
// nothing changed, if none is worth it.
bool InteriorPoint::lengthen(bool exact, double mu, double aim, double by, Candidate& found) {
  const auto length = [](const BarrierPairs::Step& s) { return s.primal + s.dual; };
  const BarrierPairs::Step trial{std::min(1.0, found.step.primal + by),
                                 std::min(1.0, found.step.dual + by)};
  keep_direction(before_);
  if (!pairs_.centrality_target(trial, aim) || !newton_direction(exact, damping(found.sigma))) {
    set_direction(before_, before_, 0);
    return false;
  }
  keep_direction(corrected_);
  const int most = exact_ ? parts_exact : parts;
  const double least = length(found.step) + (exact_ ? worth_it_exact : worth_it);
  double part = 0;
  for (int i = most; i > 0; --i) {
    const double t = static_cast<double>(i) / most;
    pairs_.set_direction(before_.pairs, corrected_.pairs, t);
    const BarrierPairs::Step step = longest_step(mu);
    if (length(step) >= least && (part == 0 || length(step) > length(found.step))) {
      found.step = step;
      part = t;
    }
  }
  set_direction(before_, corrected_, part);
  return part > 0;
}

void InteriorPoint::advance(const Candidate& taken) {
  const BarrierPairs::Step& step = taken.step;
  pairs_.advance(step);
  repaired_ = pairs_.repair();
  x_ += step.primal * dx_;
  lambda_ += step.dual * dl_;
  pairs_.multipliers(lambda_);
  ++iteration_;
  last_step_ = std::max(step.primal, step.dual);
  recursion_gap_ = 0;
  // Of the direct treatment the residual is not linear; what was repaired has left the direction;
  // the skew part of W is no part of it.
  if (options_->recursive_residuals && !direct_ && repaired_ == 0 && W_->is_symmetric()) {
    carry_residuals(step, damping(taken.sigma));
  } else {
    measure();
  }
  weigh_residuals();
}

// Recipe 001 §2.7.4, corrected, for a direction that takes `kept` of the residuals away: blind to
// rounding. What the iterate itself gives is measured beside it, for the velocity and for the log.
void InteriorPoint::carry_residuals(const BarrierPairs::Step& step, double kept) {
  r2_ = (1 - kept * step.primal) * rp_;
  if (W_->compliance().nonZeros() > 0)
    r2_.noalias() += (step.dual - step.primal) * (W_->compliance() * dl_);
  r1_ = (1 - kept * step.dual) * rd_;
  if (n_ > 0) {
    multiply_mass(W_->problem(), dx_, carried_);
    r1_ += (step.primal - step.dual) * carried_;
  }
  measure();
  const auto off = [](const Vector& carried, const Vector& measured, double terms) {
    return terms > 0 ? (carried - measured).norm() / terms : 0;
  };
  recursion_gap_ = std::max(off(r1_, rd_, momentum_terms_), off(r2_, rp_, velocity_terms_));
  rp_ = r2_;
  rd_ = r1_;
}

void InteriorPoint::record(const Candidate& taken) {
  if (!run_->options.record_history) return;
  run_->interior_point_log.push_back(
      {.iteration = iteration_,
       .predictor_step = std::min(taken.affine.primal, taken.affine.dual),
       .predictor_mu = taken.affine_mu,
       .sigma = taken.sigma,
       .eta = eta_,
       .primal_step = taken.step.primal,
       .dual_step = taken.step.dual,
       .mu = pairs_.mu(),
       .dual_residual = dual_norm_,
       .joint_residual = joint_norm_,
       .primal_residual = primal_norm_,
       .linear_residual = linear_residual_,
       .path = system_.path(),
       .refinements = system_.refinements(),
       .repaired = repaired_,
       .recursion_gap = recursion_gap_});
}

}  // namespace urto
