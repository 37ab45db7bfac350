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

void alternate(ConvexTask& task) {
  Delassus& W = task.W;
  ScaledOperator N(W);  // for the scaling and the scaled sets
  ShiftedDelassus shifted(W);
  const auto m = W.rows();
  const Vector& S = N.S();
  double rho = 1;
  Vector shift(W.blocks());
  const auto refactorize = [&] {
    // S W S + ρ in scaled multipliers is W + ρ S⁻² in physical ones.
    for (int i = 0; i < W.blocks(); ++i) shift[i] = rho * W.mean_diagonal(i);
    ++task.factorizations;
    return shifted.factorize(shift);
  };
  if (!refactorize()) {
    task.monitor.set_status(Status::failed);
    return;
  }
  Vector z = task.lambda.cwiseQuotient(S);
  Vector dual = Vector::Zero(m);  // scaled by 1/ρ
  Vector l(m);
  Vector rhs(m);
  Vector relaxed(m);
  Vector previous(m);
  Vector lambda(m);
  Vector u(m);
  {  // a dual that matches the start: −(W λ + q) projected on the normal cone is what a solution
     // has
    W.apply(task.lambda, u);
    u += task.q;
    dual.array() = S.array() * u.array() / rho;
    relaxed = z - dual;
    project(N.K(), relaxed, previous);
    dual = previous - relaxed;
  }
  for (int iteration = 0;; ++iteration) {
    task.iterations = iteration;
    if (task.monitor.is_due(iteration)) {
      lambda.array() = S.array() * z.array();
      W.apply(lambda, u);
      u += task.q;
      if (task.monitor.observe(iteration, lambda, u)) break;
    }
    // λ̃ = (S W S + ρ)⁻¹ (ρ (z + dual) − S q), solved in physical multipliers.
    rhs.array() = (rho * (z + dual).array() - S.array() * task.q.array()) / S.array();
    shifted.solve(rhs, l);
    l.array() /= S.array();
    relaxed = over_relaxation * l + (1 - over_relaxation) * z;
    previous = z;
    z = relaxed - dual;
    project(N.K(), z, z);
    dual += z - relaxed;

    if (iteration % rebalance_every == rebalance_every - 1) {
      const double primal = (l - z).norm();
      const double dual_residual = rho * (z - previous).norm();
      const double size_primal = std::max({l.norm(), z.norm(), 1e-300});
      const double size_dual = std::max(rho * dual.norm(), 1e-300);
      const double ratio = (primal / size_primal) / std::max(dual_residual / size_dual, 1e-300);
      const double wanted = std::clamp(rho * std::sqrt(ratio), 1e-6, 1e6);
      if (wanted > rebalance_ratio * rho || wanted < rho / rebalance_ratio) {
        dual *= rho / wanted;
        rho = wanted;
        if (!refactorize()) {
          task.monitor.set_status(Status::failed);
          break;
        }
      }
    }
  }
  task.lambda = task.monitor.best();
}

}  // namespace

void admm(Run& run) {
  solve_with_lagged_terms(run, alternate);
}

}  // namespace urto
