#include <algorithm>
#include <cmath>

#include "urto/solver/interior_point.h"

namespace urto {
namespace {

// On scalars the adaptive η may come close to 1; cones fail there (recipe 001 §2.8.7).
constexpr double eta_scalar = 0.9999, eta_cone = 0.99;
// Width of the smoothing of ‖u_T‖ over √μ. Without it Newton cycles about sticking contacts that are about to slide: the pyramids and walls of the published
// problems stop at 1e-4 instead of 1e-7. With 1, some piles do not start.
constexpr double smoothing = 0.1;

}  // namespace

void InteriorPoint::residuals() {
  const StepProblem& p = W_.problem();
  if (n_ > 0) {
    multiply(p.J, x_, u_);
    u_ += p.b;
    multiply_mass(p, x_, rd_);
    reaction_.setZero(n_);
    transpose_multiply_add(p.J, lambda_, reaction_);
    const double size = rd_.norm() + p.a.norm() + reaction_.norm();
    rd_ -= p.a;
    rd_ -= reaction_;
    momentum_ = size > 0 ? rd_.norm() / size : 0;
  } else {
    u_ = W_.q();
  }
  if (W_.compliance().nonZeros() > 0) u_.noalias() += W_.compliance() * lambda_;
  if (!W_.is_symmetric()) {
    W_.apply_skew(lambda_, skew_);
    u_ += skew_;
  }
  pairs_.set_smoothing(smoothing * std::sqrt(pairs_.mu()));
  pairs_.velocity(y_);
  rp_ = u_ + s_ - y_;
  if (direct_) pairs_.add_de_saxce(rp_);
  dual_norm_ = n_ > 0 ? rd_.norm() / energy_ : 0;
  double joints = 0;
  double others = 0;
  for (int i = 0; i < W_.blocks(); ++i) {
    const int first = W_.K().start[i];
    const int d = W_.K().sets[i].dim;
    const double sum = rp_.segment(first, d).cwiseProduct(weight_.segment(first, d)).squaredNorm();
    (W_.K().sets[i].kind == SetKind::free ? joints : others) += sum;
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
  // Recipe 001 §2.7.3; on scalars a constant near 1 measured better (box of balls: 14.4 iterations instead of 15.2).
  const double adaptive = 0.9 + 0.1 * std::exp(-mu * pairs_.degree());
  if (options_.fixed_eta > 0) {
    eta_ = options_.fixed_eta;
  } else if (pairs_.has_cones()) {
    eta_ = std::min(adaptive, eta_cone);
  } else {
    eta_ = options_.fixed_eta < 0 ? std::min(adaptive, eta_scalar) : eta_scalar;
  }
  const auto shorten = [&](double length) {
    return options_.shorten_full_steps ? eta_ * std::min(1.0, length)
                                       : std::min(1.0, eta_ * length);
  };
  return {shorten(step.primal), shorten(step.dual)};
}

bool InteriorPoint::step() {
  using Steps = InteriorPointOptions::Steps;
  const bool common =
      options_.steps == Steps::common || (options_.steps == Steps::automatic && pairs_.has_cones());
  const auto equalised = [common](BarrierPairs::Step s) {
    if (common) s.primal = s.dual = std::min(s.primal, s.dual);
    return s;
  };
  linear_residual_ = 0;
  pairs_.scale(direct_, blocks_);
  if (!system_.factorize(blocks_, !direct_)) return false;
  pairs_.predictor_target();
  if (!newton_direction(direct_, 1)) return false;
  const double mu = pairs_.mu();
  const BarrierPairs::Step affine = equalised(pairs_.max_step(options_.step_length, 1));
  const double affine_mu = pairs_.mu_after(affine);
  double sigma = 0;
  BarrierPairs::Step step;
  if (pairs_.degree() > 0 && !options_.predictor_only) {
    sigma = std::pow(std::clamp(affine_mu / mu, 0.0, 1.0), 3);
    pairs_.corrector_target(sigma * mu, true);
    if (!newton_direction(direct_, options_.damp_residuals ? 1 - sigma : 1)) return false;
  }
  if (pairs_.degree() > 0)
    step = equalised(shortened(pairs_.max_step(options_.step_length, 1e300), mu));
  for (int k = 0; k < options_.centrality_corrections && !pairs_.has_cones(); ++k) {
    // Gondzio 1996: one more substitution for a longer step.
    const BarrierPairs::Step trial{std::min(1.0, step.primal + 0.3),
                                   std::min(1.0, step.dual + 0.3)};
    if (std::min(step.primal, step.dual) > 0.9 || !pairs_.centrality_target(trial, sigma * mu))
      break;
    kept_dx_ = dx_;
    kept_dl_ = dl_;
    if (!newton_direction(direct_, options_.damp_residuals ? 1 - sigma : 1)) return false;
    const BarrierPairs::Step longer =
        equalised(shortened(pairs_.max_step(options_.step_length, 1e300), mu));
    if (longer.primal + longer.dual < step.primal + step.dual + 0.02) {
      dx_ = kept_dx_;
      dl_ = kept_dl_;
      pairs_.undo_direction();
      break;
    }
    step = longer;
  }
  advance(step);
  record(affine, affine_mu, sigma, step);
  return true;
}

void InteriorPoint::advance(const BarrierPairs::Step& step) {
  pairs_.advance(step);
  const bool repaired = pairs_.repair() > 0;
  x_ += step.primal * dx_;
  lambda_ += step.dual * dl_;
  pairs_.multipliers(lambda_);
  ++iteration_;
  last_step_ = std::max(step.primal, step.dual);
  if (!options_.recursive_residuals || direct_ || repaired) {
    residuals();
    return;
  }
  // Recipe 001 §2.7.4, corrected: blind to rounding.
  rp_ *= 1 - step.primal;
  if (W_.compliance().nonZeros() > 0)
    rp_.noalias() += (step.dual - step.primal) * (W_.compliance() * dl_);
  r2_ = rp_;
  r1_ = (1 - step.dual) * rd_;
  if (n_ > 0) {
    multiply_mass(W_.problem(), dx_, carried_);
    r1_ += (step.primal - step.dual) * carried_;
  }
  residuals();
  rp_ = r2_;
  rd_ = r1_;
}

void InteriorPoint::record(const BarrierPairs::Step& affine, double affine_mu, double sigma,
                           const BarrierPairs::Step& step) {
  if (!run_.options.record_history) return;
  run_.interior_point_log.push_back({.iteration = iteration_,
                                     .predictor_step = std::min(affine.primal, affine.dual),
                                     .predictor_mu = affine_mu,
                                     .sigma = sigma,
                                     .eta = eta_,
                                     .primal_step = step.primal,
                                     .dual_step = step.dual,
                                     .mu = pairs_.mu(),
                                     .dual_residual = dual_norm_,
                                     .joint_residual = joint_norm_,
                                     .primal_residual = primal_norm_,
                                     .linear_residual = linear_residual_,
                                     .path = system_.path(),
                                     .refinements = system_.refinements()});
}

}  // namespace urto
