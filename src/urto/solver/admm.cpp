// Alternating direction method of multipliers on min ½λᵀWλ + qᵀλ + I_K(z), λ = z, in scaled
// multipliers, with over-relaxation and a penalty that balances primal and dual residuals; the
// factorisation of W + ρ diag is kept until ρ changes (Boyd et al. 2011; Stellato et al. 2020; for
// contact: Tasora, Mangoni, Benatti, Garziera 2021). Robust for redundant rows; linear rate; a
// back-substitution an iteration.
#include <algorithm>
#include <cmath>

#include "urto/solver/method.h"
#include "urto/solver/scaled_operator.h"
#include "urto/solver/shifted_delassus.h"

namespace urto {
namespace {

constexpr double over_relaxation = 1.6;
constexpr double rebalance_ratio = 5;  // a new factorisation pays only for a real change of ρ
constexpr int rebalance_every = 20;
// With De Saxcé's term (and a skew part of W) in every iteration ρ stays: balancing residuals
// raises it until the method crawls. Relative to the mean diagonal of W; far below 1 wherever
// bodies rest.
constexpr double live_penalty = 0.02;

class Admm final : public ConvexMethod {
 public:
  void solve(ConvexTask& task) override {
    N_.set(task.W, true);
    shifted_.set(task.W);
    rho_ = task.live ? live_penalty : 1;
    skewed_ = task.live && !task.W.is_symmetric();
    if (refactorize(task)) {
      begin(task);
      iterate(task);
      task.lambda = task.monitor.best();
    }
    shifted_.release();
  }
  bool takes_live_terms() const override { return true; }

 private:
  bool refactorize(ConvexTask& task);
  void begin(ConvexTask& task);
  void iterate(ConvexTask& task);
  bool observe(int iteration, ConvexTask& task);
  bool rebalance(ConvexTask& task);
  void subtract_de_saxce();
  void velocity(ConvexTask& task, const Vector& lambda);
  bool skewed_ = false;  ///< the task is live and W has a skew part

  ScaledOperator N_;  ///< for the scaling and the scaled sets
  ShiftedDelassus shifted_;
  double rho_ = 1;
  Vector shift_;
  Vector z_, dual_;  ///< the dual scaled by 1/ρ
  Vector l_, rhs_, relaxed_, previous_, lambda_, u_, skew_;
};

// S W S + ρ in scaled multipliers is W + ρ S⁻² in physical ones.
bool Admm::refactorize(ConvexTask& task) {
  const Delassus& W = task.W;
  shift_.resize(W.blocks());
  for (int i = 0; i < W.blocks(); ++i) shift_[i] = rho_ * W.mean_diagonal(i);
  ++task.factorizations;
  if (shifted_.factorize(shift_)) return true;
  task.monitor.set_status(Status::failed);
  return false;
}

// A dual that matches the start: −(W λ + q) projected on the normal cone is what a solution has.
void Admm::begin(ConvexTask& task) {
  const auto m = task.W.rows();
  const Vector& S = N_.S();
  z_ = task.lambda.cwiseQuotient(S);
  for (Vector* v : {&dual_, &l_, &rhs_, &relaxed_, &previous_, &lambda_, &u_}) v->resize(m);
  velocity(task, task.lambda);
  if (task.live) add_de_saxce(task.W.K(), u_, u_);
  dual_.array() = S.array() * u_.array() / rho_;
  relaxed_ = z_ - dual_;
  project(N_.K(), relaxed_, previous_);
  dual_ = previous_ - relaxed_;
}

void Admm::velocity(ConvexTask& task, const Vector& lambda) {
  task.W.apply(lambda, u_);
  u_ += task.q;
  if (!skewed_) return;
  task.W.apply_skew(lambda, skew_);
  u_ += skew_;
}

bool Admm::observe(int iteration, ConvexTask& task) {
  lambda_.array() = N_.S().array() * z_.array();
  velocity(task, lambda_);
  return task.monitor.observe(iteration, lambda_, u_);
}

void Admm::iterate(ConvexTask& task) {
  const Vector& S = N_.S();
  for (int iteration = 0;; ++iteration) {
    task.iterations = iteration;
    if (task.monitor.is_due(iteration) && observe(iteration, task)) return;
    // λ̃ = (S W S + ρ)⁻¹ (ρ (z + dual) − S q), solved in physical multipliers.
    rhs_.array() = (rho_ * (z_ + dual_).array() - S.array() * task.q.array()) / S.array();
    if (task.live) subtract_de_saxce();
    if (skewed_) {
      lambda_.array() = S.array() * z_.array();
      task.W.apply_skew(lambda_, skew_);
      rhs_ -= skew_;
    }
    shifted_.solve(rhs_, l_);
    l_.array() /= S.array();
    relaxed_ = over_relaxation * l_ + (1 - over_relaxation) * z_;
    previous_ = z_;
    z_ = relaxed_ - dual_;
    project(N_.K(), z_, z_);
    dual_ += z_ - relaxed_;
    if (!task.live && iteration % rebalance_every == rebalance_every - 1 && !rebalance(task))
      return;
  }
}

// ρ · dual is the velocity (scaled), De Saxcé's term included.
void Admm::subtract_de_saxce() {
  const SetProduct& K = N_.K();
  for (int i = 0; i < K.blocks(); ++i) {
    if (!K.sets[i].has_friction()) continue;
    const int first = K.start[i];
    rhs_[first] -= rho_ * de_saxce(K.sets[i], dual_.data() + first) / N_.S()[first];
  }
}

bool Admm::rebalance(ConvexTask& task) {
  const double primal = (l_ - z_).norm();
  const double dual_residual = rho_ * (z_ - previous_).norm();
  const double size_primal = std::max({l_.norm(), z_.norm(), 1e-300});
  const double size_dual = std::max(rho_ * dual_.norm(), 1e-300);
  const double ratio = (primal / size_primal) / std::max(dual_residual / size_dual, 1e-300);
  const double wanted = std::clamp(rho_ * std::sqrt(ratio), 1e-6, 1e6);
  if (wanted <= rebalance_ratio * rho_ && wanted >= rho_ / rebalance_ratio) return true;
  dual_ *= rho_ / wanted;
  rho_ = wanted;
  return refactorize(task);
}

}  // namespace

std::unique_ptr<Method> make_admm() {
  return with_lagged_terms(std::make_unique<Admm>());
}

}  // namespace urto
