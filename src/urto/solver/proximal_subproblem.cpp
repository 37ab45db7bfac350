#include "urto/solver/proximal_subproblem.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <Eigen/LU>

namespace urto {

void ProximalSubproblem::begin(Delassus& W, Friction law) {
  W_ = &W;
  exact_ = law == Friction::exact;
  system_.set(W, !exact_);
  response_.set(W.K());
  A_.resize(W.blocks());
  ones_.setOnes(W.blocks());
  step_.resize(W.blocks());
  shifted_centre_.resize(W.rows());
}

void ProximalSubproblem::set(const Vector& centre, const Vector& alpha, const Vector& c) {
  const SetProduct& K = W_->K();
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    A_[i] = alpha[i] + system_.compliance(i);
    step_[i] = 1 / (W_->mean_diagonal(i) + A_[i]);
    shifted_centre_.segment(K.start[i], d) =
        (alpha[i] * centre.segment(K.start[i], d) - c.segment(K.start[i], d)) / A_[i];
  }
  y_ = centre;
  system_.apply(y_, v_);
  v_ += W_->q();
  dv_.setZero(v_.size());
  dy_.setZero(v_.size());
  respond(0);
}

// z and P(z) at y + t dy.
void ProximalSubproblem::respond(double t) {
  const SetProduct& K = W_->K();
  for (int i = 0; i < K.blocks(); ++i) {
    for (int r = K.start[i]; r < K.start[i + 1]; ++r) {
      const double v = v_[r] + t * dv_[r];
      const double y = y_[r] + t * dy_[r];
      response_.z[r] = exact_ ? y - step_[i] * (v + A_[i] * (y - shifted_centre_[r]))
                              : shifted_centre_[r] - v / A_[i];
    }
  }
  if (exact_) {
    alart_curnier_response(K, response_);
  } else {
    project_response(K, response_);
  }
}

void ProximalSubproblem::step(double t) {
  y_ += t * dy_;
  system_.apply(y_,
                v_);  // not v += t dv: the first steps of a subproblem are long, and 1/A magnifies
                      // what they leave behind
  v_ += W_->q();
  respond(0);
}

ProximalSubproblem::Report ProximalSubproblem::solve_convex(double goal, const StopCheck& stop) {
  constexpr int limit = 100;
  constexpr int patience = 12;  // steps without halving the decrement, near the goal
  Report report;
  double best = std::numeric_limits<double>::infinity();
  int without_progress = 0;
  for (; report.iterations < limit; ++report.iterations) {
    if (stop(report.iterations)) {
      report.stopped = true;
      return report;
    }
    differentiate_projection(W_->K(), response_);
    if (!system_.factorize(response_, A_)) return report;
    F_ = y_ - response_.p;
    if (!system_.solve(response_, A_, F_, dy_, dv_)) return report;
    // φ'(t) = dv·(y + t dy − p(t)); the form dy·W₀y − dv·p would lose half of the digits by
    // cancellation.
    const double slope0 = dv_.dot(y_ - response_.p);
    const double decrement = std::sqrt(std::max(0.0, -slope0));
    without_progress = decrement < 0.5 * best ? 0 : without_progress + 1;
    best = std::min(best, decrement);
    if (decrement <= goal || (without_progress >= patience && decrement < 1e3 * goal)) {
      report.converged = true;
      return report;
    }
    step(step_to_flat_slope(slope0));
  }
  return report;
}

// φ is convex, so its slope grows along the step: take 1 if the slope there is small or still
// falling, else close in on its zero.
double ProximalSubproblem::step_to_flat_slope(double slope0) {
  const auto slope = [&](double t) {
    respond(t);
    return dv_.dot(y_ + t * dy_ - response_.p);
  };
  const double small = 0.1 * std::abs(slope0);
  double t = 1;
  double slope_t = slope(1);
  if (slope_t <= small) return t;
  double low = 0;
  double high = 1;
  double slope_low = slope0;
  double slope_high = slope_t;
  for (int k = 0; k < 30 && std::abs(slope_t) > small; ++k) {
    t = low + (high - low) * std::clamp(-slope_low / (slope_high - slope_low), 0.1, 0.9);
    slope_t = slope(t);
    (slope_t > 0 ? high : low) = t;
    (slope_t > 0 ? slope_high : slope_low) = slope_t;
  }
  return t;
}

// √Σ tr(W_ii)/d ‖y_i − P(z_i)‖² at y + t dy.
double ProximalSubproblem::merit(double t) {
  respond(t);
  double sum = 0;
  for (int i = 0; i < W_->blocks(); ++i) {
    const int first = W_->K().start[i];
    const int d = W_->K().sets[i].dim;
    sum += W_->mean_diagonal(i) *
           (y_.segment(first, d) + t * dy_.segment(first, d) - response_.p.segment(first, d))
               .squaredNorm();
  }
  return std::sqrt(sum);
}

// The Newton equation of F = y − P(z): (I − D(1 − ρA)) dy + ρ D W₀ dy = −F. Multiplied by B⁻¹ = (I
// − D(1 − ρA))⁻¹ it has the form that NewtonSystem solves, with ρ B⁻¹L in place of L/A.
void ProximalSubproblem::condition_exact_system() {
  using SmallMatrix =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_block>;
  const SetProduct& K = W_->K();
  F_ = y_ - response_.p;
  for (int i = 0; i < K.blocks(); ++i) {
    if (response_.rank[i] == 0) continue;
    const int d = K.sets[i].dim;
    Eigen::Map<Matrix> L(response_.left.data() + response_.start[i], d, response_.rank[i]);
    const Eigen::Map<const Matrix> R(response_.right.data() + response_.start[i], d,
                                     response_.rank[i]);
    SmallMatrix B = SmallMatrix::Identity(d, d);
    B.noalias() -= (1 - step_[i] * A_[i]) * L.lazyProduct(R.transpose());
    const Eigen::PartialPivLU<SmallMatrix> factor(B);
    F_.segment(K.start[i], d) = factor.solve(SmallMatrix(F_.segment(K.start[i], d)));
    L = step_[i] * factor.solve(SmallMatrix(L));
  }
}

ProximalSubproblem::Report ProximalSubproblem::solve_exact(double goal, const StopCheck& stop) {
  constexpr int limit = 60;
  constexpr int halvings = 12;
  constexpr int patience = 10;  // steps without a real decrease: no solution is near
  std::array<double, 4> recent{};
  double current = merit(0);
  recent.fill(current);
  double best = current;
  int since_best = 0;
  Report report;
  for (; report.iterations < limit; ++report.iterations) {
    if (current <= goal) {
      report.converged = true;
      return report;
    }
    if (stop(report.iterations)) {
      report.stopped = true;
      return report;
    }
    differentiate_alart_curnier(W_->K(), response_);
    condition_exact_system();
    if (!system_.factorize(response_, ones_)) return report;
    if (!system_.solve(response_, ones_, F_, dy_, dv_)) return report;
    const double reference = *std::max_element(recent.begin(), recent.end());
    double t = 1;
    double next = merit(t);
    for (int k = 0; k < halvings && !(next <= (1 - 1e-3 * t) * reference); ++k) {
      t *= 0.5;
      next = merit(t);
    }
    if (!(next <= reference)) return report;
    step(t);
    current = next;
    recent[report.iterations % recent.size()] = current;
    since_best = current < 0.8 * best ? 0 : since_best + 1;
    best = std::min(best, current);
    if (since_best > patience) return report;
  }
  return report;
}

}  // namespace urto
