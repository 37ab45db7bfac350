// Primal–dual interior point: Mehrotra's predictor and corrector on the cone quadratic program
//
//     H x − Jᵀλ = a,   J x + E λ + b + s = û,   λ̂ ∘ ŷ = σμ e,   λ̂, ŷ inside their cones (barrier_pairs.h),
//
// one factorisation and two solves an iteration (interior_point_system.h). s = 0 for convex friction. Coulomb's law itself is
// s = (μ‖u_T‖, 0, 0), either as part of every Newton step, at û_T = u_T ("direct", after Acary, Armand, Nguyen and Shpakovych), or
// frozen, in an outer loop of cone programs, each started from the last.
//
// Cost: a sparse Cholesky factorisation of H + JᵀDJ an iteration (LU when the direct treatment of friction makes it unsymmetric).
// Sources: recipe 001 §2.7–2.8 with its corrections; Mehrotra 1992; Vandenberghe 2010.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "urto/solver/barrier_pairs.h"
#include "urto/solver/fixed_rows.h"
#include "urto/solver/method.h"

namespace urto {
namespace {

constexpr double linear_residual_limit = 1e-6;  // recipe 001 §2.7.13
constexpr double eta_scalar = 0.9999, eta_cone = 0.99;
constexpr double short_step = 1e-4;
constexpr int short_steps_allowed = 3;
constexpr int patience = 15;  // iterations without a better certificate before it counts as stalled

class InteriorPoint {
 public:
  InteriorPoint(Run& run, Delassus& W, const FreeRows* reduced)
      : run_(run),
        options_(run.options.interior_point),
        W_(W),
        reduced_(reduced),
        exact_(run.options.friction == Friction::exact && W.K().has_friction()),
        direct_(exact_ && options_.coulomb == InteriorPointOptions::Coulomb::direct),
        energy_(run.monitor.energy_of_q() / std::sqrt(std::max(1, W.blocks()))),
        pairs_(W, energy_),
        system_(W),
        blocks_(W.K()),
        n_(W.has_mass() ? W.problem().dofs() : 0),
        s_(Vector::Zero(W.rows())),
        x_(Vector::Zero(n_)),
        lambda_(Vector::Zero(W.rows())),
        skew_(Vector::Zero(W.rows())) {}

  void solve() {
    start();
    if (direct_ || !exact_) {
      iterate();
    } else {
      loop();
    }
    run_.factorizations = system_.factorizations();
  }

 private:
  Run& run_;
  const InteriorPointOptions& options_;
  Delassus& W_;
  const FreeRows* reduced_;
  bool exact_, direct_;
  double energy_;
  BarrierPairs pairs_;
  InteriorPointSystem system_;
  CurvatureBlocks blocks_;
  int n_;
  Vector s_;  ///< frozen part of De Saxcé's term
  Vector x_, lambda_, u_, y_, rd_, rp_, r2_, dx_, dl_, skew_, full_u_, full_lambda_;
  int iteration_ = 0;
  double momentum_ = 0;
  double rd_norm_ = 0, rj_norm_ = 0, rp_norm_ = 0;
  double linear_residual_ = 0;
  Vector best_x_;

  void start();
  void iterate();
  void loop();
  bool step();
  void residuals();
  bool observe();
  bool solve_linear(const Vector& r1, const Vector& r2);
};

void InteriorPoint::residuals() {
  const StepProblem& p = W_.problem();
  if (n_ > 0) {
    multiply(p.J, x_, u_);
    u_ += p.b;
    multiply_mass(p, x_, rd_);
    double size = rd_.norm() + p.a.norm();
    Vector reaction = Vector::Zero(n_);
    transpose_multiply_add(p.J, lambda_, reaction);
    size += reaction.norm();
    rd_ -= p.a + reaction;
    momentum_ = size > 0 ? rd_.norm() / size : 0;
  } else {
    u_ = W_.q();
    rd_.resize(0);
  }
  if (W_.compliance().nonZeros() > 0) u_.noalias() += W_.compliance() * lambda_;
  if (!W_.is_symmetric()) {
    W_.apply_skew(lambda_, skew_);
    u_ += skew_;
  }
  pairs_.velocity(y_);
  rp_ = u_ + s_ - y_;
  if (direct_) pairs_.add_de_saxce(rp_);
  rd_norm_ = rd_.norm();
  rp_norm_ = rp_.norm();
}

bool InteriorPoint::observe() {
  run_.iterations = iteration_;
  const double tolerance = run_.options.tolerance;
  if (reduced_ != nullptr) {
    full_lambda_ = reduced_->lambda;
    for (std::size_t r = 0; r < reduced_->row.size(); ++r) full_lambda_[reduced_->row[r]] = lambda_[r];
    run_.W.apply(full_lambda_, full_u_);
    full_u_ += run_.W.q();
    if (!run_.W.is_symmetric()) {
      Vector skew(full_u_.size());
      run_.W.apply_skew(full_lambda_, skew);
      full_u_ += skew;
    }
  } else {
    full_lambda_ = lambda_;
    if (momentum_ <= 0.1 * tolerance) {
      full_u_ = u_;
    } else {
      W_.apply(lambda_, full_u_);
      full_u_ += W_.q() + skew_;
    }
  }
  const bool stop = run_.monitor.observe(iteration_, full_lambda_, full_u_);
  run_.lambda = full_lambda_;
  if (n_ > 0 && momentum_ <= 0.1 * tolerance && reduced_ == nullptr) run_.x = x_;
  return stop;
}

bool InteriorPoint::solve_linear(const Vector& r1, const Vector& r2) {
  double error = system_.solve(r1, r2, dx_, dl_);
  while (error > linear_residual_limit) {
    if (!system_.strengthen()) break;
    error = system_.solve(r1, r2, dx_, dl_);
  }
  linear_residual_ = std::max(linear_residual_, error);
  return dl_.allFinite() && dx_.allFinite();
}

void InteriorPoint::start() {
  const SetProduct& K = W_.K();
  // The least-squares start: T = w_i S⁻², the identity in scaled variables.
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    if (set.kind == SetKind::free) continue;
    for (int k = 0; k < set.dim; ++k) {
      const double f = set.kind == SetKind::cone && k > 0 ? set.mu : 1.0;
      const int at = blocks_.start[i] + k * (set.dim + 1);
      blocks_.T[at] = W_.mean_diagonal(i) / (f * f);
      blocks_.inverse[at] = 1 / blocks_.T[at];
    }
  }
  system_.factorize(blocks_, true);
  const StepProblem& p = W_.problem();
  solve_linear(n_ > 0 ? p.a : Vector(), n_ > 0 ? Vector(-p.b) : Vector(-W_.q()));
  x_ = dx_;
  lambda_ = dl_;
  Vector u = Vector::Zero(W_.rows());
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    for (int k = 0; k < d; ++k)
      u[K.start[i] + k] =
          -blocks_.T[blocks_.start[i] + k * (d + 1)] * lambda_[K.start[i] + k];
  }
  if (options_.start == InteriorPointOptions::Start::least_squares) {
    pairs_.place_shifted(u, lambda_);
  } else {
    static const double mu0 = std::getenv("MU0") ? atof(std::getenv("MU0")) : 1;
    pairs_.place_centred(mu0, u, lambda_);
  }
}

bool InteriorPoint::step() {
  static const bool lu = std::getenv("LAG") == nullptr;
  const bool newton = direct_ && lu;
  linear_residual_ = 0;
  pairs_.scale(newton, blocks_);
  if (!system_.factorize(blocks_, !newton)) return false;
  const auto method = options_.step_length;
  const Vector r1 = -rd_;
  pairs_.predictor_target();
  r2_ = -rp_;
  pairs_.add_target(newton, r2_);
  if (!solve_linear(r1, r2_)) return false;
  pairs_.direction(dl_);
  BarrierPairs::Step affine = pairs_.max_step(method, 1);
  const bool common = pairs_.has_cones();
  if (common) affine.primal = affine.dual = std::min(affine.primal, affine.dual);
  const double mu = pairs_.mu();
  const double ratio = std::clamp(pairs_.mu_after(affine) / mu, 0.0, 1.0);
  const double sigma = ratio * ratio * ratio;
  pairs_.corrector_target(sigma * mu, true);
  r2_ = -rp_;
  pairs_.add_target(newton, r2_);
  if (!solve_linear(r1, r2_)) return false;
  pairs_.direction(dl_);
  BarrierPairs::Step step = pairs_.max_step(method, 1e300);
  static const double etac = std::getenv("ETA") ? atof(std::getenv("ETA")) : eta_cone;
  const double eta = std::min(0.9 + 0.1 * std::exp(-mu * pairs_.degree()),
                              pairs_.has_cones() ? etac : eta_scalar);
  step.primal = std::min(1.0, eta * step.primal);
  step.dual = std::min(1.0, eta * step.dual);
  if (common) step.primal = step.dual = std::min(step.primal, step.dual);
  pairs_.advance(step);
  pairs_.repair();
  x_ += step.primal * dx_;
  lambda_ += step.dual * dl_;
  pairs_.multipliers(lambda_);
  ++iteration_;
  residuals();
  if (std::getenv("LOG"))
    fprintf(stderr, "%3d aff %.2e sig %.1e step %.3f %.3f mu %.2e rd %.1e rp %.1e lin %.0e mom %.1e\n",
            iteration_, std::min(affine.primal, affine.dual), sigma, step.primal, step.dual,
            pairs_.mu(), rd_norm_, rp_norm_, linear_residual_, momentum_);
  return true;
}

void InteriorPoint::iterate() {
  residuals();
  int best_at = 0;
  double best = 1e300;
  while (!observe()) {
    if (std::getenv("LOG")) fprintf(stderr, "  res %.2e\n", run_.monitor.last_residual());
    if (run_.monitor.last_residual() < best) {
      best = run_.monitor.last_residual();
      best_at = iteration_;
    }
    if (iteration_ - best_at > patience || !step()) {
      run_.monitor.set_status(Status::stalled);
      run_.message = "no further progress at this precision";
      return;
    }
  }
}

void InteriorPoint::loop() {
  residuals();
  int best_at = 0;
  double best = 1e300;
  while (!observe()) {
    const double outer = run_.monitor.last_residual();
    if (outer < best) {
      best = outer;
      best_at = run_.outer_iterations;
    }
    if (run_.outer_iterations - best_at > 30) {
      run_.monitor.set_status(Status::stalled);
      return;
    }
    s_.setZero();
    for (int i = 0; i < W_.blocks(); ++i)
      s_[W_.K().start[i]] = de_saxce(W_.K().sets[i], u_.data() + W_.K().start[i]);
    ++run_.outer_iterations;
    if (run_.outer_iterations > 1) {
      const double mu0 = std::clamp(outer, 1e-12, 1.0);
      pairs_.place_centred(mu0, u_ + s_, lambda_);
      residuals();
    }
    const double goal = std::max(1e-20, 1e-3 * outer * outer);
    for (int k = 0; k < 40; ++k) {
      if (!step()) break;
      if (pairs_.mu() < std::min(goal, 1e-10) && rp_norm_ < 0.05 * outer * W_.q().norm()) break;
    }
  }
}

}  // namespace

void interior_point(Run& run) {
  const std::optional<FreeRows> reduced = without_fixed_rows(run.W.problem());
  if (!reduced) {
    InteriorPoint(run, run.W, nullptr).solve();
    return;
  }
  Delassus W(reduced->problem);
  InteriorPoint(run, W, &*reduced).solve();
}

}  // namespace urto
